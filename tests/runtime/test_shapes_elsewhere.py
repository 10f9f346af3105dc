"""Manages and Reads on remote clusters, and with namespaces selected by labels."""

from typing import Any, ClassVar

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.server import ApiServer
from myrmidon.fsm import Done, Manages, Reads, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, config_map, thing

EDGE = kinds.CONFIG_MAP.at("edge")


class Spread(Things):
    """Manages labelled ConfigMaps on the cluster edge, and reads Secrets and Services there."""

    manages: ClassVar[tuple[Any, ...]] = (kinds.CONFIG_MAP, Manages(EDGE, selector="app=shop"))
    reads: ClassVar[tuple[Any, ...]] = (
        Reads(kinds.SECRET.at("edge"), cached=False),
        kinds.SERVICE.at("edge"),
    )


class Shared(Things):
    """Manages ConfigMaps of one namespace, and Services in the namespaces of its objects."""

    manages: ClassVar[tuple[Any, ...]] = (
        Manages(kinds.CONFIG_MAP, namespaces=("shared",)),
        kinds.SERVICE,
    )


def labelled(name: str, value: str = "a") -> Json:
    """A ConfigMap with the label that the cache selects."""
    made = config_map(name, value)
    made["metadata"]["labels"] = {"app": "shop"}
    return made


def service(name: str, **labels: str) -> Json:
    """A Service."""
    metadata = {"name": name, "namespace": "default", "labels": labels}
    spec = {"ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def namespace(name: str, **labels: str) -> Json:
    """A namespace."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels},
    }


def test_a_change_of_what_was_read_on_another_cluster_wakes() -> None:
    """A read of a kind that is not cached there is sent to that cluster."""
    seen: list[tuple[bool, bool]] = []

    async def read(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
        found = await ctx.get(kinds.SERVICE, "web", cluster="edge")
        token = await ctx.get(kinds.SECRET, "token", cluster="edge")
        seen.append((found is not None, token is not None))
        return Done()

    edge = ApiServer()
    meta = {"name": "token", "namespace": "default"}
    assert not edge.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})
    with Harness(Spread(read), remotes={"edge": edge}) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert seen[-1] == (False, True)
        assert not edge.create(service("web"))
        cluster.settle()
        assert seen[-1] == (True, True)
        asked = [one for one in cluster.transport.log if one.path.endswith("/secrets")]
        assert asked == [], "a kind that is not cached is neither listed nor watched"


def test_outputs_on_another_cluster_must_match_its_selector() -> None:
    """It is refused before anything is written; the cache there would never show the child."""
    label = [False]

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(labelled(it.name) if label[0] else config_map(it.name), cluster="edge")
        return Done()

    with Harness(Spread(act), remotes={"edge": ApiServer()}) as cluster:
        cluster.apply(thing())
        cluster.settle()
        first = cluster.condition(Thing, "it", "First")
        assert first is not None
        assert first.reason == "NotSelected"
        assert cluster.list(EDGE) == []
        label[0] = True
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert len(cluster.list(EDGE)) == 1
        cluster.at_rest()


def test_patches_releases_and_deletes_by_selector_reach_the_other_cluster() -> None:
    """A released child stays there when its parent is deleted, and is no longer recorded."""
    step = ["make"]

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if step[0] in ("make", "patch"):
            for name in ("a", "b"):
                out.apply(labelled(name), cluster="edge")
        if step[0] == "patch":
            patch = {"metadata": {"annotations": {"note": "x"}}}
            out.patch(kinds.CONFIG_MAP, "a", patch, cluster="edge")
        if step[0] == "release":
            out.release(kinds.CONFIG_MAP, "a", cluster="edge")
            out.delete_all(kinds.CONFIG_MAP, {"app": "shop"}, cluster="edge")
        return Done()

    with Harness(Spread(act), remotes={"edge": ApiServer()}) as cluster:
        cluster.apply(thing())
        cluster.settle()
        for number, name in enumerate(("patch", "release")):
            step[0] = name
            cluster.patch(Thing, "it", {"spec": {"size": 2 + number}})
            cluster.settle()
            assert cluster.ready(Thing, "it"), cluster.condition(Thing, "it", "Ready")
        (left,) = cluster.list(EDGE)
        assert left["metadata"]["name"] == "a"
        assert left["metadata"]["annotations"]["note"] == "x"
        assert "myrmidon.dev/parent-uid" not in left["metadata"].get("labels", {})
        assert cluster.list(kinds.CONFIG_MAP) == []
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert len(cluster.list(EDGE)) == 1


def test_namespaces_of_a_kind_do_not_follow_the_labels() -> None:
    """A kind with namespaces of its own stays cached there, whichever namespaces match."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(config_map(it.namespace, it.spec.value, namespace="shared"), owner_refs=False)
        return Done()

    spaces = [namespace("shared", team="shop"), namespace("a", team="shop")]
    controller = Shared(act, namespace_selector="team=shop")
    with Harness(controller, manifests=spaces) as cluster:
        made = thing().to_json()
        made["metadata"]["namespace"] = "a"
        cluster.apply(made)
        cluster.settle()
        assert cluster.get(kinds.CONFIG_MAP, "a", "shared") is not None
        none = {"metadata": {"labels": {"team": None}}}
        cluster.patch(kinds.NAMESPACE, "shared", none)
        cluster.settle()
        cluster.apply(config_map("a", "other", namespace="shared"))
        cluster.settle()
        found = cluster.require(kinds.CONFIG_MAP, "a", "shared")
        assert found["data"]["value"] == "a"
        (loop,) = cluster.manager.loops
        assert loop.view.namespaces_of(kinds.SERVICE) == ("a",)
        assert loop.view.namespaces_of(kinds.CONFIG_MAP) == ("shared",)
