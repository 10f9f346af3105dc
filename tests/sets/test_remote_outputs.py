"""Outputs on remote clusters: a kind on another cluster counts as another kind."""

from collections.abc import Callable

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef, kinds_by_name
from myrmidon.errors import OutputError, UndeclaredOutputError
from myrmidon.sets import OutputSet
from myrmidon.sets.ownership.owner_references import is_tracked

HERE, EDGE = kinds.CONFIG_MAP, kinds.CONFIG_MAP.at("edge")


def config_map(name: str = "a") -> Json:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def outputs(*managed: Kind) -> OutputSet:
    """The outputs of a controller that manages these kinds."""
    return OutputSet(managed, namespace="default")


def test_one_name_on_two_clusters_is_two_outputs() -> None:
    """Each is declared on its own, and the remote one has no owner reference."""
    out = outputs(HERE, EDGE)
    out.apply(config_map())
    out.apply(config_map(), cluster="edge")
    home, far = out.applied()
    assert (home.ref, far.ref) == (
        ObjectRef(HERE, "a", "default"),
        ObjectRef(EDGE, "a", "default"),
    )
    assert (is_tracked(home), is_tracked(far)) == (False, True)
    out.delete(HERE, "a", cluster="edge")
    assert [one.ref for one in out.deleted()] == [far.ref]
    assert [one.ref for one in out.applied()] == [home.ref]


@pytest.mark.parametrize("what", [EDGE, ObjectRef(EDGE, "a", "default")])
def test_a_kind_or_reference_names_its_cluster_itself(what: object) -> None:
    """Then ``cluster=`` is not needed."""
    out = outputs(EDGE)
    out.delete(what, "a")
    assert [one.ref for one in out.deleted()] == [ObjectRef(EDGE, "a", "default")]


def test_a_manifest_is_deleted_on_the_cluster_that_is_named() -> None:
    """The cluster is resolved as for an apply."""
    out = outputs(EDGE)
    out.delete(config_map(), cluster="edge")
    assert [one.ref.kind for one in out.deleted()] == [EDGE]


def test_a_kind_that_is_managed_only_on_the_other_cluster_is_refused() -> None:
    """This holds for both clusters; the message names the cluster."""
    with pytest.raises(UndeclaredOutputError):
        outputs(EDGE).apply(config_map())
    with pytest.raises(UndeclaredOutputError, match="on the cluster 'edge'"):
        outputs(HERE).apply(config_map(), cluster="edge")
    with pytest.raises(UndeclaredOutputError, match="on the cluster 'edge'"):
        outputs(HERE).delete(EDGE, "a")


def test_an_owner_on_another_cluster_is_refused() -> None:
    """The garbage collector there would delete the child."""
    with pytest.raises(OutputError, match="fix: drop owner"):
        outputs(EDGE).apply(config_map(), cluster="edge", owner=config_map("b"))


def test_kinds_are_told_apart_by_cluster() -> None:
    """Their texts and lookups differ."""
    assert (str(HERE), str(EDGE), EDGE.at("")) == ("ConfigMap", "ConfigMap@edge", HERE)
    name = ("v1", "ConfigMap")
    assert kinds_by_name((HERE, EDGE))[name] == HERE
    assert kinds_by_name((HERE, EDGE), "edge")[name] == EDGE
    assert kinds_by_name((HERE, EDGE), "moon") == {}


def test_every_output_can_be_for_another_cluster() -> None:
    """Patches, scales, status writes, releases and deletions by selector name it like a delete."""
    scaled = kinds.DEPLOYMENT.at("edge")
    out = outputs(HERE, EDGE, kinds.DEPLOYMENT, scaled)
    out.patch(HERE, "a", {"data": {"k": "v"}}, cluster="edge")
    out.scale(kinds.DEPLOYMENT, "b", replicas=2, cluster="edge")
    out.release(HERE, "c", cluster="edge")
    status = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    out.apply({**status, "status": {"replicas": 1}}, subresource="status", cluster="edge")
    out.delete_all(HERE, cluster="edge")
    assert [one.ref.kind for one in out] == [EDGE, scaled, EDGE, scaled]
    assert [rule.kind for rule in out.collections] == [EDGE]


def test_every_output_on_a_cluster_needs_the_kind_to_be_managed_there() -> None:
    """Without it they are refused, and never sent to the object of that name at home."""
    out = outputs(HERE)
    acts: list[Callable[[], None]] = [
        lambda: out.patch(HERE, "a", {"data": {}}, cluster="edge"),
        lambda: out.scale(HERE, "a", replicas=1, cluster="edge"),
        lambda: out.release(HERE, "a", cluster="edge"),
        lambda: out.delete_all(HERE, cluster="edge"),
        lambda: out.delete_all("ConfigMap", cluster="edge"),  # type: ignore[arg-type]
    ]
    for act in acts:
        with pytest.raises(UndeclaredOutputError, match="on the cluster 'edge'"):
            act()
    assert not list(out)
