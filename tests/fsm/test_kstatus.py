"""``kstatus=True``: readers that follow kstatus' rules see what the outcome says."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.conditions import READY, RECONCILING, STALLED, ConditionValue
from myrmidon.errors import DefinitionError
from myrmidon.fsm import ControllerOptions, Failed, Graph, Walk
from myrmidon.fsm.engine import Acted, Enter, Finish, Outcome, Visit
from myrmidon.fsm.status.status import conditions_after, status_after
from tests.fsm.graphs import Drawn, drawings, results
from tests.fsm.test_engine import LINE
from tests.fsm.things import define, marked

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FOREIGN = {"type": "Synced", "status": "True", "reason": "Other", "lastTransitionTime": "x"}


def kstatus_of(obj: Json) -> str:
    """The status that kstatus' published rules give an object of a kind that it does not know.

    In their order: a deletion timestamp, a generation that was not observed yet, the two standard
    conditions, the condition Ready; and Current if nothing speaks against it.
    """
    metadata, status = obj["metadata"], obj.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return "Terminating"
    observed = status.get("observedGeneration")
    if observed is not None and observed != metadata["generation"]:
        return "InProgress"
    conditions = status.get("conditions") or []
    for one in conditions:
        if one["type"] == "Reconciling" and one["status"] == "True":
            return "InProgress"
        if one["type"] == "Stalled" and one["status"] == "True":
            return "Failed"
    for one in conditions:
        if one["type"] == "Ready":
            return "Current" if one["status"] == "True" else "InProgress"
    return "Current"


def expected(outcome: Outcome, ready: bool) -> str:
    """Return what the outcome means as a status of kstatus."""
    if ready:
        return "Current"
    fights = any(visit.value.reason == STALLED for visit in outcome.visits)
    return "Failed" if outcome.is_terminal or fights else "InProgress"


def outcome_of(graph: Graph, data: Any) -> Outcome:
    """Return the outcome of a generated walk."""
    walk = Walk("Drawn", graph, finalizer="f", finalizers=["f"])
    while not isinstance(walk.action, Finish):
        entering = isinstance(walk.action, Enter)
        walk.report(data.draw(results(walk.action.state)) if entering else Acted())  # type: ignore[union-attr]
    return walk.action.outcome


@given(drawing=drawings(), data=st.data(), deleting=st.booleans(), ready=st.booleans())
def test_readers_of_kstatus_agree_with_the_outcome(
    drawing: Drawn, data: Any, deleting: bool, ready: bool
) -> None:
    """After any sequence of passes; at most one of the three conditions is True."""
    graph = drawing.graph
    obj: Json = {"metadata": {"generation": 1, "name": "a"}, "status": {"conditions": [FOREIGN]}}
    for _ in range(3):
        outcome = outcome_of(graph, data)
        obj["metadata"]["generation"] += data.draw(st.integers(0, 1))
        obj["status"] = status_after(outcome, graph, obj, now=NOW, ready=ready, kstatus=True)
        found = {one["type"]: one for one in obj["status"]["conditions"]}
        is_ready = outcome.ended and not outcome.unsettled and _all_true(outcome)
        assert kstatus_of(obj) == expected(outcome, is_ready)
        assert (RECONCILING in found) + (STALLED in found) == (not is_ready)
        if ready:
            assert (found[READY]["status"] == "True") == is_ready
        assert FOREIGN in obj["status"]["conditions"]
    if deleting:
        obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        assert kstatus_of(obj) == "Terminating"
    obj["metadata"]["generation"] += 1
    assert kstatus_of(obj) == ("Terminating" if deleting else "InProgress")


def _all_true(outcome: Outcome) -> bool:
    return all(visit.value.status == "True" for visit in outcome.visits)


def conditions(outcome: Outcome, before: list[Json] | None = None) -> dict[str, Json]:
    """The conditions after an outcome."""
    made = conditions_after(outcome, LINE, before or [], 1, NOW, kstatus=True)
    return {one["type"]: one for one in made}


def test_conditions_of_kstatus_have_reason_and_message() -> None:
    """Reconciling repeats Ready; Stalled names the failure."""
    state = LINE.states["a"]
    failed = Failed("NoDisk", "it is full")
    visit = Visit(state, ConditionValue("False", "NoDisk", "it is full"), failed=True)
    trying = conditions(Outcome(visits=(visit,), failure=failed, backoff=True))
    given_up = conditions(Outcome(visits=(visit,), failure=failed), list(trying.values()))

    assert trying[RECONCILING]["message"] == trying[READY]["message"] == "A is False (NoDisk)"
    assert STALLED not in trying
    assert given_up[STALLED]["message"] == "NoDisk: it is full"
    assert RECONCILING not in given_up


@pytest.mark.parametrize("condition", [RECONCILING, STALLED])
def test_d2_no_state_owns_a_condition_that_kstatus_writes(condition: str) -> None:
    """A state may own such a condition only if the option is off."""
    define(one=marked(initial=True, condition=condition))
    with pytest.raises(DefinitionError) as found:
        define(
            one=marked(initial=True, condition=condition), options=ControllerOptions(kstatus=True)
        )
    assert str(found.value) == (
        f"Bad.one owns the condition {condition!r}, which ControllerOptions(kstatus=True) writes.\n"
        "  fix: choose another condition, or switch kstatus off"
    )
