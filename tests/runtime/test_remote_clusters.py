"""Children and reads on a remote cluster: tracking, deletion, pruning, outages and crashes."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.errors import LeadershipLostError
from myrmidon.fsm import Done, Reads, Result
from myrmidon.fsm.context import Context
from myrmidon.runtime import ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import (
    Fault,
    FaultyTransport,
    Harness,
    Lose,
    NotSettledError,
    Refuse,
    is_write,
)
from tests.runtime.things import FinalThings, Thing, Things, config_map, thing

EDGE = kinds.CONFIG_MAP.at("edge")
SECRET = kinds.SECRET.at("edge")
MINUTE = timedelta(minutes=1)


class Spread(Things):
    """Manages ConfigMaps here and on the cluster edge, and reads Secrets there."""

    manages: ClassVar[tuple[Any, ...]] = (kinds.CONFIG_MAP, EDGE)
    reads: ClassVar[tuple[Any, ...]] = (Reads(SECRET, everywhere=True),)


class FinalSpread(FinalThings):
    """The same, with a finalizer state."""

    manages: ClassVar[tuple[Any, ...]] = (kinds.CONFIG_MAP, EDGE)


def both(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child here, and ``size`` children of the same names on the other cluster."""
    out.apply(config_map(f"{it.name}-0", it.spec.value))
    for number in range(it.spec.size):
        out.apply(config_map(f"{it.name}-{number}", it.spec.value), cluster="edge")
    return Done()


def value(cluster: Harness, kind: Any, name: str) -> str | None:
    """Return the content of a ConfigMap."""
    found = cluster.get(kind, name)
    return None if found is None else str(found["data"]["value"])


def secret(name: str) -> Json:
    """A Secret."""
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque"}


def test_a_child_on_another_cluster_is_written_tracked_and_recorded() -> None:
    """It has no owner reference, and the status names its cluster."""
    with Harness(Spread(both), remotes={"edge": ApiServer()}) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert value(cluster, kinds.CONFIG_MAP, "it-0") == value(cluster, EDGE, "it-0") == "a"
        child = cluster.require(EDGE, "it-0")["metadata"]
        assert "ownerReferences" not in child
        it = cluster.require(Thing, "it").raw
        assert child["labels"]["myrmidon.dev/parent-uid"] == it["metadata"]["uid"]
        entry = {"apiVersion": "v1", "kind": "ConfigMap", "name": "it-0", "namespace": "default"}
        assert sorted(it["status"]["resourceRefs"], key=str) == sorted(
            [entry, {**entry, "cluster": "edge"}], key=str
        )
        cluster.at_rest()
        cluster.restart()
        cluster.at_rest()


def test_a_change_of_a_remote_child_wakes_its_parent() -> None:
    """The difference is corrected, as in the home cluster."""
    with Harness(Spread(both), remotes={"edge": ApiServer()}) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(EDGE, "it-0", {"data": {"value": "other"}})
        cluster.settle()
        assert value(cluster, EDGE, "it-0") == "a"
        cluster.delete(EDGE, "it-0")
        cluster.settle()
        assert value(cluster, EDGE, "it-0") == "a"


@pytest.mark.parametrize("controller", [Spread, FinalSpread])
def test_remote_children_are_deleted_before_their_parent(controller: Any) -> None:
    """No garbage collector would delete them."""
    with Harness(controller(both), remotes={"edge": ApiServer()}) as cluster:
        cluster.apply(thing(size=3))
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.list(EDGE) == []


def test_remote_children_are_pruned() -> None:
    """Only children that are no longer emitted there; the one of the same name here stays."""
    with Harness(Spread(both, prune=True), remotes={"edge": ApiServer()}) as cluster:
        cluster.apply(thing(size=3))
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"size": 0}})
        cluster.settle()
        assert cluster.list(EDGE) == []
        assert value(cluster, kinds.CONFIG_MAP, "it-0") == "a"
        assert len(cluster.require(Thing, "it").raw["status"]["resourceRefs"]) == 1


def test_a_state_reads_another_cluster() -> None:
    """From its cache, live, and as a list; an undeclared kind is refused."""
    seen: list[Any] = []

    async def read(_it: Thing, out: OutputSet, ctx: Context) -> Result:
        seen.append(await ctx.get(kinds.SECRET, "a", cluster="edge"))
        seen.append(await ctx.live.get(SECRET, "a"))
        seen.append(await ctx.list(kinds.SECRET, cluster="edge"))
        out.delete(kinds.CONFIG_MAP, "absent", cluster="edge")
        await ctx.get(kinds.SECRET, "a")
        return Done()

    edge = ApiServer()
    assert not edge.create(secret("a"))
    with Harness(Spread(read), remotes={"edge": edge}) as cluster:
        cluster.apply(thing())
        cluster.settle()
        found, live, (listed,) = seen[:3]
        names = [one["metadata"]["name"] for one in (found, live, listed)]
        assert names == ["a", "a", "a"]
        condition = cluster.condition(Thing, "it", "First")
        assert condition is not None
        assert condition.reason == "UndeclaredRead"


def test_an_output_on_a_cluster_where_its_kind_is_not_managed_is_refused() -> None:
    """The message names the cluster."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(config_map("a"), cluster="moon")
        return Done()

    with Harness(Spread(act), remotes={"edge": ApiServer()}) as cluster:
        cluster.apply(thing())
        cluster.settle()
        condition = cluster.condition(Thing, "it", "First")
        assert condition is not None
        assert "ConfigMap (v1) on the cluster 'moon'" in condition.message


def test_an_unreachable_cluster_holds_up_only_its_own_outputs() -> None:
    """The child here is written, the reason names the cluster, and a return of it resolves all."""
    down = [True]
    edge = FaultyTransport(LocalTransport(ApiServer()), lambda _: Refuse() if down[0] else None)
    with Harness(Spread(both), remotes={"edge": edge}) as cluster:
        cluster.apply(thing())
        cluster.advance(MINUTE)
        assert value(cluster, kinds.CONFIG_MAP, "it-0") == "a"
        condition = cluster.condition(Thing, "it", "First")
        assert condition is not None
        assert condition.reason == "ClusterUnavailable"
        assert "ConfigMap@edge default/it-0" in condition.message
        down[0] = False
        cluster.advance(10 * MINUTE)
        assert cluster.ready(Thing, "it")
        down[0] = True
        cluster.delete(Thing, "it")
        cluster.advance(MINUTE)
        assert cluster.get(Thing, "it") is not None, "its child would be left behind"
        down[0] = False
        cluster.advance(10 * MINUTE)
        assert cluster.get(Thing, "it") is None
        assert cluster.list(EDGE) == []


def test_a_cluster_that_is_no_longer_declared_blocks_the_deletion_with_a_fix() -> None:
    """Its children are recorded, so they are not silently left behind."""
    with Harness(Spread(both), remotes={"edge": ApiServer()}) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster._controllers = (Things(),)
        cluster.restart()
        cluster.delete(Thing, "it")
        cluster.advance(MINUTE)
        ready = cluster.condition(Thing, "it")
        assert ready is not None
        assert "ConfigMap@edge default/it-0 is a child of this object" in ready.message
        assert "myrmidon release" in ready.message


def test_only_the_leader_writes_to_a_remote_cluster() -> None:
    """The fence is the Lease of the home cluster."""
    options = ManagerOptions(seed=0, leader_election=True, identity="one")
    with Harness(Spread(both), remotes={"edge": ApiServer()}, options=options) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=5))
        assert cluster.list(EDGE) == []
        client = cluster.manager._clients.home
        with pytest.raises(LeadershipLostError):
            cluster._wait(client.create(EDGE, config_map("x", namespace="default")))
        cluster.advance(MINUTE)
        cluster.settle()
        assert value(cluster, EDGE, "it-0") == "a"


def test_a_deletion_after_a_restart_waits_for_an_unreachable_cluster_and_reports_it() -> None:
    """Its children there cannot be listed yet, so none is assumed to be deleted."""
    down = [False]
    edge = FaultyTransport(LocalTransport(ApiServer()), lambda _: Refuse() if down[0] else None)
    with Harness(FinalSpread(both), remotes={"edge": edge}) as cluster:
        cluster.apply(thing())
        cluster.settle()
        down[0] = True
        cluster.restart()
        cluster.delete(Thing, "it")
        cluster.advance(MINUTE)
        ready = cluster.condition(Thing, "it")
        assert ready is not None
        assert "on the cluster edge could not be listed yet" in ready.message
        assert cluster.manager.metrics.panics.labels("thing").count == 0
        down[0] = False
        cluster.advance(10 * MINUTE)
        assert cluster.get(Thing, "it") is None
        assert cluster.list(EDGE) == []


def story(number: int, answer_lost: bool, prune: bool) -> int:
    """Run creation, change and deletion, with a crash at one write; return the writes."""
    count = [0]
    clusters: list[Harness] = []

    def faults(request: HttpRequest) -> Fault | None:
        if not is_write(request) or "/events" in request.path:
            return None
        count[0] += 1
        if count[0] != number:
            return None
        clusters[0].crash()
        return Lose() if answer_lost else Refuse()

    def settle(cluster: Harness) -> None:
        for _ in range(3):
            cluster.settle()
            if not cluster.crashed:
                return
            cluster.restart()

    remotes = {"edge": ApiServer()}
    with Harness(Spread(both, prune=prune), remotes=remotes, faults=faults) as cluster:
        clusters.append(cluster)
        cluster.apply(thing(size=2))
        settle(cluster)
        assert [value(cluster, EDGE, f"it-{one}") for one in (0, 1)] == ["a", "a"]
        cluster.patch(Thing, "it", {"spec": {"value": "b", "size": 1}})
        settle(cluster)
        assert value(cluster, EDGE, "it-0") == value(cluster, kinds.CONFIG_MAP, "it-0") == "b"
        assert (value(cluster, EDGE, "it-1") is None) is prune
        cluster.delete(Thing, "it")
        settle(cluster)
        assert cluster.get(Thing, "it") is None
        assert cluster.list(EDGE) == [], "a child was leaked"
        assert [
            one
            for one in cluster.list(kinds.CONFIG_MAP)
            if one["metadata"]["name"] != "kube-root-ca.crt"
        ] == []
    return count[0]


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize("answer_lost", [False, True])
def test_no_crash_leaks_a_child_on_either_cluster(answer_lost: bool, prune: bool) -> None:
    """Each write is tested twice: with and without taking effect."""
    writes = story(0, answer_lost, prune)
    assert writes >= 8
    for number in range(1, writes + 1):
        try:
            story(number, answer_lost, prune)
        except (AssertionError, NotSettledError) as error:
            error.add_note(f"crash at write {number} of {writes}")
            raise
