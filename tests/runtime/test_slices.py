"""Reads of a replica that keeps some slices of the objects only."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.requests.shard_selectors import HASH_END, ShardField
from myrmidon.api.values.fnv import fnv1a_64
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.io.lists.slices import slices_of
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, config_map, thing

HERE = fnv1a_64("default")
OTHER = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}


def divide(cluster: Harness, field: ShardField, *ranges: tuple[int, int]) -> None:
    """Let the process keep these slices, once it has started."""
    cluster.settle()
    caches = cluster.manager._caches
    assert caches is not None
    cluster.loop.call_soon(caches.set_slices, slices_of(field, ranges))
    cluster.settle()


def shared(namespace: str) -> Any:
    """A ConfigMap that no Thing owns."""
    made = config_map("shared", "seen")
    made["metadata"]["namespace"] = namespace
    return made


def copying(namespace: str) -> Any:
    """Return a state that copies the shared ConfigMap of a namespace into its child."""

    async def copy(it: Thing, out: OutputSet, ctx: Context) -> Result:
        """Copy it."""
        found = await ctx.get(kinds.CONFIG_MAP, "shared", namespace)
        named = await ctx.list(kinds.CONFIG_MAP, namespace)
        names = [each["metadata"]["name"] for each in named]
        value = f"{found['data']['value'] if found else 'none'} {'shared' in names}"
        out.apply(config_map(f"child-of-{it.name}", value))
        return Done()

    return copy


@pytest.mark.parametrize(("field", "namespace"), [("namespace", "other"), ("uid", "default")])
def test_reads_of_objects_that_another_replica_keeps(field: ShardField, namespace: str) -> None:
    """W1: a state gets the same answers, whichever slices its process keeps."""
    with Harness(Things(copying(namespace)), manifests=[OTHER, shared(namespace)]) as cluster:
        meta = cluster.require(kinds.CONFIG_MAP, "shared", namespace)["metadata"]
        foreign = fnv1a_64(meta[field])
        divide(cluster, field, (0, foreign), (foreign + 1, HASH_END))
        view = cluster.manager.loops[0].view
        assert view.list(kinds.CONFIG_MAP, namespace) == []
        cluster.apply(thing())
        cluster.settle()
        child = cluster.require(kinds.CONFIG_MAP, "child-of-it")
        assert child["data"] == {"value": "seen True"}


def test_converged_passes_of_a_slice_send_nothing() -> None:
    """A2: dividing by namespace, an object that is absent in a namespace of ours is not asked for."""
    with Harness(Things(copying("default"))) as cluster:
        divide(cluster, "namespace", (HERE, HERE + 1))
        cluster.apply(thing())
        cluster.settle()
        sent = len(cluster.transport.log)
        cluster.patch(Thing, "it", {"metadata": {"labels": {"pass": "again"}}})
        cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "child-of-it")["data"] == {"value": "none False"}
        assert [str(one) for one in cluster.transport.log[sent:]] == []


def test_objects_of_other_slices_are_forgotten_and_not_written() -> None:
    """A slice that is given away takes its objects along; its children stay on the server."""
    with Harness(Things(copying("default"))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        before = cluster.require(kinds.CONFIG_MAP, "child-of-it")
        divide(cluster, "namespace", (HERE + 1, HASH_END))
        assert cluster.manager.loops[0].view.own_keys() == []
        assert cluster.require(kinds.CONFIG_MAP, "child-of-it") == before
        divide(cluster, "namespace", (0, HERE + 1))
        assert len(cluster.manager.loops[0].view.own_keys()) == 1
        assert cluster.require(kinds.CONFIG_MAP, "child-of-it") == before


def test_an_index_over_some_slices_is_refused() -> None:
    """D3: the server has no indexes, and a part of the answer would look like the whole of it."""

    class Indexed(Things):
        """Things that find ConfigMaps by index."""

        indexes: ClassVar[Mapping[Any, Any]] = {kinds.CONFIG_MAP: {"value": lambda _obj: ["a"]}}

    async def find(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
        """Find by index."""
        await ctx.list(kinds.CONFIG_MAP, index=("value", "a"))
        return Done()

    with Harness(Indexed(find)) as cluster:
        divide(cluster, "uid", (0, HASH_END - 1))
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=1))
        condition = cluster.condition(Thing, "it", "First")
        assert condition is not None
        assert "declare ConfigMap in reads" in condition.message
