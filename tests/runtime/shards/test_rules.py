"""The rules of the shard map one by one: when a slice is free, believed, open and caught up with."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import UnreachableError
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.leader.election import Terms
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.shards import ShardMetrics
from myrmidon.runtime.shards.assignment import Owners
from myrmidon.runtime.shards.board import ShardBoard
from myrmidon.runtime.shards.member import ShardMember
from myrmidon.runtime.shards.shard_map import UNOWNED, map_name, with_owners, written_map
from myrmidon.runtime.shards.slices import SLICES
from myrmidon.testing import run

TERMS = Terms(15, 10, 2)
ALL = frozenset(range(SLICES))
MINE: Owners = ("m",) * SLICES
HALF: Owners = ("m",) * (SLICES // 2) + ("n",) * (SLICES // 2)


def shard_map(owners: Owners, *, epoch: int = 5, uid: str = "u1") -> Json:
    """Return the Lease as a member would have written it."""
    made = written_map(map_name("p"), "p", "uid")
    made["metadata"] |= {"uid": uid, "resourceVersion": "7"}
    return with_owners(made, owners, epoch, "uid", {"things": 3})


def member_lease(name: str = "m") -> Json:
    """Return the Lease of a member."""
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
    return {"metadata": meta, "spec": {"holderIdentity": name, "leaseDurationSeconds": 15}}


def board(owners: Owners) -> ShardBoard:
    """Return what a member knows that has read the map at time 0."""
    made = ShardBoard("m", "uid", TERMS)
    made.listed([member_lease()], shard_map(owners), 0.0, 0.0)
    return made


def test_s1_a_slice_without_an_owner_is_given_away_after_a_lease() -> None:
    """The map may be new because a person deleted the old one while members work by it."""
    found = board(UNOWNED)
    assert not found.free(14.9)
    assert found.free(15.0) == ALL


@pytest.mark.parametrize(
    "replaced",
    [shard_map(MINE, uid="u2"), shard_map(MINE, epoch=4), shard_map(HALF)],
    ids=["another object", "an older epoch", "other owners in the same epoch"],
)
def test_s1_a_map_that_was_replaced_is_not_believed(replaced: Json) -> None:
    """Its slices have no owner at once, and get one after a full lease."""
    found = board(MINE)
    assert found.owned == ALL
    found.listed([member_lease()], replaced, 1.0, 1.0)
    assert not found.owned
    assert not found.free(15.9)
    assert found.free(16.0) == ALL


class AlwaysLeads:
    """An elector whose Lease is valid for a long time."""

    leads = True
    annotations: Callable[[], dict[str, str]]

    def permit(self) -> float:
        """Return the seconds for which a write may last."""
        return 1000.0


def member(owners: Owners) -> ShardMember:
    """Return a member that has read the map and works on no slice yet."""
    elector: Any = AlwaysLeads()
    client: Any = None
    metrics, log = ShardMetrics(CollectorRegistry()), Logger("test")
    return ShardMember(
        client, "p", "default", elector, board(owners), clock=LoopClock(), log=log, metrics=metrics
    )


def test_s1_no_write_is_sent_after_the_map_could_not_be_read_for_the_renew_deadline() -> None:
    """The Lease of the member may be renewed all the time; the map may have given the slice away."""

    async def scenario() -> list[object]:
        found = member(MINE)
        await found._gain(frozenset({1}))
        began_at = asyncio.get_running_loop().time()
        answers: list[object] = []
        for seconds in (0.0, 9.9, 10.0):
            await asyncio.sleep(began_at + seconds - asyncio.get_running_loop().time())  # noqa: TID251 - virtual
            try:
                answers.append(found.permit(1) > 0)
            except UnreachableError:
                answers.append("refused")
        return answers

    assert run(scenario()) == [True, True, "refused"]


@pytest.mark.parametrize(("reached_at", "opened_at"), [(0.0, 0.0), (1.0, 1.0), (60.0, 2.0)])
def test_s5_a_slice_is_opened_when_the_caches_have_the_last_writes(
    reached_at: float, opened_at: float
) -> None:
    """Of its former owner; but it is not waited for longer than the retry period."""

    async def scenario() -> float:
        found, loop = member(MINE), asyncio.get_running_loop()
        found.has_reached = lambda versions: versions == {"things": 3} and loop.time() >= reached_at
        await found._gain(ALL)
        assert found.slices == ALL
        return loop.time()

    assert run(scenario()) == pytest.approx(opened_at, abs=0.05)


def test_s6_a_slice_is_opened_when_the_caches_hold_its_objects() -> None:
    """Otherwise children that exist would look as if they were missing."""

    async def scenario() -> tuple[list[object], float]:
        found, loop = member(MINE), asyncio.get_running_loop()
        told: list[object] = []

        async def filled() -> None:
            told.append(found.slices)
            await asyncio.sleep(3)  # noqa: TID251 - virtual

        found.keep, found.wait_kept = told.append, filled
        await found._gain(frozenset({0, 1}))
        assert found.slices == {0, 1}
        return told, loop.time()

    told, opened_at = run(scenario())
    assert told == [[(0, 2 * 2**64 // SLICES)], frozenset()]
    assert opened_at == 3.0
