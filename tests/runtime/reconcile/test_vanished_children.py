"""A16 on the embedded server: a child is deleted by another client after each creation."""

from datetime import timedelta
from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import ApiServer, Harness, Plan, Refuse, Status, simulate
from myrmidon.testing.simulation import actions as a
from myrmidon.testing.simulation import triggers as t
from tests.runtime.reconcile.test_stalled import metric
from tests.runtime.things import (
    WAYS,
    FinalThings,
    Thing,
    Things,
    applying,
    config_map,
    events,
    first,
    thing,
)

MAP = kinds.CONFIG_MAP
PATH = "/api/v1/namespaces/default/configmaps/child"
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


class Reaper:
    """Another client, which deletes the child as soon as it sees it."""

    def __init__(self) -> None:
        self.active, self.deletions = True, 0  # it gives up after fifty, so that no test hangs
        self._there = False

    def observe(self, change: Any) -> None:
        """See each version of the ConfigMap."""
        if change.resource == "configmaps" and change.record.key.endswith("/child"):
            self._there = not change.deleted

    def act(self, server: Any) -> bool:
        """Delete the child, if it is there."""
        if not self.active or not self._there or self.deletions == 50:
            return False
        self.deletions += 1
        server.request("DELETE", PATH)
        return True

    def due(self) -> None:
        """Return None: it acts only on changes."""


def pass_time(cluster: Harness, duration: timedelta, step: timedelta = 10 * SECOND) -> None:
    """Let both sides work, step by step."""
    for _ in range(int(duration / step)):
        cluster.advance(step)


def reads_of_the_parent(cluster: Harness) -> int:
    """Return how often the controller has read the Thing ``it`` with a GET."""
    reads = (one.request for one in cluster.transport.log if one.request.method == "GET")
    return sum(1 for read in reads if read.path.partition("?")[0].endswith("/things/it"))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a16_a_child_that_is_deleted_each_time_is_created_rarely(way: dict[str, Any]) -> None:
    """Five times at once, then after 1, 2, 4, 8 and 10 minutes; the condition says why."""
    reaper = Reaper()
    with Harness(Things(applying(**way)), actors=(reaper,)) as cluster:
        cluster.apply(thing())
        pass_time(cluster, MINUTE / 2)
        assert reaper.deletions == 6
        pass_time(cluster, 16 * MINUTE)
        assert reaper.deletions == 6 + 4, "after 1, 3, 7 and 15 minutes"

        stalled = cluster.condition(Thing, "it", "Stalled")
        assert stalled is not None
        assert (stalled.status, stalled.reason) == ("True", "Stalled")
        assert stalled.message.startswith("ConfigMap default/child was deleted by another client")
        assert (first(cluster).status, first(cluster).reason) == ("False", "Stalled")
        assert not cluster.ready(Thing, "it")
        assert len(events(cluster, "Stalled")) == 1


def test_a16_the_conflict_ends_by_itself() -> None:
    """After the other client has stopped, the child is created and stays, and the condition goes."""
    reaper = Reaper()
    with Harness(Things(applying()), actors=(reaper,)) as cluster:
        cluster.apply(thing())
        pass_time(cluster, 2 * MINUTE)
        assert cluster.condition(Thing, "it", "Stalled") is not None
        reaper.active = False
        pass_time(cluster, 10 * MINUTE)
        assert cluster.get(MAP, "child") is not None
        assert cluster.condition(Thing, "it", "Stalled") is None
        assert cluster.ready(Thing, "it")
        cluster.at_rest()


def test_a_stall_is_not_counted_for_ever_after_its_parent_is_gone() -> None:
    """myrmidon_stalled_objects: no pass sees that child again."""
    reaper = Reaper()
    with Harness(Things(applying()), actors=(reaper,)) as cluster:
        cluster.apply(thing())
        cluster.advance(MINUTE)
        assert metric(cluster) == 1
        cluster.delete(Thing, "it")
        cluster.advance(60 * MINUTE)
        assert metric(cluster) == 0


def test_a16_content_that_differs_in_each_pass_is_created_rarely_as_well() -> None:
    """The state declares the time, so no two creations have the same declaration."""

    def act(_it: Thing, out: OutputSet, ctx: Context) -> Result:
        out.apply(config_map("child", ctx.now.isoformat()))
        return Done()

    reaper = Reaper()
    with Harness(Things(act), actors=(reaper,)) as cluster:
        cluster.apply(thing())
        for _ in range(60):
            cluster.advance(10 * SECOND)
        assert reaper.deletions <= 6 + 6 + 4
        assert first(cluster).reason == "Stalled"


def test_a16_an_owner_that_does_not_exist() -> None:
    """The garbage collector deletes the child each time, although the parent is there."""
    gone = {**config_map("gone"), "metadata": {"name": "gone", "namespace": "default", "uid": "1"}}

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(config_map("child"), owner=gone)
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(thing())
        pass_time(cluster, 5 * MINUTE)
        creates = [one for one in cluster.writes if one.request.method == "POST"]
        assert len(creates) <= 6 + 3
        assert first(cluster).reason == "Stalled"


# ----------------------------------------------------------- what stays as fast as it was


def test_a16_a_child_that_is_deleted_once_is_created_at_once() -> None:
    """That costs one read of the parent; a first creation and a pass without changes cost none."""
    with Harness(Things(applying())) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"metadata": {"labels": {"a": "b"}}})
        cluster.settle()
        assert reads_of_the_parent(cluster) == 0
        for number in range(1, 4):
            cluster.delete(MAP, "child")
            cluster.settle()
            assert cluster.get(MAP, "child") is not None
            assert reads_of_the_parent(cluster) == number
        assert cluster.ready(Thing, "it")
        assert events(cluster, "Stalled") == []


def test_a16_many_deleted_children_cost_one_read_of_the_parent() -> None:
    """In both states of the pass together."""

    def some(names: str) -> Any:
        def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
            for name in names:
                out.apply(config_map(f"child-{name}"))
            return Done()

        return act

    names = "abcdefghijklmnopqrst"
    with Harness(Things(some(names[:12]), some(names[12:]))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        for name in names:
            cluster.server.request("DELETE", f"{PATH}-{name}")
        cluster.settle()
        assert len(cluster.list(MAP)) >= len(names)
        assert reads_of_the_parent(cluster) == 1


def test_a_child_that_comes_and_goes_with_the_declaration_has_not_vanished() -> None:
    """It is pruned by this process, so it is created again at once, without a read, however often."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if it.spec.value == "a":
            out.apply(config_map("child"))
        return Done()

    with Harness(Things(act, prune=True)) as cluster:
        cluster.apply(thing())
        for number in range(1, 25):
            cluster.settle()
            assert (cluster.get(MAP, "child") is not None) is (number % 2 == 1)
            cluster.patch(Thing, "it", {"spec": {"value": "ab"[number % 2]}})
        assert reads_of_the_parent(cluster) == 0
        assert events(cluster, "Stalled") == []


def test_a_new_parent_of_the_same_name_costs_no_read() -> None:
    """Its children are new, too."""
    with Harness(Things(applying())) as cluster:
        for _ in range(8):
            cluster.apply(thing())
            cluster.settle()
            assert cluster.ready(Thing, "it")
            cluster.delete(Thing, "it")
            cluster.settle()
            assert cluster.get(MAP, "child") is None
        assert reads_of_the_parent(cluster) == 0


def test_a16_a_child_on_a_remote_cluster() -> None:
    """The parent is read in the home cluster, and the pauses are the same."""

    class Spread(Things):
        manages = (kinds.CONFIG_MAP, kinds.CONFIG_MAP.at("edge"))

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(config_map("child"), cluster="edge")
        return Done()

    edge = ApiServer()
    with Harness(Spread(act), remotes={"edge": edge}) as cluster:
        cluster.apply(thing())
        cluster.settle()
        for number in range(1, 10):
            edge.request("DELETE", PATH)
            cluster.advance(SECOND)
            assert reads_of_the_parent(cluster) == min(number, 5)
        assert first(cluster).reason == "Stalled"


# ------------------------------------------------------------------- parents that are gone


class Late(Things):
    """Keeps one ConfigMap for each Thing, without a finalizer."""

    def __init__(self) -> None:
        super().__init__(applying())


class LateFinal(FinalThings):
    """The same, with a finalizer."""

    def __init__(self) -> None:
        super().__init__(applying())


def creates(result: Any, name: str = "child") -> int:
    """Return how often the controller created the child."""
    return int(result.summary.get(("create", f"ConfigMap default/{name}"), 0))


LATE = Plan.of((t.write(1), a.lag("Thing", 20.0)))


def test_a16_no_child_is_created_again_for_a_parent_that_is_gone() -> None:
    """F25: the watch of the parent is late, and the garbage collector deletes the child at once."""

    async def deleted(sim: Any) -> None:
        sim.controller(Late)
        made = await sim.user.create(thing())
        await sim.settle()
        await sim.user.delete(made)
        await sim.settle()

    result = simulate(deleted, plan=LATE)
    assert result.all_fired
    assert creates(result) == 1
    result.check()


def test_a16_a_parent_of_the_same_name_gets_a_child_of_its_own() -> None:
    """The read shows another uid: nothing is created for the old parent, one child for the new one."""

    async def replaced(sim: Any) -> None:
        sim.controller(Late)
        made = await sim.user.create(thing())
        await sim.settle()
        await sim.user.delete(made)
        await sim.user.create(thing(value="b"))
        await sim.settle()
        found = sim.world.get(MAP, "child")
        assert found["data"] == {"value": "b"}

    result = simulate(replaced, plan=LATE)
    assert result.all_fired
    assert creates(result) <= 2
    result.check()


def test_a16_no_child_is_created_again_for_a_parent_that_is_being_deleted() -> None:
    """W5 with a late watch: the read shows the deletion, and the finalizer runs without a wait."""

    async def deleted(sim: Any) -> None:
        sim.controller(LateFinal)
        made = await sim.user.create(thing())
        await sim.settle()
        await sim.user.delete(made)
        await sim.user.delete({**config_map("child"), "metadata": {"name": "child"}})
        await sim.settle()

    result = simulate(deleted, plan=Plan.of((t.write(2), a.lag("Thing", 20.0))))
    assert result.all_fired
    assert creates(result) == 1
    result.check()


@pytest.mark.parametrize("fault", [Refuse(), Status(503, "ServiceUnavailable")])
def test_a16_a_parent_that_cannot_be_read_gets_no_child(fault: Any) -> None:
    """The state fails and is retried with backoff, until the server answers."""
    broken = True

    def faults(request: Any) -> Any:
        path = request.path.partition("?")[0]
        return fault if broken and request.method == "GET" and path.endswith("/things/it") else None

    with Harness(Things(applying()), faults=faults) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(MAP, "child")
        cluster.advance(MINUTE / 2)
        assert cluster.get(MAP, "child") is None
        assert first(cluster).reason == "ApiUnavailable"
        broken = False
        cluster.advance(5 * MINUTE)
        assert cluster.get(MAP, "child") is not None
        assert cluster.ready(Thing, "it")
