"""Analysis of the code of controllers: it never finds less than they do."""

import pytest

from myrmidon.api.objects import kinds
from myrmidon.fsm import Controller
from myrmidon.generate.manifests.usage import Usage, usage_of
from tests.generate import usages
from tests.generate.webapp import WebApp

SHARED = frozenset((kinds.SERVICE,))  # what the helpers of the module delete


def test_plain_outputs_need_no_more_than_they_say() -> None:
    """An explicit default is still the default; one kind is deleted."""
    usage = usage_of(usages.Plain)

    assert usage.deletes(kinds.SECRET)
    assert not usage.deletes(kinds.CONFIG_MAP)
    assert (usage.updates, usage.patches, usage.owns) == (False, True, True)
    assert (usage.tracks, usage.reads_live) == (False, False)


def test_other_controllers_of_the_module_do_not_count_and_its_imports_do() -> None:
    """A helper of another module may be used by any controller."""
    assert usage_of(usages.Plain).deleted == SHARED | {kinds.SECRET}
    assert usage_of(usages.Creating).deleted == SHARED


def test_the_delete_of_an_external_is_not_the_deletion_of_an_output() -> None:
    """``Store`` is in the same module, and deletes what is only known at run time."""
    assert usage_of(usages.Plain).deleted is not None


def test_replacing_needs_no_patch() -> None:
    """Live reads are found, too."""
    usage = usage_of(usages.Replacing)

    assert (usage.updates, usage.patches, usage.reads_live) == (True, False, True)


def test_patches_and_subresources_are_seen_with_their_kinds() -> None:
    """Nothing is created, and the kind of a scale is its first argument."""
    usage = usage_of(usages.Editing)

    assert (usage.creates, usage.patches, usage.labels_self) == (False, True, True)
    assert usage.deletes_self
    assert not usage_of(usages.Plain).deletes_self
    assert usage.subresources_of(kinds.DEPLOYMENT) == ["scale", "status"]
    assert usage.subresources["scale"] == frozenset((kinds.DEPLOYMENT,))
    assert usage.deletes(kinds.CONFIG_MAP)


def test_ready_made_states_are_seen() -> None:
    """They delete children of any kind; a scale of an unknown kind may be of any."""
    usage = usage_of(usages.Emptying)

    assert usage.deleted is None
    assert usage.subresources == {"scale": None}
    assert not usage.labels_self
    rolled = usage_of(usages.Rolling)
    assert (rolled.creates, rolled.patches, rolled.deleted) == (True, True, None)
    assert not rolled.updates


def test_an_output_that_is_only_created_is_never_patched() -> None:
    """Nor replaced."""
    assert not usage_of(usages.Creating).patches
    assert not usage_of(usages.Creating).updates


def test_children_without_owner_are_deleted_by_us() -> None:
    """They need no right to block deletion."""
    usage = usage_of(usages.Tracking)

    assert (usage.tracks, usage.owns, usage.deleted) == (True, False, None)


@pytest.mark.parametrize("controller", [usages.Spread, usages.Pruning, usages.Unnamed])
def test_deletions_of_any_kind(controller: type[Controller[WebApp]]) -> None:
    """Recreating, pruning, and a kind that is only known at run time."""
    assert usage_of(controller).deleted is None


def test_an_output_that_is_passed_on_counts() -> None:
    """Its options are elsewhere."""
    usage = usage_of(usages.Unnamed)

    assert (usage.updates, usage.patches, usage.owns) == (True, True, True)


@pytest.mark.parametrize("controller", [usages.Dynamic, usages.Silent])
def test_code_that_cannot_be_analysed_may_do_everything(
    controller: type[Controller[WebApp]],
) -> None:
    """Too large a role is a nuisance, too small a one is an outage."""
    assert usage_of(controller) == Usage()


def test_a_controller_without_source_may_do_everything() -> None:
    """It was typed in at a prompt."""
    made = type("Typed", (usages.Plain,), {"__module__": "nowhere"})

    assert usage_of(made) == Usage()
