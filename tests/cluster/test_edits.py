"""Patches, subresources, removal of former fields and policies on a real server."""

from pathlib import Path
from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, labels_of, owners_of
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.fsm.declaration.policies import POLICY
from myrmidon.sets import OutputSet
from myrmidon.testing import LiveCluster
from tests.runtime.reconcile.test_edits import INGRESS, SERVICE, Deploying, deployment
from tests.runtime.things import Thing, config_map, thing

MAP = kinds.CONFIG_MAP


def test_patches_and_subresources_reach_the_server_once(kubeconfig: Path) -> None:
    """Status, scale and the three types of patches; afterwards nothing is sent."""
    side = {"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "b:1"}]}}}}
    operations = [
        {"op": "remove", "path": "/data/gone"},
        {"op": "replace", "path": "/data/value", "value": "z"},
    ]

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(SERVICE)
        out.apply({**SERVICE, "status": INGRESS}, subresource="status")
        out.scale(kinds.DEPLOYMENT, "theirs", replicas=0)
        out.patch(kinds.DEPLOYMENT, "theirs", side, type="strategic")
        out.patch(MAP, "theirs", operations, type="json")
        out.patch(MAP, "theirs", {"metadata": {"labels": {"a": "b"}}})
        out.label_self({"tier": "gold"})
        return Done()

    with LiveCluster(Deploying(act), kubeconfig=kubeconfig) as cluster:
        cluster.apply(deployment())
        cluster.apply(config_map("theirs"))
        cluster.apply(thing())
        cluster.settle()

        assert cluster.ready(Thing, "it")
        spec = cluster.require(kinds.DEPLOYMENT, "theirs")["spec"]
        assert spec["replicas"] == 0
        assert {one["name"] for one in spec["template"]["spec"]["containers"]} == {"a", "b"}
        child = cluster.require(kinds.SERVICE, "child")
        assert child["status"]["loadBalancer"] == INGRESS["loadBalancer"]
        assert cluster.require(MAP, "theirs")["data"] == {"value": "z"}
        assert labels_of(cluster.require(MAP, "theirs")) == {"a": "b"}
        assert cluster.require(Thing, "it").metadata["labels"] == {"tier": "gold"}
        assert not [one.answer for one in cluster.writes if one.status >= 400]
        cluster.at_rest()


def test_former_fields_are_removed_and_children_outlive_an_orphaning_parent(
    kubeconfig: Path,
) -> None:
    """The field managers of the server decide; a released child is not collected."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        whole = it.spec.size == 1
        child: Json = config_map("child", labels={"a": "1", "b": "1"} if whole else {"c": "1"})
        data: Any = {"value": "x", "taken": "x"} if whole else {"new": "x"}
        out.apply({**child, "data": data}, remove_undeclared=True)
        return Done()

    with LiveCluster(Deploying(act), kubeconfig=kubeconfig) as cluster:
        cluster.apply(thing())
        cluster.patch(Thing, "it", {"metadata": {"annotations": {POLICY: "orphan"}}})
        cluster.settle()
        cluster.patch(MAP, "child", {"data": {"taken": "theirs"}})
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"size": 2}})
        cluster.settle()
        child = cluster.require(MAP, "child")
        assert child["data"] == {"new": "x"}, "we had taken the field back"
        assert labels_of(child) == {"c": "1"}
        cluster.at_rest()

        cluster.delete(Thing, "it")
        cluster.eventually(lambda: cluster.get(Thing, "it") is None)
        assert not owners_of(cluster.require(MAP, "child"))
