"""``out.delete_self``: a state deletes the object of its own pass, as the pass has read it.

The law: a decision that was made on one version of the object never deletes another one, and after
the delete the pass writes nothing.
"""

from datetime import timedelta
from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.paths import object_path
from myrmidon.api.requests.request import Patch
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Crash, Harness, Lose, Refuse, Status
from tests.runtime.reconcile.test_edits import acting, paths
from tests.runtime.things import FinalThings, Thing, Things, config_map, first, thing

LIFE = timedelta(minutes=5)


def expire(it: Thing, out: OutputSet, ctx: Context) -> Result:
    """Delete the object when its time is over; until then look again at that time."""
    assert it.creation_timestamp is not None
    end = it.creation_timestamp + LIFE * it.spec.size
    if ctx.now >= end:
        out.delete_self()
        return Done()
    return Done(again=end)


def create(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Create a child."""
    out.apply(config_map("child"))
    return Done()


def test_an_object_deletes_itself_when_its_time_is_over() -> None:
    """The pass ends with the delete: later states do not run, and no status is written."""
    ran: list[str] = []

    def second(it: Thing, out: OutputSet, ctx: Context) -> Result:
        ran.append(it.name)
        return create(it, out, ctx)

    with Harness(Things(expire, second), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")
        before, writes = len(ran), len(cluster.writes)
        cluster.advance(LIFE)
        cluster.settle()

        assert cluster.get(Thing, "it") is None
        assert [one.request.method for one in cluster.writes[writes:]] == ["DELETE"]
        assert len(ran) == before
        cluster.at_rest()


def test_an_object_with_a_finalizer_is_finalized() -> None:
    """Its own delete does not wake it, so it is requeued, and its finalizer state runs."""
    last: list[str] = []

    def release(it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        last.append(it.name)
        return Done()

    with Harness(FinalThings(expire, create, release), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.advance(LIFE)
        cluster.settle()
        assert (cluster.get(Thing, "it"), last) == (None, ["it"])


def test_a_change_in_the_meantime_is_not_deleted() -> None:
    """A user prolongs the object while the delete is under way: 409, and the pass is repeated."""
    prolonged: list[int] = []

    def race(request: Any) -> None:
        if request.method == "DELETE" and not prolonged:
            prolonged.append(1)
            path = object_path(ObjectRef(Thing.KIND, "it", "default"))
            body = {"spec": {"size": 2}}
            cluster.server.request("PATCH", path, body, content_type=Patch.MERGE.value)

    with Harness(Things(expire), actors=(), faults=race) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.advance(LIFE)
        cluster.settle()
        assert cluster.require(Thing, "it").spec.size == 2
        assert cluster.ready(Thing, "it")
        cluster.advance(LIFE)
        cluster.settle()
        assert cluster.get(Thing, "it") is None


@pytest.mark.parametrize("fault", [Lose(), Crash(), Refuse(), Status(500), Status(409)], ids=repr)
def test_a9_the_delete_may_fail_or_lose_its_answer(fault: Any) -> None:
    """In the end the object is gone, and an object that has its name since then is not touched."""
    armed = [True]

    def once(request: Any) -> Any:
        if request.method == "DELETE" and armed[0]:
            armed[0] = False
            return fault
        return None

    with Harness(Things(expire), actors=(), faults=once) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.advance(LIFE)
        if isinstance(fault, Crash):
            cluster.restart()
        cluster.settle(timedelta(minutes=20))
        assert (cluster.get(Thing, "it"), armed) == (None, [False])

        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")


def test_other_outputs_of_the_state_are_written_first() -> None:
    """If one of them is refused, the object stays."""
    act = acting(
        lambda out: out.delete_self(propagation="Orphan"),
        lambda out: out.apply({**config_map("child"), "data": {"a": 1}}),
    )
    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(minutes=1))
        assert first(cluster).reason == "Refused"
        assert not any(one.startswith("DELETE") for one in paths(cluster))


def test_an_object_that_is_only_observed_stays() -> None:
    """The condition says what would be done."""
    with Harness(Things(expire, policy="observe"), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.advance(LIFE)
        assert first(cluster).reason == "ObserveOnly"
        assert "it would delete itself" in first(cluster).message


@pytest.mark.parametrize("form", ["object", "kind", "reference"])
def test_a_delete_by_name_is_refused_with_the_right_call(form: str) -> None:
    """The kind is not in ``manages``; the message names ``out.delete_self``."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if form == "kind":
            out.delete(Thing, it.name)
        else:
            out.delete(it if form == "object" else it.ref)
        return Done()

    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert first(cluster).reason == "UndeclaredOutput"
        assert "fix: delete the object of the pass with out.delete_self()" in first(cluster).message


def test_a_delete_of_another_undeclared_kind_is_refused_as_before() -> None:
    """Only a kind that is reconciled gets the hint."""
    with Harness(Things(acting(lambda out: out.delete(kinds.POD, "a"))), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert "add it to Things.manages" in first(cluster).message
