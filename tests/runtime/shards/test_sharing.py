"""S1 to S6 with whole managers on one server, in virtual time.

``Fleet.advance`` checks after every quarter of a second that no slice is open in two replicas (S1).
"""

import asyncio
import json
from datetime import timedelta

import pytest

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import LeadershipLostError, UsageError
from myrmidon.fsm import Result
from myrmidon.fsm.context import Context
from myrmidon.runtime import ManagerOptions
from myrmidon.runtime.shards.slices import SLICES, slice_of
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, Lose
from tests.runtime.shards.replicas import PROGRAM, TERMS, Fleet, Replica, child, fleet
from tests.runtime.things import Thing, Things

BOUND = TERMS.lease_seconds + 2
MARGIN = TERMS.lease_seconds - TERMS.renew_seconds  # for which a write may still take effect


def apply_many(those: Fleet, count: int, prefix: str = "t") -> set[str]:
    """Create objects, and return their names."""
    names = {f"{prefix}{number}" for number in range(count)}
    for name in sorted(names):
        those.apply(name)
    return names


def test_s1_s3_replicas_share_the_objects_and_each_has_one_writer() -> None:
    """Three replicas have equal shares, in a few ranges, and all objects are reconciled once."""
    with fleet("a", "b", "c") as those:
        names = apply_many(those, 60)
        those.advance(3)

        assert sorted(len(one.member.slices) for one in those.replicas) == [85, 85, 86]
        those.check_ready(names)
        assert all(len(writers) == 1 for writers in those.writers().values())
        assert all(10 < len(one.writes) / 2 < 30 for one in those.replicas)
        assert all(len(one.member.ranges) <= 3 for one in those.replicas)


def test_s2_slices_of_a_replica_that_dies_have_an_owner_within_a_lease() -> None:
    """S2: the others take over within the lease duration and two seconds, and remove its Lease."""
    with fleet("a", "b", "c") as those:
        names = apply_many(those, 30)
        those.advance(3)
        those.replicas[0].die()
        names |= apply_many(those, 30, "later")

        assert those.until_served(BOUND) <= BOUND
        those.advance(2)
        those.check_ready(names)
        those.advance(3)
        assert len(those.members()) == 3, "the Lease of the dead member is still there"


def test_s1_a_replica_that_is_cut_off_stops_before_its_slices_are_given_away() -> None:
    """It cannot renew its Lease, so it ends; the others take over later."""
    with fleet("a", "b") as those:
        cut = those.replicas[0]
        cut.cut = True
        for number in range(20):
            those.apply(f"t{number}")
            those.advance(1)

        assert isinstance(cut.task.exception(), LeadershipLostError)
        those.check_ready({f"t{number}" for number in range(20)})
        assert those.served == SLICES


def test_s1_a_replica_that_was_paused_beyond_its_lease_writes_no_more() -> None:
    """It resumes in the middle of a pass; its loop did not run, so the fence compares the time."""
    paused: list[str] = []

    def stops(it: Thing, out: OutputSet, ctx: Context) -> Result:
        if not paused:
            paused.append(it.name)
            those.cluster.loop.jump(40.0)
        return child(it, out, ctx)

    with fleet("a", "b", controller=Things(stops)) as those:
        those.apply("it")
        those.advance(60)
        assert paused == ["it"]
        ended = [one.task.exception() for one in those.replicas if one.task.done()]
        assert {type(error) for error in ended} <= {LeadershipLostError}
        assert ended


def test_s4_a_replica_that_joins_is_given_its_share_and_no_other_slice_moves() -> None:
    """Only the slices of the new share move, and converged objects are not written again."""
    with fleet("a", "b") as those:
        names = apply_many(those, 40)
        those.advance(2)
        before = {one.name: one.member.slices for one in those.replicas}
        joined = those.start("c")
        those.advance(6)

        assert len(joined.member.slices) == 85
        kept = sum(len(before[one.name] & one.member.slices) for one in those.replicas[:2])
        assert kept == SLICES - 85
        those.advance(2)
        those.check_ready(names)
        assert joined.writes == [], "objects that converged are not written again"


def test_s5_a_handover_waits_for_the_passes_under_way() -> None:
    """The pass may write until it ends; only then does the new owner begin."""

    async def slow(it: Thing, out: OutputSet, ctx: Context) -> Result:
        await asyncio.sleep(8)  # noqa: TID251 - virtual
        return child(it, out, ctx)

    with fleet("a", controller=Things(slow)) as those:
        names = apply_many(those, 30)
        those.advance(1)
        those.start("b", Things(slow))
        those.advance(4)
        assert not those.replicas[1].member.slices
        assert len(those.replicas[0].member.slices) == SLICES / 2
        those.until_served(BOUND)
        those.advance(60)
        those.check_ready(names)
        assert those.replicas[1].writes
        assert not any(one.task.done() for one in those.replicas)


def test_s5_passes_that_do_not_end_are_cancelled_before_the_handover() -> None:
    """A pass that waits for an hour is cancelled after the renew deadline, and forgotten."""
    began: list[str] = []

    async def stuck(it: Thing, out: OutputSet, ctx: Context) -> Result:
        began.append(it.name)
        await asyncio.sleep(3600)  # noqa: TID251 - virtual
        return child(it, out, ctx)

    with fleet("a", controller=Things(stuck, workers=64)) as those:
        apply_many(those, 20)
        those.advance(1)
        assert len(began) == 20
        other = those.start("b", Things(child))
        those.advance(3)
        those.until_served(BOUND)
        assert other.member.slices
        those.advance(2)
        foreign = {name for _, name in other.writes}
        assert foreign
        first = those.replicas[0].manager.loops[0].pool.queue
        assert not {key.name for key in first.working} & foreign
        assert not any(turn.key.name in foreign for turn in first.owed())


def test_s5_a_write_without_an_answer_delays_the_handover() -> None:
    """It could take effect among the writes of the next owner."""
    lost: dict[str, float] = {}

    def lose(request: HttpRequest) -> Fault | None:
        if not request.path.endswith("/configmaps") or request.method != "POST":
            return None
        lost[json.loads(request.body or b"")["metadata"]["name"]] = those.cluster.loop.time()
        return Lose()

    with fleet("a") as those:
        those.replicas[0].line._faults = lose
        other = those.start("b")
        apply_many(those, 20)
        while not other.slices:
            those.advance(0.25)
        opened_at = those.cluster.loop.time()
        moved = {name for name in lost if slice_of(those.uid(name)) in other.slices}
        assert moved, "writes for slices that moved got no answer"
        assert all(opened_at >= lost[name] + MARGIN for name in moved)


def test_s6_what_is_not_owned_has_no_queue_entry_and_no_memory() -> None:
    """After a rebalance each queue has the own objects, and those alone."""
    with fleet("a") as those:
        apply_many(those, 30)
        those.advance(2)
        those.start("b")
        those.advance(6)
        for replica in those.replicas:
            loop = replica.manager.loops[0]
            assert loop.sharded is not None
            assert all(loop.sharded.owns(turn.key) for turn in loop.pool.queue.owed())
            known = {key for key in loop.view.own_keys() if loop.sharded.owns(key)}
            assert {turn.key for turn in loop.pool.queue.owed()} == known, (
                "they wait for their resync"
            )


def test_s6_each_replica_keeps_its_share_of_the_objects_and_their_children() -> None:
    """So memory falls with the number of replicas; after a rebalance as well."""
    with fleet("a", "b") as those:
        apply_many(those, 60)
        for name in ("c", ""):
            those.advance(BOUND + 3)
            if name:
                those.start(name)
        kept = [one.kept() for one in those.replicas]
        assert [sorted(parents) for parents, _ in kept] == [
            sorted(children) for _, children in kept
        ]
        assert sum(len(parents) for parents, _ in kept) == 60
        assert len(set().union(*(parents for parents, _ in kept))) == 60
        assert all(parents for parents, _ in kept)


def test_s2_a_replica_that_stops_hands_over_at_once() -> None:
    """It releases its Lease after its last pass, so the others do not wait."""
    with fleet("a", "b") as those:
        names = apply_many(those, 20)
        those.advance(2)
        those.replicas[0].manager.stop()
        those.advance(0.5)
        assert those.replicas[0].task.done()
        assert those.until_served(3) <= 1
        those.advance(3)
        assert len(those.replicas[1].member.slices) == SLICES
        names |= apply_many(those, 20, "later")
        those.advance(2)
        those.check_ready(names)


def test_s2_the_last_replica_leaves_its_slices_to_the_next() -> None:
    """A program that is started again does not wait for a lease that was released."""
    with fleet("a") as those:
        those.replicas[0].manager.stop()
        those.advance(1)
        those.start("b")
        those.advance(0.25)
        assert those.until_served(3) <= 3, "it was released, so nobody waits"


def test_a_rolling_update_misses_no_change() -> None:
    """New replicas join, old ones leave, objects come all the time: all become Ready."""
    with fleet("a", "b", "c") as those:
        names: set[str] = set()
        for number, old in enumerate(list(those.replicas)):
            those.start(f"new-{number}")
            names |= apply_many(those, 10, f"up{number}-")
            those.advance(4)
            old.manager.stop()
            names |= apply_many(those, 10, f"down{number}-")
            those.advance(4)
        those.advance(4)
        those.check_ready(names)
        assert all(one.task.done() and not one.task.exception() for one in those.replicas[:3])
        assert len(those.members()) == 4


def holder(those: Fleet, replica: Replica) -> str:
    """Return the name of the Lease of a replica."""
    return next(name for name in those.members() if f"-shard-{replica.name}-" in name)


@pytest.mark.parametrize("victim", ["map", "member"])
def test_s1_a_lease_that_a_person_deletes_causes_no_second_writer(victim: str) -> None:
    """The members stop, wait for the lease duration, and share the slices anew."""
    with fleet("a", "b") as those:
        name = f"{PROGRAM}-shards" if victim == "map" else holder(those, those.replicas[0])
        those.write_lease("DELETE", name)
        those.advance(5)
        those.until_served(2 * BOUND)
        assert those.served == SLICES


def test_s1_a_map_that_a_person_edits_is_not_believed() -> None:
    """Two members whose slices were swapped do not work on each other's slices at once."""
    with fleet("a", "b") as those:
        lease = those.shard_map()
        one, other = (holder(those, each) for each in those.replicas)
        said = lease["metadata"]["annotations"]["myrmidon.dev/slices"]
        swapped = said.replace(one, "?").replace(other, one).replace("?", other)
        lease["metadata"]["annotations"]["myrmidon.dev/slices"] = swapped
        those.write_lease("PUT", f"{PROGRAM}-shards", lease)
        those.advance(5)
        those.until_served(2 * BOUND)


def test_s1_a_member_whose_label_was_removed_writes_nothing_until_it_is_back() -> None:
    """The others do not see it; it restores the label with its next renewal."""
    with fleet("a", "b") as those:
        name = holder(those, those.replicas[0])
        lease = those.members()[name]
        lease["metadata"]["labels"] = {}
        those.write_lease("PUT", name, lease)
        those.advance(30)
        assert those.served == SLICES


def test_shards_by_namespace_keep_a_namespace_together() -> None:
    """All objects of a namespace have the same replica."""
    with fleet("a", "b", shard_by="namespace") as those:
        spaces = ["one-of-them", "other", "third-space", "and-more", "last"]
        assert len({slice_of(space) for space in spaces}) > 1
        for space in spaces:
            path = "/api/v1/namespaces"
            made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
            assert those.cluster.server.request("POST", path, made).status == 201
            for number in range(4):
                those.apply(f"{space}-{number}", space)
        those.advance(3)
        those.check_ready({f"{space}-{number}" for space in spaces for number in range(4)})
        writers = those.writers()
        for space in spaces:
            assert len({writers[f"{space}-{number}"][0] for number in range(4)}) == 1


def test_replicas_that_divide_the_objects_differently_do_not_work_together() -> None:
    """The second one ends with an error that says how to fix it."""
    with fleet("a") as those:
        other = those.start("b", shard_by="namespace")
        those.advance(10)
        error = other.task.exception()
        assert isinstance(error, UsageError)
        assert "--shard-by" in str(error)
        assert those.served == SLICES


def test_shards_and_leader_election_exclude_each_other() -> None:
    """One says that all replicas work, the other that one does."""
    with pytest.raises(UsageError, match="drop leader_election"):
        ManagerOptions(shards="auto", leader_election=True)


def test_a_rebalance_is_an_event_on_the_shard_map() -> None:
    """The member that changes the map records which slices moved."""
    with fleet("a", "b") as those:
        body = those._items("/api/v1/namespaces/default/events")
        events = [one for one in body if one["reason"] == "SlicesMoved"]
        assert events
        assert events[0]["involvedObject"]["name"] == f"{PROGRAM}-shards"
        assert "to myrmidon-thing" in events[0]["message"]


def test_a_replica_that_joins_and_dies_leaves_no_lease() -> None:
    """Its slices return to the other, and its Lease is deleted."""
    with fleet("a") as those:
        born = those.start("b")
        those.advance(1)
        born.die()
        those.cluster.advance(timedelta(seconds=1))
        those.advance(25)
        assert len(those.members()) == 2
        assert those.served == SLICES
