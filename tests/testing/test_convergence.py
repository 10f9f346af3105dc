"""`check_converges` accepts correct controllers and finds incorrect ones."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st

from examples.config_copy.controller import ConfigCopies
from examples.web_app.controller import WebApps
from myrmidon import (
    Controller,
    Done,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    Unstructured,
    kinds,
    state,
)
from myrmidon.api import Json
from myrmidon.api.values.merge_differences import merge_patch_between
from myrmidon.errors import UsageError
from myrmidon.testing import Lose, NotAtRestError, NotSettledError
from myrmidon.testing.properties.convergence import (
    DeleteObject,
    History,
    LetTimePass,
    NotConvergedError,
    PutObject,
    RestartControllers,
    check_converges,
    check_history,
)
from myrmidon.testing.properties.end_states import comparable


class FlagSpec(Model):
    """Whether there is a ConfigMap."""

    on: bool = True
    text: str = ""


class Flag(Resource[FlagSpec, Status], group="demo.myrmidon.dev", version="v1"):
    """A flag."""


class Flags(Controller[Flag]):
    """Keeps a ConfigMap for each flag that is on."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="Raised")
    def raised(self, flag: Flag, out: OutputSet) -> Result:
        """The ConfigMap is there if the flag is on."""
        if flag.spec.on:
            out.apply(config_map(flag.name, flag.spec.text))
        else:
            out.delete(kinds.CONFIG_MAP, flag.name)
        return Done()


class RandomNames(Controller[Flag]):
    """Creates its child under another name in each pass."""

    manages = (kinds.CONFIG_MAP,)
    numbers = count()

    @state(initial=True, condition="Raised")
    def raised(self, flag: Flag, out: OutputSet) -> Result:
        """There is a ConfigMap."""
        out.apply(config_map(f"{flag.name}-{next(self.numbers)}", flag.spec.text))
        return Done()


class ForgetsToRemove(Controller[Flag]):
    """Leaves the ConfigMap when the flag is switched off."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="Raised")
    def raised(self, flag: Flag, out: OutputSet) -> Result:
        """The ConfigMap is there if the flag is on."""
        if flag.spec.on:
            out.apply(config_map(flag.name, flag.spec.text))
        return Done()


class WritesEachPass(Controller[Flag]):
    """Writes a number that changes with each pass."""

    manages = (kinds.CONFIG_MAP,)
    numbers = count()

    @state(initial=True, condition="Raised")
    def raised(self, flag: Flag, out: OutputSet) -> Result:
        """The ConfigMap has a number."""
        out.apply(config_map(flag.name, str(next(self.numbers))))
        return Done()


class Spaces(Controller[Unstructured], kind=kinds.NAMESPACE):
    """Reconciles a kind without a class."""

    @state(initial=True, condition="Seen")
    def seen(self, obj: Unstructured, out: OutputSet) -> Result:
        """Its pass is recorded."""
        return Done()


def config_map(name: str, text: str) -> Json:
    """Build the child."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"text": text},
    }


@pytest.fixture(autouse=True)
def _quickly() -> Iterator[None]:
    """Look for a failing history, but do not shrink it: that takes most of the time."""
    before = settings.get_current_profile_name()
    settings.register_profile("found", settings(), phases=(Phase.generate,))
    settings.load_profile("found")
    yield
    settings.load_profile(before)


def test_the_examples_converge() -> None:
    """One with a finalizer and a registry, and one with children in other namespaces."""
    check_converges(WebApps, fields={"replicas": st.integers(0, 2)}, max_examples=8)

    spaces = ("blue", "green")
    made: list[Any] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}} for space in spaces
    ]
    made += [
        {**config_map(name, name), "metadata": {"name": name, "namespace": "default"}}
        for name in ("a", "b")
    ]
    check_converges(
        ConfigCopies,
        names=("a", "b"),
        fields={"namespaces": st.lists(st.sampled_from(spaces), min_size=1, unique=True)},
        manifests=made,
        max_examples=8,
    )


def test_a_good_controller_converges() -> None:
    """The incorrect controllers below are made from it."""
    check_converges(Flags, max_examples=20)


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (RandomNames, (NotAtRestError, NotSettledError)),
        (ForgetsToRemove, NotConvergedError),
        (WritesEachPass, (NotAtRestError, NotSettledError)),
    ],
)
def test_a_broken_controller_is_found(broken: type[Controller[Any]], error: Any) -> None:
    """Within the default number of histories."""
    with pytest.raises(error):
        check_converges(broken)


def test_the_error_names_the_objects_that_differ() -> None:
    """The message has the field, or the object that is left over."""
    history = History((PutObject("a", {"on": True}), LetTimePass(1), PutObject("a", {"on": False})))
    with pytest.raises(NotConvergedError) as error:
        check_history(ForgetsToRemove, history)
    assert "  ConfigMap default/a is left over" in str(error.value).splitlines()

    check_history(Flags, history)


def test_a_name_can_be_used_again_after_its_deletion() -> None:
    """Nor does a restart, a lost response, or the deletion of a missing object cause a failure."""
    steps = (
        PutObject("a", {"text": "one"}),
        DeleteObject("b"),
        RestartControllers(),
        DeleteObject("a"),
        PutObject("a", {"on": True}),
        PutObject("a", {"on": True, "text": "two"}),
    )
    check_history(Flags, History(steps, {3: Lose(), 9: Lose()}))


def test_an_edit_removes_the_fields_that_it_does_not_have() -> None:
    """A merge patch removes a field only if it says null."""
    before = {"on": True, "box": {"a": 1, "b": 2}, "list": [1]}
    after = {"box": {"b": 3}, "list": [], "new": {"c": 1}}
    assert merge_patch_between(before, after) == {
        "on": None,
        "box": {"a": None, "b": 3},
        "list": [],
        "new": {"c": 1},
    }


def test_the_order_of_conditions_and_references_does_not_matter() -> None:
    """It depends on the order of the writes; the order of other lists is compared."""
    both = [{"type": "A", "lastTransitionTime": "2030-01-01T00:00:00Z"}, {"type": "B"}]
    made: list[Json] = [
        {
            "kind": "Flag",
            "metadata": {},
            "status": {"conditions": each, "resourceRefs": each, "list": both, "none": []},
        }
        for each in (both, both[::-1])
    ]
    first, second = (comparable(each, is_own=True) for each in made)
    assert first == second
    assert "none" not in first["status"]
    made[1]["status"]["list"] = both[::-1]
    assert comparable(made[1], is_own=True) != first


def test_fields_can_be_ignored() -> None:
    """For fields that may depend on the history."""
    made = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "uid": "1", "annotations": {"x": "1", "y": "[1]", "z": "{"}},
        "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30000}]},
        "status": {"at": "2030-01-01T00:00:00Z"},
    }
    assert comparable(made, is_own=False, ignore=("metadata.annotations.x", "spec.none.at")) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "annotations": {"y": [1], "z": "{"}},
        "spec": {"ports": [{"port": 80}]},
    }
    parent = "00000000-0000-4000-8000-000000000001"
    child = {"kind": "ConfigMap", "metadata": {"name": "c", "labels": {"parent": parent}}}
    named = comparable(child, is_own=False, uids={parent: "<uid of Flag a>"})
    assert named["metadata"]["labels"] == {"parent": "<uid of Flag a>"}
    assert comparable(child, is_own=False) == child, "the uid of an object that is gone stays"
    assert comparable(made, is_own=True)["status"] == {"at": "<time>"}


def test_a_kind_without_a_class_is_refused() -> None:
    """There is no schema to draw from."""
    with pytest.raises(UsageError, match="which has no class with a schema"):
        check_converges(Spaces)
