"""Tests of Tenants, as a user of myrmidon would write them."""

from kubernetes_asyncio.client import V1NetworkPolicy, V1ResourceQuota, V1RoleBinding

from examples.tenants.controller import SIZE, TEAM, Tenants
from myrmidon import kinds
from myrmidon.testing.pytest_plugin import MakeCluster


def test_a_namespace_gets_what_its_labels_say(harness: MakeCluster) -> None:
    """Quota, roles and network policy; no status and no finalizer."""
    cluster = harness(Tenants())
    shop = cluster.add_namespace("shop")
    cluster.patch(kinds.NAMESPACE, shop, labels(team="shop-team", size="large"))
    cluster.settle()

    assert cluster.ready(kinds.NAMESPACE, shop)
    quota = cluster.get(V1ResourceQuota, "tenant", shop)
    assert quota.spec.hard["pods"] == "100"
    assert quota.metadata.owner_references[0].name == shop
    (team,) = cluster.require(V1RoleBinding, "tenant", shop).subjects
    assert team.name == "shop-team"
    assert cluster.get(V1NetworkPolicy, "tenant", shop) is not None
    assert "finalizers" not in cluster.require(kinds.NAMESPACE, shop)["metadata"]
    cluster.at_rest()

    cluster.patch(kinds.NAMESPACE, shop, labels(team="shop-team", size="small"))
    cluster.settle()
    assert cluster.require(V1ResourceQuota, "tenant", shop).spec.hard["pods"] == "10"


def test_without_a_team_it_loses_them(harness: MakeCluster) -> None:
    """Without the team label its objects are pruned; other objects in the namespace stay."""
    cluster = harness(Tenants())
    shop = cluster.add_namespace("shop")
    cluster.patch(kinds.NAMESPACE, shop, labels(team="shop-team"))
    cluster.settle()
    mine = {"name": "mine", "namespace": shop}
    cluster.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": mine})

    cluster.patch(kinds.NAMESPACE, shop, labels(team=None))
    cluster.eventually(lambda: cluster.get(V1ResourceQuota, "tenant", shop) is None)
    cluster.settle()
    assert cluster.get(V1RoleBinding, "tenant", shop) is None
    assert cluster.get(V1ResourceQuota, "mine", shop) is not None


def test_an_unknown_size_is_reported(harness: MakeCluster) -> None:
    """The state's condition reports it; for a namespace, conditions are in an annotation."""
    cluster = harness(Tenants())
    shop = cluster.add_namespace("shop")
    cluster.patch(kinds.NAMESPACE, shop, labels(team="shop-team", size="huge"))
    cluster.settle()

    assigned = cluster.condition(kinds.NAMESPACE, shop, "Assigned")
    assert assigned is not None
    assert (assigned.status, assigned.reason) == ("False", "UnknownSize")


def labels(team: str | None, size: str | None = None) -> dict[str, object]:
    """Build the change of the two labels."""
    return {"metadata": {"labels": {TEAM: team, SIZE: size}}}
