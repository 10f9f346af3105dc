"""Policies: which one holds for an object, and what a walk does with it."""

from typing import Any

import pytest

from myrmidon.errors import DefinitionError, UnfitObjectError
from myrmidon.fsm import ControllerOptions
from myrmidon.fsm.declaration.policies import POLICY, policy_of
from myrmidon.fsm.engine import EnsureFinalizer, Enter, ReleaseFinalizer, Skip, Walk
from tests.fsm.things import define, marked

HOLD = "example.com/thing"


def noted(policy: str) -> dict[str, Any]:
    """Build an object with a policy annotation."""
    return {"kind": "Thing", "metadata": {"name": "a", "annotations": {POLICY: policy}}}


def test_the_annotation_takes_precedence_over_the_option() -> None:
    """Without one, the option holds."""
    assert policy_of({}) == "manage"
    assert policy_of({}, "observe") == "observe"
    assert policy_of(noted("orphan"), "observe") == "orphan"


def test_a_value_that_is_not_a_policy_is_refused() -> None:
    """The annotation of an object and the option are both checked."""
    with pytest.raises(UnfitObjectError, match="which is not one of manage, observe, orphan"):
        policy_of(noted("Observe"))
    with pytest.raises(DefinitionError, match="policy is 'all'"):
        ControllerOptions(policy="all")  # type: ignore[arg-type]


@pytest.mark.parametrize("final", [False, True], ids=["plain", "final"])
@pytest.mark.parametrize("policy", ["manage", "observe", "orphan"])
@pytest.mark.parametrize("held", [False, True], ids=["free", "held"])
def test_w3_the_first_action_follows_from_the_policy(final: bool, policy: Any, held: bool) -> None:
    """Observe adds no finalizer, orphan always does; their deletion runs no state."""
    extra = {"b": marked(finalizer=True)} if final else {}
    graph = define(a=marked(initial=True), **extra).graph
    finalizers = (HOLD,) if held else ()

    def action(deleting: bool) -> Any:
        return Walk(
            "Things", graph, finalizer=HOLD, finalizers=finalizers, deleting=deleting, policy=policy
        ).action

    needs = policy == "orphan" or (final and policy == "manage")
    assert isinstance(action(deleting=False), EnsureFinalizer if needs and not held else Enter)
    runs = final and policy == "manage"
    going = Skip if not held else Enter if runs else ReleaseFinalizer
    assert isinstance(action(deleting=True), going)
