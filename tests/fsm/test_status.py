"""Conditions and status from a finished walk: C1 to C8."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from myrmidon.api import Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.conditions import ConditionValue, find
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Verb
from myrmidon.api.values.equality import same
from myrmidon.api.values.timestamps import write_time
from myrmidon.errors import StatusError
from myrmidon.fsm import Done, Failed, Graph, Wait, Walk
from myrmidon.fsm.engine import Acted, Enter, Finish, Outcome, Skip, Visit
from myrmidon.fsm.status import status as status_module
from myrmidon.fsm.status.status import (
    conditions_after,
    managed_after,
    own_fields,
    reference,
    status_after,
    status_request,
)
from myrmidon.patch import merge
from tests.fsm.graphs import drawings, results
from tests.fsm.things import KIND, Thing, Things, ThingSpec, define, marked
from tests.strategies import documents, refs


class LooseStatus(Status):
    """A status with a part that has no schema."""

    free: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BEFORE = "2025-01-01T00:00:00Z"
REF = ObjectRef(KIND, "a", "default")
FOREIGN = st.sampled_from(
    [
        {"type": "Theirs", "status": "True", "observedGeneration": "odd", "extra": [1]},
        {"type": "example.com/Other"},
        {"type": ["no", "text"]},
        "nonsense",
    ]
)


@st.composite
def passes(draw: st.DrawFn) -> tuple[Graph, Outcome]:
    """A graph and the outcome of a walk through it."""
    graph = draw(drawings()).graph
    deleting = graph.finalizer is not None and draw(st.booleans())
    walk = Walk("Drawn", graph, finalizer="f", finalizers=["f"], deleting=deleting)
    while not isinstance(walk.action, Skip | Finish):
        act = st.just(Acted()) | st.just(Failed("Refused", "by 10.0.0.1:443"))
        walk.report(draw(results(walk.action.state) if isinstance(walk.action, Enter) else act))
    assert isinstance(walk.action, Finish)
    return graph, walk.action.outcome


@st.composite
def previous(draw: st.DrawFn, types: tuple[str, ...]) -> list[Any]:
    """Draw existing conditions: ours of some generation, mixed with those of other writers."""
    ours = draw(st.lists(st.sampled_from([*types, "Ready"]), unique=True))
    made: list[Any] = [
        {
            "type": one,
            "status": draw(st.sampled_from(["True", "False", "Unknown"])),
            "reason": draw(st.sampled_from(["Done", "Waiting", "Broken"])),
            "message": draw(st.sampled_from(["", "no 17", "no 18"])),
            "observedGeneration": draw(st.integers(1, 3)),
            "lastTransitionTime": draw(st.sampled_from([BEFORE, BEFORE, ""])),
        }
        for one in ours
    ]
    for foreign in draw(st.lists(FOREIGN, max_size=2, unique_by=str)):
        made.insert(draw(st.integers(0, len(made))), foreign)
    return made


@st.composite
def cases(draw: st.DrawFn) -> tuple[Graph, Outcome, list[Any]]:
    """Draw a pass, and the conditions that existed before it."""
    graph, outcome = draw(passes())
    return graph, outcome, draw(previous(graph.conditions))


def by_type(conditions: list[Any]) -> dict[str, Any]:
    """Return conditions by their type."""
    typed = [raw for raw in conditions if isinstance(raw, dict)]
    return {raw["type"]: raw for raw in typed if isinstance(raw["type"], str)}


@given(case=cases())
def test_c1_one_condition_per_state_visited(case: Any) -> None:
    """It says what the state returned, for the generation that this pass read."""
    graph, outcome, before = case
    after = by_type(conditions_after(outcome, graph, before, 3, NOW))

    for visit in outcome.visits:
        condition = after[visit.state.condition]
        assert condition["status"] == visit.value.status
        assert condition["reason"] == visit.value.reason
        assert condition["observedGeneration"] == 3
        if not visit.failed:
            assert condition["message"] == visit.value.message


@given(case=cases())
def test_c2_the_time_moves_when_the_status_flips_and_at_no_other_time(case: Any) -> None:
    """Changes of reason, message and generation do not move it."""
    graph, outcome, before = case
    old = by_type(before)
    after = by_type(conditions_after(outcome, graph, before, 3, NOW))

    for kind in {*graph.conditions, "Ready"} & after.keys():
        was = old.get(kind)
        since = after[kind]["lastTransitionTime"]
        if was is None or was["status"] != after[kind]["status"]:
            assert since == write_time(NOW)
        elif was["lastTransitionTime"]:
            assert since == was["lastTransitionTime"]


@given(case=cases())
def test_c3_a_condition_that_was_not_reached_does_not_lie(case: Any) -> None:
    """It stays in its generation, is Unknown in the next, and is removed when the walk ends."""
    graph, outcome, before = case
    old = by_type(before)
    after = by_type(conditions_after(outcome, graph, before, 3, NOW))

    visited = {visit.state.condition for visit in outcome.visits}
    for kind in set(graph.conditions) - visited:
        if outcome.ended or kind not in old:
            assert kind not in after
        elif old[kind]["observedGeneration"] == 3:
            assert after[kind] == old[kind]
        else:
            assert after[kind]["status"] == "Unknown"
            assert after[kind]["reason"] == "NotReached"
            assert after[kind]["observedGeneration"] == 3


@given(case=cases())
def test_c4_ready_is_true_only_at_an_end_where_all_is_true(case: Any) -> None:
    """Its message names the others, and it has the generation that was read."""
    graph, outcome, before = case
    ready = by_type(conditions_after(outcome, graph, before, 3, NOW))["Ready"]

    wanting = [visit for visit in outcome.visits if visit.value.status != "True"]
    assert ready["observedGeneration"] == 3
    assert (ready["status"] == "True") == (
        outcome.ended and not wanting and outcome.failure is None
    )
    for visit in wanting:
        assert (
            f"{visit.state.condition} is {visit.value.status} ({visit.value.reason})"
            in ready["message"]
        )
    if ready["status"] == "False" and not wanting and outcome.failure is None:
        assert ready["reason"] == "InProgress"


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_c4_an_end_with_a_condition_that_is_not_true_is_not_ready(status: Any) -> None:
    """A state may return Done with a False condition; a pass without states is not Ready either."""
    visit = Visit(Things.graph.states["made"], ConditionValue(status, "Partly"))
    for outcome, reason in ((Outcome((visit,), ended=True), "Partly"), (Outcome(), "InProgress")):
        ready = by_type(conditions_after(outcome, Things.graph, [], 3, NOW))["Ready"]
        assert (ready["status"], ready["reason"]) == ("False", reason)


def obj_with(conditions: list[Any], generation: int = 3, **status: Any) -> Json:
    """Build an object with that status."""
    return {
        "metadata": {"name": "a", "generation": generation, "resourceVersion": "7", "uid": "u"},
        "status": {"conditions": conditions, **status},
    }


def applied(obj: Json, request: Any) -> Json:
    """Return the object after a patch of its status."""
    if request is None:
        return obj
    done: Json = merge(obj, {"status": request.body["status"]})
    return done


@given(case=cases(), own=documents(), managed=st.lists(refs(), unique=True, max_size=2))
def test_c5_a_pass_that_changes_nothing_writes_nothing(
    case: Any, own: Json, managed: list[ObjectRef]
) -> None:
    """The same pass an hour later sends nothing.

    A write is one request, bound to the version read.
    """
    graph, outcome, before = case
    obj = obj_with(before)

    status = status_after(outcome, graph, obj, now=NOW, managed=managed, own_fields=own)
    request = status_request(REF, obj, status)
    if request is not None:
        assert request.verb is Verb.PATCH
        assert request.subresource == "status"
        assert request.body["metadata"] == {"resourceVersion": "7"}
    after = applied(obj, request)
    later = NOW + timedelta(hours=1)
    again = status_after(outcome, graph, after, now=later, managed=managed, own_fields=own)

    assert status_request(REF, after, again) is None


@given(case=cases(), own=documents())
def test_c5_only_what_differs_is_sent(case: Any, own: Json) -> None:
    """The result is the same as if the whole status had been sent."""
    graph, outcome, before = case
    obj = obj_with(before, a={"b": 1})
    status = status_after(outcome, graph, obj, now=NOW, own_fields=own)
    request = status_request(REF, obj, status)

    assert same(applied(obj, request)["status"], merge(obj["status"], status))


@given(case=cases(), ready=st.booleans())
def test_c6_conditions_of_others_survive_where_they_are(case: Any, ready: bool) -> None:
    """Byte for byte and in order; without ready_condition, Ready belongs to another writer."""
    graph, outcome, before = case
    own = [*graph.conditions, *(["Ready"] if ready else [])]

    def foreign(conditions: list[Any]) -> list[Any]:
        return [c for c in conditions if isinstance(c, str) or c.get("type") not in own]

    after = conditions_after(outcome, graph, before, 3, NOW, ready=ready)

    assert foreign(after) == foreign(before)
    kept = [kind for kind in by_type(after) if kind in own]
    assert len(set(kept)) == len(kept)
    order = [raw["type"] for raw in before if isinstance(raw, dict) and raw["type"] in kept]
    assert kept[: len(order)] == order


def stalled_by(reason: str) -> Json:
    """Build a condition ``Stalled`` with a reason."""
    return {"type": "Stalled", "status": "True", "reason": reason, "lastTransitionTime": BEFORE}


def test_a15_a_stalled_state_is_a_condition_of_its_own() -> None:
    """It exists beside the state's condition, as kstatus reads it, only while the stall lasts."""
    state = Things.graph.states[Things.graph.initial]
    visit = Visit(state, ConditionValue("False", "Stalled", "data.a is changed back"))
    done = Visit(state, ConditionValue("True", "Stalled"))

    stalled = by_type(conditions_after(Outcome((visit,)), Things.graph, [], 3, NOW))["Stalled"]
    assert (stalled["status"], stalled["reason"]) == ("True", "Stalled")
    assert stalled["message"] == "data.a is changed back"
    again = conditions_after(Outcome((visit,)), Things.graph, [stalled], 3, NOW)
    assert again[0] is stalled
    for over in (Outcome((done,)), Outcome()):
        assert "Stalled" not in by_type(conditions_after(over, Things.graph, [stalled], 3, NOW))


def test_c6_a_stalled_condition_of_another_writer_survives() -> None:
    """Only ours has the reason Stalled; a state may use the type for itself."""
    foreign = stalled_by("QuotaDenied")
    assert foreign in conditions_after(Outcome(), Things.graph, [foreign], 3, NOW)

    made = define(first=marked(initial=True, condition="Stalled"))
    visit = Visit(made.graph.states["first"], ConditionValue("False", "Stalled", "mine"))
    after = by_type(
        conditions_after(Outcome((visit,)), made.graph, [stalled_by("Stalled")], 3, NOW)
    )
    assert (after["Stalled"]["status"], after["Stalled"]["message"]) == ("False", "mine")


@pytest.mark.parametrize("ended", [True, False])
def test_c6_a_condition_that_is_there_twice_is_one(ended: bool) -> None:
    """The first one is kept, whether or not the pass reached its state."""
    made, twice = Things.graph.states["made"].condition, ConditionValue("True", "Done")
    visits = (Visit(Things.graph.states["made"], twice),) if ended else ()
    raw = {"type": made, "status": "True", "observedGeneration": 3, "lastTransitionTime": BEFORE}

    after = conditions_after(Outcome(visits, ended), Things.graph, [raw, raw], 3, NOW)

    assert [condition["type"] for condition in after] == [made, "Ready"]


@given(case=cases())
def test_what_did_not_change_is_the_old_value_itself(case: Any) -> None:
    """The old value itself is returned, so that comparing it is cheap in every converged pass."""
    graph, outcome, before = case
    managed = [ObjectRef(kinds.SECRET, "a", "b")]
    obj = obj_with(before)
    status = status_after(outcome, graph, obj, now=NOW, managed=managed)
    after = applied(obj, status_request(REF, obj, status))

    again = status_after(outcome, graph, after, now=NOW, managed=managed)

    for field in ("conditions", "resourceRefs"):
        assert again[field] is after["status"][field]


NOISE = st.sampled_from(
    ["10.0.0.1:443", "0x7f3a", "2026-01-01T00:00:00Z", "a1b2c3d4-0000", "attempt=3", "17"]
)


def failing(where: str, message: str) -> Outcome:
    """Return a pass whose first state, or whose finalizer, failed with that message."""
    failed = Failed("Refused", RuntimeError(message))
    if where == "finalizer":
        return Outcome(failure=failed, backoff=True)
    value = ConditionValue("False", "Refused", message)
    visit = Visit(Things.graph.states["made"], value, failed=True)
    return Outcome((visit,), failure=failed, backoff=True)


@given(first=NOISE, second=NOISE, where=st.sampled_from(["state", "finalizer"]))
def test_c7_noise_in_an_error_does_not_change_the_object(
    first: str, second: str, where: str
) -> None:
    """Addresses, times and ids differ from attempt to attempt; the error is the same."""
    text = "dial {} refused after {} tries"
    obj = obj_with([])
    once = status_after(failing(where, text.format(first, 1)), Things.graph, obj, now=NOW)
    obj = applied(obj, status_request(REF, obj, once))

    again = status_after(
        failing(where, text.format(second, 2)), Things.graph, obj, now=NOW + timedelta(hours=1)
    )

    assert status_request(REF, obj, again) is None


def test_c7_another_error_is_another_message() -> None:
    """Other words, another reason, another generation, or a Wait that counts are new messages."""
    obj = obj_with([])
    first = status_after(failing("state", "dial 10.0.0.1 refused"), Things.graph, obj, now=NOW)
    obj = applied(obj, status_request(REF, obj, first))
    changed = [
        (failing("state", "dial 10.0.0.1 timed out"), obj),
        (failing("state", "dial 10.0.0.2 refused"), merge(obj, {"metadata": {"generation": 4}})),
    ]
    for outcome, seen in changed:
        status = status_after(outcome, Things.graph, seen, now=NOW)
        assert status_request(REF, seen, status) is not None
    made = Things.graph.states["made"]
    for count in ("1 of 3", "2 of 3"):
        waiting = Outcome((Visit(made, ConditionValue("False", "Slow", count)),), backoff=True)
        status = status_after(waiting, Things.graph, obj, now=NOW)
        obj = applied(obj, status_request(REF, obj, status))
        condition = find(obj, "Made")
        assert condition is not None
        assert condition.message == count


@given(
    recorded=st.lists(refs(), unique=True),
    emitted=st.lists(refs(), unique=True),
    gone=st.lists(refs(), unique=True),
)
def test_c8_references_list_what_is_managed(
    recorded: list[ObjectRef], emitted: list[ObjectRef], gone: list[ObjectRef]
) -> None:
    """Everything recorded or applied is listed once, in order, without deleted objects."""
    managed = managed_after(recorded, emitted, gone)

    assert set(managed) == {*recorded, *emitted} - {*gone}
    assert len(set(managed)) == len(managed)
    assert [ref for ref in managed if ref in recorded] == [r for r in recorded if r not in gone]
    status = status_after(Outcome(), Things.graph, obj_with([]), now=NOW, managed=managed)
    assert status.get("resourceRefs", []) == [reference(ref) for ref in managed]


def test_c8_references_are_kept_as_kubernetes_writes_them() -> None:
    """An object that manages nothing any more has an empty list."""
    assert reference(ObjectRef(kinds.DEPLOYMENT, "web", "default")) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "namespace": "default",
    }
    assert reference(ObjectRef(kinds.NAMESPACE, "x")) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "name": "x",
    }
    obj = obj_with([], resourceRefs=[{"name": "x"}])
    assert status_after(Outcome(), Things.graph, obj, now=NOW)["resourceRefs"] == []


@given(case=cases())
def test_the_generation_observed_is_the_one_that_was_read(case: Any) -> None:
    """Objects of kinds without a generation get no observedGeneration."""
    graph, outcome, before = case

    with_generation = status_after(outcome, graph, obj_with(before), now=NOW)
    without = status_after(outcome, graph, {"metadata": {}}, now=NOW)

    assert with_generation["observedGeneration"] == 3
    assert "observedGeneration" not in without


@given(current=documents(), own=documents())
def test_fields_that_states_set_are_compared_as_json(current: Json, own: Json) -> None:
    """None removes a field; a value that the server has already is not sent."""
    assume("conditions" not in own)
    obj = {"metadata": {"resourceVersion": "1"}, "status": current}
    request = status_request(REF, obj, own)
    now = applied(obj, request)

    assert status_request(REF, now, own) is None
    for key, value in own.items():
        if value is None:
            assert now["status"].get(key) is None


def test_ready_waits_for_the_release() -> None:
    """Ready is not True while the finalizer is still there, although its graph has ended."""
    graph = Things.graph
    for refused in (Failed("Refused", "no"), Wait("Slow", after=timedelta(seconds=1))):
        walk = Walk("Things", graph, finalizer="f", finalizers=["f"], deleting=True)
        for report in (Done(), Acted(), refused):
            walk.report(report)
        assert isinstance(walk.action, Finish)
        status = status_after(walk.action.outcome, graph, obj_with([]), now=NOW)
        ready = by_type(status["conditions"])["Ready"]
        assert ready["status"] == "False"


@pytest.mark.parametrize("conditions", [None, []])
def test_a_new_object_gets_its_first_status(conditions: Any) -> None:
    """The whole status is sent."""
    obj = {
        "metadata": {"generation": 1, "resourceVersion": "1"},
        "status": {"conditions": conditions},
    }
    visit = Visit(Things.graph.states["made"], ConditionValue("True", "Done"))
    outcome = Outcome((visit,), after=timedelta(seconds=1))

    request = status_request(REF, obj, status_after(outcome, Things.graph, obj, now=NOW))

    assert request is not None
    assert request.body == {
        "metadata": {"resourceVersion": "1"},
        "status": {
            "conditions": [
                {
                    "type": "Made",
                    "status": "True",
                    "reason": "Done",
                    "message": "",
                    "observedGeneration": 1,
                    "lastTransitionTime": "2026-01-02T03:04:05Z",
                },
                {
                    "type": "Ready",
                    "status": "False",
                    "reason": "InProgress",
                    "message": "the walk has not reached an end",
                    "observedGeneration": 1,
                    "lastTransitionTime": "2026-01-02T03:04:05Z",
                },
            ],
            "observedGeneration": 1,
        },
    }


def failure(message: str) -> Outcome:
    """Return a walk that ended with a failure of its first state."""
    state = Things.graph.states["made"]
    value = ConditionValue("False", "Broken", message)
    return Outcome((Visit(state, value, failed=True),), failure=Failed("Broken", message))


def message_after(message: str, previous: list[Json]) -> str:
    """Return the message of the condition after a failure with that message."""
    after = conditions_after(failure(message), Things.graph, previous, 1, NOW)
    found = find({"status": {"conditions": after}}, "Made")
    assert found is not None
    return found.message


LONG = 40_000
"""More characters than a condition message can have."""


@given(
    words=st.lists(
        st.sampled_from(["a", "no", "x" * 50, "\n", "7", "y" * LONG]), min_size=1, max_size=5
    ),
    ids=st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)),
)
def test_c7_shortening_does_not_make_equal_errors_differ(
    words: list[str], ids: tuple[int, int]
) -> None:
    """C7: a longer number moves the cut, but the existing message is kept."""
    once = " ".join([*words, ""])
    text = once * (LONG // len(once) + 1)
    first, second = (f"request {one} failed: {text}" for one in ids)
    stored = conditions_after(failure(first), Things.graph, [], 1, NOW)

    kept = message_after(second, stored)

    assert kept == message_after(first, [])
    assert len(kept) <= 32_768


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x" * LONG, "y" * LONG),
        (f"a {'x' * LONG}", f"b {'x' * LONG}"),
        ("a " * LONG, "b " * LONG),
        ("short", "x" * LONG),
    ],
    ids=["word", "first word", "words", "length"],
)
def test_c7_other_errors_are_reported_however_long(one: str, other: str) -> None:
    """The existing message is kept only for the same error."""
    stored = conditions_after(failure(one), Things.graph, [], 1, NOW)

    assert message_after(other, stored) == message_after(other, [])


@pytest.mark.parametrize(
    "text",
    ["x" * 1_000_000, "x" * 20_000, "7" * 100_000, "x7" * 50_000, " " * 100_000, "x 7 " * 50_000],
    ids=["word", "short word", "digits", "mixed", "blanks", "words"],
)
def test_messages_of_any_length_are_compared_word_by_word(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q8: each character of the bounded message is read a fixed number of times."""
    looked_at: list[int] = []

    class Counting:
        def search(self, word: str) -> Any:
            looked_at.append(len(word))
            return digit.search(word)

    digit = status_module._DIGIT
    monkeypatch.setattr(status_module, "_DIGIT", Counting())
    stored = conditions_after(failure(f"1 {text}"), Things.graph, [], 1, NOW)
    message_after(f"2 {text}", stored)

    assert sum(looked_at) <= 2 * 32_768


def test_own_fields_are_what_states_changed() -> None:
    """The fields are JSON, without those that the framework writes."""
    thing = Thing.from_json({"metadata": {"name": "a"}})
    assert own_fields(thing) == {}

    thing.status.url = "here"
    assert own_fields(thing) == {"url": "here"}


class Loose(Resource[ThingSpec, LooseStatus], group="example.com", version="v1"):
    """A resource whose status holds anything."""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (
            float("nan"),
            "Loose(a): status.free.x is nan, and JSON has no such number.\n  fix: leave",
        ),
        (object(), "Loose(a): its status cannot be written as JSON: Unable to serialize"),
    ],
    ids=["nan", "object"],
)
def test_own_fields_without_json_are_refused(value: Any, told: str) -> None:
    """The error has the path, if there is one."""
    loose = Loose.from_json({"metadata": {"name": "a"}})
    loose.status.free["x"] = value

    with pytest.raises(StatusError) as caught:
        own_fields(loose)
    assert str(caught.value).startswith(told)


def test_text_in_own_fields_is_made_printable() -> None:
    """Text that is not valid Unicode is replaced, because people read it."""
    loose = Loose.from_json({"metadata": {"name": "a"}})
    loose.status.free["x"] = ["\ud800"]

    assert own_fields(loose) == {"free": {"x": ["\ufffd"]}}


@given(drawn=passes(), data=st.data())
def test_c12_conditions_of_former_states_are_removed_and_no_others(
    drawn: tuple[Graph, Outcome], data: st.DataObject
) -> None:
    """Whatever states ran; conditions that are not named stay as they would have been."""
    graph, outcome = drawn
    before = data.draw(previous(tuple(graph.conditions)))
    old = [{"type": "Former", "status": "True"}, {"type": "Older", "status": "True"}]
    place = data.draw(st.integers(0, len(before)))
    mixed = [*before[:place], *old, *before[place:]]
    after = conditions_after(outcome, graph, mixed, 3, NOW, former=("Former", "Older"))
    assert after == conditions_after(outcome, graph, before, 3, NOW)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Outcome(failure=Failed("Broken", "it is")), "it is; run it"),
        (Outcome(ended=True), ""),
    ],
)
def test_w7_a_hint_ends_the_message_of_ready_unless_it_is_true(
    outcome: Outcome, message: str
) -> None:
    """Its command, which frees the object, is in the condition."""
    (ready,) = conditions_after(outcome, Things.graph, [], 1, NOW, hint="run it")
    assert ready["message"] == message
