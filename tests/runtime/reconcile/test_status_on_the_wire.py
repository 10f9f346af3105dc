"""C1 to C8, as seen by the server."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import orjson

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.fsm import Done, Failed, Result, Wait
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, Status
from tests.runtime.things import Thing, Things, config_map, thing

HOUR = timedelta(hours=1)
FOREIGN = {"type": "Scanned", "status": "True", "reason": "Clean", "message": ""}


def conditions(cluster: Harness, name: str = "it") -> dict[str, Json]:
    """Return the conditions of an object."""
    status = cluster.require(Thing, name).raw.get("status") or {}
    return {one["type"]: one for one in status.get("conditions") or ()}


def meddling(act: Callable[[], Any], *, times: int = 1) -> Callable[[HttpRequest], None]:
    """Let another client write immediately before our status write."""
    left = [times]

    def faults(request: HttpRequest) -> None:
        if request.path.endswith("/status") and left[0]:
            left[0] -= 1
            act()

    return faults


def add_foreign(cluster: Harness) -> None:
    """Add the condition of another controller, in the way that such controllers write it."""
    path = "/apis/test.myrmidon.dev/v1/namespaces/default/things/it"
    there = orjson.loads(cluster.server.request("GET", path).body)
    known = (there.get("status") or {}).get("conditions") or []
    answer = cluster.server.request(
        "PATCH",
        f"{path}/status",
        {"status": {"conditions": [*known, FOREIGN]}},
        content_type="application/merge-patch+json",
    )
    assert answer.status == 200


def test_condition_of_another_writer_survives() -> None:
    """C6: it is written between our read and our status write, and is kept."""
    faults = meddling(lambda: add_foreign(cluster))
    with Harness(Things(), faults=faults) as cluster:
        cluster.apply(thing())
        cluster.settle()

        assert conditions(cluster)["Scanned"] == FOREIGN
        assert conditions(cluster)["Ready"]["status"] == "True"
        assert [one.status for one in cluster.writes] == [409, 200]
        assert cluster.writes_during(HOUR) == []


def test_transition_time_moves_with_the_status_alone() -> None:
    """C1, C2: the generation follows the object, the time changes only with the status."""
    answers: list[Result] = [Wait("Slow", after=HOUR), Wait("Slower", after=HOUR), Done()]
    with Harness(Things(lambda *_: answers[0])) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=5))
        first = conditions(cluster)["First"]
        answers.pop(0)
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.advance(timedelta(seconds=5))
        second = conditions(cluster)["First"]
        answers.pop(0)
        cluster.patch(Thing, "it", {"spec": {"value": "c"}})
        cluster.settle()
        third = conditions(cluster)["First"]

    assert (first["reason"], second["reason"], third["status"]) == ("Slow", "Slower", "True")
    assert first["lastTransitionTime"] == second["lastTransitionTime"] < third["lastTransitionTime"]
    assert [one["observedGeneration"] for one in (first, second, third)] == [1, 2, 3]


def test_condition_that_was_not_reached_does_not_lie() -> None:
    """C3, C4: kept for the same generation, Unknown for another.

    Ready never True for an older one.
    """
    wait: list[Result] = [Done()]
    with Harness(Things(lambda *_: wait[0])) as cluster:
        cluster.apply(thing())
        cluster.settle()
        wait[0] = Wait("Later", after=HOUR)
        cluster.patch(Thing, "it", {"metadata": {"labels": {"a": "b"}}})
        cluster.advance(timedelta(seconds=1))
        assert conditions(cluster)["Second"]["status"] == "True"
        assert conditions(cluster)["Ready"]["status"] == "False"

        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.advance(timedelta(seconds=1))
        second = conditions(cluster)["Second"]
        assert (second["status"], second["reason"]) == ("Unknown", "NotReached")
        assert not cluster.ready(Thing, "it")


def test_noise_in_an_error_does_not_change_the_object() -> None:
    """C7: addresses, times and ids in the text do not cause a write on each attempt."""
    attempts: list[float] = []

    def fail(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
        attempts.append(ctx.now.timestamp())
        number = len(attempts)
        return Failed("Down", f"connect 10.0.0.{number}:443 at {ctx.now.isoformat()}: id {number}f")

    with Harness(Things(fail)) as cluster:
        cluster.apply(thing())
        cluster.advance(HOUR)

        assert len(attempts) > 10
        assert len(cluster.writes) == 1
        gaps = [b - a for a, b in pairwise(attempts)]
        assert gaps[0] >= 0.75
        assert gaps[-1] >= 225, "the watch event of the status never shortens the wait"


def test_changing_errors_do_not_shorten_the_backoff() -> None:
    """C7: each is written, and its watch event causes no pass."""
    attempts: list[float] = []
    texts = "abcdefghijklmnopqrstuvwxyz"

    def fail(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
        attempts.append(ctx.now.timestamp())
        return Failed("Down", f"reason {texts[len(attempts)]}")

    with Harness(Things(fail)) as cluster:
        cluster.apply(thing())
        cluster.advance(HOUR / 2)

        assert len(cluster.writes) == len(attempts)
        assert len(attempts) < 16


def test_status_fields_of_states_are_in_the_one_write() -> None:
    """C5: an explicit None removes the field from the server."""

    def note(it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        it.status.note = it.spec.value if it.spec.value != "none" else None
        return Done()

    with Harness(Things(note)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert cluster.require(Thing, "it").status.note == "a"
        assert len(cluster.writes) == 1

        cluster.patch(Thing, "it", {"spec": {"value": "none"}})
        cluster.settle()
        assert "note" not in cluster.require(Thing, "it").raw["status"]
        assert len(cluster.writes) == 2


def test_status_can_not_land_on_a_namesake() -> None:
    """C5: the object is deleted and created again between our read and our status write."""

    def recreate() -> None:
        path = "/apis/test.myrmidon.dev/v1/namespaces/default/things"
        cluster.server.request("DELETE", f"{path}/it")
        made = cluster.server.request("POST", path, thing(value="new").to_json())
        assert made.status == 201

    def note(it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        it.status.note = f"{it.uid} {it.spec.value}"
        return Done()

    with Harness(Things(note), faults=meddling(recreate)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        there = cluster.require(Thing, "it")
        assert there.status.note == f"{there.uid} new"


def test_a_refused_status_is_retried_and_reported() -> None:
    """F08: a status that the server refuses does not end the retries.

    The next attempt reports it.
    """
    left = [3]

    def faults(request: HttpRequest) -> Status | None:
        if request.path.endswith("/status") and left[0]:
            left[0] -= 1
            return Status(500)
        return None

    with Harness(Things(), faults=faults) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert {one["reason"] for one in cluster.list(kinds.EVENT)} == {"StatusRefused"}


def test_references_list_the_objects_that_exist() -> None:
    """C8: a deleted object leaves the list, also if another client deleted it."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        for letter in it.spec.value:
            out.apply(config_map(letter))
        return Done()

    def names() -> list[str]:
        return [ref["name"] for ref in cluster.require(Thing, "it").raw["status"]["resourceRefs"]]

    with Harness(Things(act)) as cluster:
        cluster.apply(thing(value="abc"))
        cluster.settle()
        assert names() == ["a", "b", "c"]
        cluster.patch(Thing, "it", {"spec": {"value": "ab"}})
        cluster.settle()
        assert names() == ["a", "b", "c"], "without pruning it is still ours"
        cluster.delete(kinds.CONFIG_MAP, "c")
        cluster.settle()
        assert names() == ["a", "b"]
