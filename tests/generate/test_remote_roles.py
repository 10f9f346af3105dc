"""The roles of a controller that uses a remote cluster: one set for each cluster."""

import pytest
import yaml

from myrmidon.api.objects import kinds
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.main import main
from myrmidon.fsm import Controller, Done, Reads, Result, state
from myrmidon.fsm.context import Context
from myrmidon.fsm.remote_clusters import clusters_of
from myrmidon.generate import Packaging, files
from myrmidon.generate.manifests.rbac import CLUSTER, Target, remote_rights_of, rights_of, roles
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.generate.remote_scale import Narrow
from tests.runtime.things import Thing, config_map, thing

EDGE = kinds.CONFIG_MAP.at("edge")


class Spread(Controller[Thing]):
    """One child on another cluster."""

    manages = (EDGE,)
    reads = (Reads(kinds.SECRET.at("edge"), everywhere=True),)

    @state(initial=True, condition="Spread")
    def spread(self, it: Thing, out: OutputSet, ctx: Context) -> Result:
        """The child exists."""
        out.apply(config_map(it.name), cluster="edge")
        return Done()


def rules(cluster: str) -> dict[str, list[str]]:
    """Return the verbs of each resource in the ClusterRole for a cluster."""
    (role,) = roles([Spread], "demo", cluster)
    return {resource: rule["verbs"] for rule in role["rules"] for resource in rule["resources"]}


def test_each_cluster_gets_the_rights_for_its_own_kinds() -> None:
    """The parent's finalizer is written at home; the child is created and deleted remotely."""
    home, edge = rules(""), rules("edge")
    assert "configmaps" not in home
    assert "patch" in home["things"]
    assert "things/finalizers" not in home
    assert set(edge) == {"configmaps", "secrets"}
    assert {"get", "list", "watch", "create", "patch", "delete"} <= set(edge["configmaps"])
    assert {"list", "watch"} <= set(edge["secrets"]) <= {"get", "list", "watch"}
    assert clusters_of(Spread) == ("edge",)


def test_the_generated_roles_suffice_on_both_clusters() -> None:
    """From the first write to the deletion."""
    packaging = Packaging(
        name="demo", namespace="demo-system", image="demo", target=(".",), cluster="edge"
    )
    edge = ApiServer(rbac=True)
    for text in files("rbac", [Spread], packaging).values():
        for document in yaml.safe_load_all(text):
            assert not edge.create(document)
    account = User("system:serviceaccount:demo-system:demo")
    remotes = {"edge": LocalTransport(edge, user=account)}
    with Harness(Spread(), remotes=remotes, run_as="generated-role") as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.list(EDGE) == []
        assert not [one for one in cluster.transport.log if one.status == 403]


def test_a_cluster_that_no_controller_uses_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The error lists the known names."""
    target = "tests.generate.test_remote_roles:Spread"
    assert main(["generate", "rbac", target, "--cluster", "moon"]) == 2
    assert "(they use: edge)" in capsys.readouterr().err
    assert main(["generate", "rbac", target, "--cluster", "edge"]) == 0
    assert "leases" not in capsys.readouterr().out


def test_shapes_and_subresources_count_on_a_remote_cluster() -> None:
    """Namespaces of a kind, a kind that is not cached, and a scale there."""
    rights = remote_rights_of([Narrow], "edge")
    assert set(rights.granted["shop"]) == {Target("", "configmaps")}
    everywhere = rights.granted[CLUSTER]
    assert {one.resource for one in everywhere} == {"deployments", "deployments/scale", "secrets"}
    assert everywhere[Target("apps", "deployments/scale")] == {"patch"}
    assert everywhere[Target("", "secrets")] == {"get"}
    home = rights_of([Narrow]).granted[CLUSTER]
    assert not [one for one in home if one.resource in ("deployments/scale", "secrets")]
