"""Controllers of built-in kinds and of kinds that other projects define."""

from datetime import timedelta
from typing import Any, ClassVar

import orjson
import pytest
from kubernetes_asyncio.client import V1Namespace, V1ObjectMeta

from myrmidon.api import HttpRequest, Kind, Model, Resource, Status, Unstructured
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, annotations_of
from myrmidon.fsm import Controller, ControllerOptions, Done, Failed, Result, Wait, state
from myrmidon.fsm.context import Context
from myrmidon.runtime import ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Crash, Harness, Script, is_write

TEAM = "example.com/team"
RECORD = "status.myrmidon.dev/namespace"
FAR = "far"


def quota(namespace: str, name: str = "quota") -> Json:
    """Build the child of a namespace, inside it."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"hard": {"pods": "10"}},
    }


def namespace(name: str = "shop", **labels: str) -> Json:
    """A namespace with a team."""
    labels = {TEAM: "red", **labels}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels},
    }


class Quotas(Controller[Unstructured], kind=kinds.NAMESPACE):
    """Gives a quota to each namespace of a team."""

    manages: ClassVar[tuple[Any, ...]] = (kinds.RESOURCE_QUOTA,)
    options = ControllerOptions(prune=True)

    @state(initial=True, condition="Limited")
    def limited(self, space: Unstructured, out: OutputSet) -> Result:
        """It has a quota."""
        if TEAM not in space.labels:
            return Done()
        if space.labels[TEAM] == "late":
            return Wait("Late", "the team is late")
        if space.labels[TEAM] == "broken":
            return Failed("Broken", "the team is broken")
        out.apply(quota(space.name))
        return Done()


class Noted(Quotas):
    """Keeps its conditions in an annotation."""

    options = ControllerOptions(prune=True, conditions="annotation")


class Remote(Controller[V1Namespace]):
    """Puts a ConfigMap into another namespace, tracked by a label instead of an owner reference."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True)
    def copied(self, space: V1Namespace, out: OutputSet) -> Result:
        """Its ConfigMap is in the other namespace."""
        if space.metadata.labels.get(TEAM) == "red":
            meta = {"name": space.metadata.name, "namespace": FAR}
            child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
            out.apply(child, owner_refs=False)
        return Done()


class RemotePruned(Remote):
    """Deletes what it no longer applies."""

    options = ControllerOptions(prune=True)


def bodies(cluster: Harness) -> list[tuple[str, str]]:
    """Return method and path of all writes."""
    return [(one.request.method, one.request.path) for one in cluster.writes]


# ------------------------------------------------------------------- conditions that are off


def test_a_namespace_is_reconciled_without_writing_to_it() -> None:
    """No finalizer, no status, no annotation: the only write is the child, with an owner."""
    with Harness(Quotas()) as cluster:
        cluster.apply(namespace())
        cluster.settle()

        assert bodies(cluster) == [("POST", "/api/v1/namespaces/shop/resourcequotas")]
        child = cluster.require(kinds.RESOURCE_QUOTA, "quota", "shop")
        (owner,) = child["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Namespace", "shop", True)
        parent = cluster.require(kinds.NAMESPACE, "shop")
        assert "finalizers" not in parent["metadata"]
        assert "conditions" not in parent["status"]
        assert cluster.ready(kinds.NAMESPACE, "shop")
        cluster.at_rest()
        cluster.restart()
        cluster.at_rest()


def test_pruning_finds_children_by_their_owner() -> None:
    """No record of them is needed, also after a restart."""
    with Harness(Quotas()) as cluster:
        cluster.apply(namespace())
        cluster.settle()
        cluster.restart()
        cluster.patch(kinds.NAMESPACE, "shop", {"metadata": {"labels": {TEAM: None}}})
        cluster.settle()

        assert cluster.get(kinds.RESOURCE_QUOTA, "quota", "shop") is None


@pytest.mark.parametrize(("team", "phase"), [("late", "waiting"), ("broken", "failing")])
def test_an_object_without_conditions_shows_its_phase(team: str, phase: str) -> None:
    """In the snapshot and in ``ready``; a failure is recorded as an Event as well."""
    with Harness(Quotas(), options=ManagerOptions(seed=0, trace=True)) as cluster:
        cluster.apply(namespace(**{TEAM: team}))
        cluster.advance(timedelta(seconds=1))

        view = cluster.manager.view("Namespace", "shop")
        assert view is not None
        assert view.phase == phase
        assert not cluster.ready(kinds.NAMESPACE, "shop")
        reasons = [one["reason"] for one in cluster.list(kinds.EVENT)]
        assert ("Broken" in reasons) is (team == "broken")


# ------------------------------------------------------------------------- tracked children


def calm() -> tuple[list[tuple[str, str]], Json]:
    """Return the writes of a life without faults, and the namespace after its first step."""
    with Harness(RemotePruned(), manifests=[namespace(FAR, **{TEAM: "blue"})]) as cluster:
        cluster.apply(namespace())
        cluster.settle()
        parent: Json = cluster.require(kinds.NAMESPACE, "shop")
        cluster.delete(kinds.NAMESPACE, "shop")
        cluster.settle()
        assert cluster.get(kinds.NAMESPACE, "shop") is None
        assert cluster.get(kinds.CONFIG_MAP, "shop", FAR) is None
        return bodies(cluster), parent


def test_a_tracked_child_is_recorded_in_an_annotation_before_it_exists() -> None:
    """The writes are the finalizer, then the record, then the child."""
    writes, parent = calm()

    path = "/api/v1/namespaces/shop"
    assert writes[:3] == [
        ("PATCH", path),
        ("PATCH", path),
        ("POST", f"/api/v1/namespaces/{FAR}/configmaps"),
    ]
    assert parent["metadata"]["finalizers"] == ["myrmidon.dev/namespace"]
    assert orjson.loads(annotations_of(parent)[RECORD]) == {
        "resourceRefs": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "shop", "namespace": FAR}
        ]
    }


@pytest.mark.parametrize("acted", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, 6))
def test_a13_no_crash_leaves_a_tracked_child_behind(at: int, *, acted: bool) -> None:
    """Killed before or after any write, a new process deletes the child with its parent."""
    killer = Script({at: Crash(acted=acted)}, is_write)
    with Harness(
        RemotePruned(), manifests=[namespace(FAR, **{TEAM: "blue"})], faults=killer
    ) as cluster:
        cluster.apply(namespace())
        cluster.settle()
        if cluster.crashed:
            cluster.restart()
            cluster.settle()
        assert cluster.get(kinds.CONFIG_MAP, "shop", FAR) is not None
        cluster.delete(kinds.NAMESPACE, "shop")
        cluster.settle()
        if cluster.crashed:
            cluster.restart()
            cluster.settle()
        assert cluster.get(kinds.NAMESPACE, "shop") is None
        assert cluster.get(kinds.CONFIG_MAP, "shop", FAR) is None


def test_the_record_shrinks_when_a_tracked_child_is_pruned() -> None:
    """An empty record is removed with its annotation."""
    with Harness(RemotePruned(), manifests=[namespace(FAR, **{TEAM: "blue"})]) as cluster:
        cluster.apply(namespace())
        cluster.settle()
        cluster.patch(kinds.NAMESPACE, "shop", {"metadata": {"labels": {TEAM: "blue"}}})
        cluster.settle()

        assert cluster.get(kinds.CONFIG_MAP, "shop", FAR) is None
        assert RECORD not in annotations_of(cluster.require(kinds.NAMESPACE, "shop"))
        cluster.at_rest()


# ---------------------------------------------------------------- conditions in an annotation


def test_conditions_are_kept_in_an_annotation() -> None:
    """So is the record of all children; the status of the namespace is not touched."""
    with Harness(Noted()) as cluster:
        cluster.apply(namespace())
        cluster.settle()

        assert cluster.ready(kinds.NAMESPACE, "shop")
        limited = cluster.condition(kinds.NAMESPACE, "shop", "Limited")
        assert limited is not None
        assert limited.status == "True"
        parent = cluster.require(kinds.NAMESPACE, "shop")
        kept = orjson.loads(annotations_of(parent)[RECORD])
        assert [one["name"] for one in kept["resourceRefs"]] == ["quota"]
        assert "conditions" not in parent["status"]
        assert len([path for _, path in bodies(cluster) if "/shop" in path]) == 2
        cluster.at_rest()
        cluster.restart()
        cluster.at_rest()


def test_c2_a_condition_in_an_annotation_flips_with_its_reason() -> None:
    """As in a status; other annotations stay."""
    with Harness(Noted()) as cluster:
        cluster.apply(namespace())
        cluster.settle()
        changes = {"labels": {TEAM: "late"}, "annotations": {"example.com/note": "mine"}}
        cluster.patch(kinds.NAMESPACE, "shop", {"metadata": changes})
        cluster.advance(timedelta(seconds=5))

        ready = cluster.condition(kinds.NAMESPACE, "shop")
        assert ready is not None
        assert (ready.status, ready.reason) == ("False", "Late")
        parent = cluster.require(kinds.NAMESPACE, "shop")
        assert annotations_of(parent)["example.com/note"] == "mine"


def test_c11_a_busy_object_gets_its_annotation() -> None:
    """The patch carries no resourceVersion, so a writer in between does not prevent it."""
    met: list[int] = []

    def meddle(request: HttpRequest) -> None:
        if request.method == "PATCH" and request.path.endswith("/namespaces/shop"):
            met.append(1)
            change = {"metadata": {"labels": {"n": str(len(met))}}}
            merge = "application/merge-patch+json"
            cluster.server.request("PATCH", request.path, change, content_type=merge)

    with Harness(Noted(), faults=meddle) as cluster:
        cluster.apply(namespace())
        cluster.settle()
        assert met
        assert cluster.ready(kinds.NAMESPACE, "shop")


# ------------------------------------------------------------------- conditions in the status


class Rollouts(Controller[Unstructured], kind=kinds.DEPLOYMENT):
    """Adds a condition to Deployments."""

    options = ControllerOptions(conditions="status", ready_condition=False)

    @state(initial=True, condition="Reviewed")
    def reviewed(self, _deployment: Unstructured, _out: OutputSet) -> Result:
        """A person has looked at it."""
        return Done()


def deployment() -> Json:
    """The smallest Deployment."""
    labels = {"app": "shop"}
    pod = {"containers": [{"name": "main", "image": "shop:1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def test_c6_conditions_in_the_status_of_a_built_in_kind_stand_beside_others() -> None:
    """Only our type is written: not observedGeneration, not resourceRefs."""
    with Harness(Rollouts()) as cluster:
        cluster.apply(deployment())
        cluster.settle()

        status = cluster.require(kinds.DEPLOYMENT, "shop")["status"]
        by_type = {one["type"]: one for one in status["conditions"]}
        assert by_type["Reviewed"]["status"] == "True"
        assert "observedGeneration" not in by_type["Reviewed"]
        assert "Available" in by_type
        assert "resourceRefs" not in status
        for one in cluster.writes:
            assert set(one.body["status"]) == {"conditions"}
        cluster.at_rest()


# ------------------------------------------------------------------- kinds of other projects


CERTIFICATE = Kind("cert-manager.io", "v1", "Certificate", "certificates")


class CertificateSpec(Model):
    """A part of what the other project defines."""

    secret_name: str = ""


class CertificateStatus(Status):
    """A part of what the other project writes."""

    serial: str | None = None


class Certificate(Resource[CertificateSpec, CertificateStatus], of=CERTIFICATE):
    """A kind that another project defines."""


def definition() -> Json:
    """Return the CustomResourceDefinition that the other project installs."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "certificates.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io",
            "scope": "Namespaced",
            "names": {"kind": "Certificate", "plural": "certificates", "singular": "certificate"},
            "versions": [version],
        },
    }


class Certificates(Controller[Certificate]):
    """Copies the name of the secret into a ConfigMap."""

    manages = (kinds.CONFIG_MAP,)
    sets_status: ClassVar[bool] = False

    @state(initial=True)
    def copied(self, certificate: Certificate, out: OutputSet) -> Result:
        """The ConfigMap has it."""
        if self.sets_status:
            certificate.status.serial = "1"
        data = {"secret": certificate.spec.secret_name}
        meta = {"name": certificate.name}
        out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
        return Done()


class Meddling(Certificates):
    """Sets a status field that is not its own."""

    sets_status = True


def test_a_kind_of_another_project_is_typed_and_not_defined() -> None:
    """Its spec is read through the model; our finalizer does not use the other project's domain."""
    with Harness(Certificates(), manifests=[definition()]) as cluster:
        cluster.apply(
            {
                "apiVersion": "cert-manager.io/v1",
                "kind": "Certificate",
                "metadata": {"name": "tls"},
                "spec": {"secretName": "shop-tls"},
            }
        )
        cluster.settle()

        assert cluster.require(kinds.CONFIG_MAP, "tls")["data"] == {"secret": "shop-tls"}
        assert Certificates.finalizer() == "myrmidon.dev/certificate"
        assert len(cluster.writes) == 1


def test_a_status_field_of_another_project_is_refused() -> None:
    """Unless the controller says that it writes that status."""
    with Harness(
        Meddling(), manifests=[definition()], options=ManagerOptions(seed=0, trace=True)
    ) as cluster:
        meta = {"name": "tls"}
        cluster.apply({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": meta})
        cluster.settle()

        view = cluster.manager.view("Certificate", "default/tls")
        assert view is not None
        assert view.waiting is not None
        assert 'conditions="status"' in view.waiting.message


# ------------------------------------------------------------------------ models as objects


def test_states_get_models_of_kubernetes_asyncio() -> None:
    """They have typed metadata; a model that is applied needs neither apiVersion nor kind."""
    seen: list[V1Namespace] = []

    class Spaces(Controller[V1Namespace]):
        manages = (V1Namespace,)

        @state(initial=True)
        async def made(self, space: V1Namespace, out: OutputSet, ctx: Context) -> Result:
            seen.append(space)
            if space.metadata.name == "shop":
                child = V1Namespace(metadata=V1ObjectMeta(name="shop-child"))
                out.apply(child)
                assert isinstance(await ctx.get(V1Namespace, "shop"), V1Namespace)
                assert isinstance((await ctx.list(V1Namespace))[0], V1Namespace)
                assert isinstance(await ctx.live.get(V1Namespace, "shop"), V1Namespace)
            return Done()

    with Harness(Spaces()) as cluster:
        cluster.apply(namespace())
        cluster.settle()

        assert isinstance(cluster.get(V1Namespace, "shop-child"), V1Namespace)
        assert {type(one) for one in seen} == {V1Namespace}
        assert any(one.metadata.labels.get(TEAM) == "red" for one in seen)
        cluster.at_rest()
