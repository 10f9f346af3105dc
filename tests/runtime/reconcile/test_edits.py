"""Patches, subresources, deletion by selector and the object's own labels, end to end."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, labels_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.paths import object_path
from myrmidon.api.requests.request import Patch
from myrmidon.fsm import Controller, Done, Result, state
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, Lose
from tests.runtime.things import Act, FinalThings, Thing, Things, config_map, first, thing

MAP = kinds.CONFIG_MAP
SERVICE: Json = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "child"},
    "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
}
INGRESS: Json = {"loadBalancer": {"ingress": [{"ip": "10.0.0.1", "ipMode": "VIP"}]}}


def acting(*calls: Any) -> Act:
    """Return a state that makes these calls on its outputs."""

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        for call in calls:
            call(out)
        return Done()

    return act


def paths(cluster: Harness) -> list[str]:
    """Return the writes so far, without those to the status of the parent."""
    written = [f"{one.request.method} {one.path.split('/default/')[-1]}" for one in cluster.writes]
    return [one for one in written if not one.endswith("things/it/status")]


def meddle(cluster: Harness, kind: Kind, name: str, changes: Json) -> None:
    """Let another writer change an object while a request of the controller is under way."""
    path = object_path(ObjectRef(kind, name, "default"))
    answer = cluster.server.request("PATCH", path, changes, content_type=Patch.MERGE.value)
    assert answer.status == 200


def deployment(replicas: int = 1) -> Json:
    """Build a Deployment that another party created."""
    labels = {"app": "a"}
    pod = {"containers": [{"name": "a", "image": "a:1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "theirs"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


class Deploying(Things):
    """A controller that also writes Deployments."""

    manages: ClassVar[tuple[Any, ...]] = (*Things.manages, kinds.DEPLOYMENT)


# ------------------------------------------------------------------- status and scale


def test_a2_the_status_of_a_child_is_written_once() -> None:
    """The child is created first; a converged pass and a restart send nothing."""
    child = {**SERVICE, "status": INGRESS}
    act = acting(lambda out: out.apply(child, subresource="status"), lambda out: out.apply(SERVICE))
    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()

        assert (
            cluster.require(kinds.SERVICE, "child")["status"]["loadBalancer"]
            == INGRESS["loadBalancer"]
        )
        assert paths(cluster) == ["POST services/child", "PATCH services/child/status"]
        cluster.at_rest()
        before = len(cluster.writes)
        cluster.restart()
        cluster.settle()
        assert len(cluster.writes) == before


def test_a_status_that_the_server_completes_is_sent_once_by_each_process() -> None:
    """A default inside a list element could be a field of an earlier declaration."""
    brief = {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}
    act = acting(
        lambda out: out.apply(SERVICE),
        lambda out: out.apply({**SERVICE, "status": brief}, subresource="status"),
    )
    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        version = cluster.require(kinds.SERVICE, "child")["metadata"]["resourceVersion"]
        cluster.at_rest()
        cluster.restart()
        cluster.settle()
        cluster.at_rest()

        assert paths(cluster).count("PATCH services/child/status") == 2
        assert cluster.require(kinds.SERVICE, "child")["metadata"]["resourceVersion"] == version


def test_only_the_status_fields_that_were_set_are_written() -> None:
    """Another writer's status fields stay, and the child's spec is not touched."""
    conditions = [{"type": "Ready", "status": "True", "reason": "Up", "message": ""}]
    conditions[0]["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    act = acting(
        lambda out: out.apply(SERVICE),
        lambda out: out.apply({**SERVICE, "spec": {}, "status": INGRESS}, subresource="status"),
    )
    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(
            kinds.SERVICE, "child", {"status": {"conditions": conditions}}, subresource="status"
        )
        cluster.patch(
            kinds.SERVICE, "child", {"status": {"loadBalancer": None}}, subresource="status"
        )
        cluster.settle()

        child = cluster.require(kinds.SERVICE, "child")
        assert child["status"]["loadBalancer"] == INGRESS["loadBalancer"]
        assert child["status"]["conditions"] == conditions
        assert child["spec"]["ports"][0]["port"] == 80


def test_the_status_of_an_object_that_is_not_a_child_is_not_written() -> None:
    """O2 and O6 hold for the status, too."""
    act = acting(lambda out: out.apply({**SERVICE, "status": INGRESS}, subresource="status"))
    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(SERVICE)
        cluster.apply(thing())
        cluster.step()

        assert first(cluster).reason == "AdoptionRefused"
        assert paths(cluster) == []


@pytest.mark.law("G7")
def test_a_state_waits_for_an_object_that_it_should_patch() -> None:
    """An Edit never creates an object; the condition says what is missing."""
    act = acting(
        lambda out: out.patch(kinds.SERVICE, "child", {"metadata": {"labels": {"a": "b"}}})
    )
    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(thing())
        cluster.step()
        assert (first(cluster).reason, first(cluster).message) == (
            "ObjectMissing",
            "Service default/child does not exist; it is patched when it does",
        )

        cluster.apply(SERVICE)
        cluster.settle()
        assert first(cluster).status == "True"
        assert labels_of(cluster.require(kinds.SERVICE, "child")) == {"a": "b"}


def test_a_status_that_would_be_dropped_is_an_error() -> None:
    """The API server would drop it silently."""
    act = acting(lambda out: out.apply({**SERVICE, "status": INGRESS}))
    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()

        assert first(cluster).reason == "InvalidOutput"
        assert "which the API server would drop" in first(cluster).message
        assert 'subresource="status"' in first(cluster).message


def test_an_object_that_was_read_may_be_applied_with_its_status() -> None:
    """Its status is the one on the server, and is left out."""

    async def act(_it: Thing, out: OutputSet, ctx: Context) -> Result:
        read = await ctx.get(kinds.SERVICE, "child")
        assert read is not None
        out.apply({**read, "metadata": {**read["metadata"], "labels": {"a": "b"}}}, adopt=True)
        return Done()

    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(SERVICE)
        cluster.patch(kinds.SERVICE, "child", {"status": INGRESS}, subresource="status")
        cluster.apply(thing())
        cluster.settle()

        assert first(cluster).status == "True"
        assert labels_of(cluster.require(kinds.SERVICE, "child")) == {"a": "b"}


def test_a_deployment_is_scaled_through_its_subresource() -> None:
    """It need not be a child; the cache has the new number at once, and nothing is sent twice."""
    seen: list[int] = []

    async def look(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
        theirs = await ctx.get(kinds.DEPLOYMENT, "theirs")
        assert theirs is not None
        seen.append(theirs["spec"]["replicas"])
        return Done()

    act = acting(lambda out: out.scale(kinds.DEPLOYMENT, "theirs", replicas=3))
    with Harness(Deploying(act, look), actors=()) as cluster:
        cluster.apply(deployment())
        cluster.apply(thing())
        cluster.settle()

        assert seen[0] == 3
        assert paths(cluster) == ["PATCH deployments/theirs/scale"]
        assert not cluster.require(kinds.DEPLOYMENT, "theirs")["metadata"].get("ownerReferences")
        assert not cluster.require(Thing, "it").status.resource_refs
        cluster.at_rest()


# ---------------------------------------------------------------------------- patches

CONTAINER = {"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "b:1"}]}}}}


@pytest.mark.law("G7")
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("merge", {"spec": {"paused": True}}),
        ("json", [{"op": "add", "path": "/spec/paused", "value": True}]),
        ("strategic", CONTAINER),
        ("strategic", {"spec": {"paused": True}}),
    ],
)
def test_a2_a_patch_is_sent_while_it_has_an_effect(kind: Any, body: Any) -> None:
    """It is sent once, and again after a change of its fields, but not of the status."""
    act = acting(lambda out: out.patch(kinds.DEPLOYMENT, "theirs", body, type=kind))
    with Harness(Deploying(act), actors=()) as cluster:
        cluster.apply(deployment())
        cluster.apply(thing())
        cluster.settle()
        after = cluster.require(kinds.DEPLOYMENT, "theirs")["spec"]
        assert len(paths(cluster)) == 1
        names = [one["name"] for one in after["template"]["spec"]["containers"]]
        assert after.get("paused") or names == ["b", "a"]
        cluster.at_rest()

        cluster.patch(kinds.DEPLOYMENT, "theirs", {"status": {"replicas": 1}}, subresource="status")
        cluster.patch(Thing, "it", {"spec": {"size": 2}})
        cluster.settle()
        assert len(paths(cluster)) == 1, "the content has not changed"

        cluster.apply(deployment())
        pod = {"template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}}
        cluster.patch(kinds.DEPLOYMENT, "theirs", {"spec": {"paused": None, **pod}})
        cluster.patch(Thing, "it", {"spec": {"size": 3}})
        cluster.settle()
        assert len(paths(cluster)) == 2
        assert cluster.require(kinds.DEPLOYMENT, "theirs")["spec"] == after


def test_a_json_patch_with_a_conflict_is_decided_again() -> None:
    """It tests the version that it was decided on; the second decision uses a live read."""
    changes = iter(["b"])

    def race(request: Any) -> None:
        if request.method == "PATCH" and request.path.endswith("configmaps/theirs"):
            for value in changes:
                meddle(cluster, MAP, "theirs", {"data": {"other": value}})

    operations = [{"op": "replace", "path": "/data/value", "value": "z"}]
    act = acting(lambda out: out.patch(MAP, "theirs", operations, type="json"))
    with Harness(Things(act), actors=(), faults=race) as cluster:
        cluster.apply(config_map("theirs"))
        cluster.apply(thing())
        cluster.settle()

        assert cluster.require(MAP, "theirs")["data"] == {"value": "z", "other": "b"}
        assert len(paths(cluster)) == 2
        cluster.at_rest()


@pytest.mark.law("G7")
def test_a_json_patch_that_grows_the_object_is_an_error() -> None:
    """It would append an entry in every pass; the fix is a test operation."""
    append = {"op": "add", "path": "/spec/ports/-", "value": {"port": 81, "name": "b"}}
    act = acting(lambda out: out.patch(kinds.SERVICE, "child", [append], type="json"))
    with Harness(Things(act), actors=()) as cluster:
        cluster.apply({**SERVICE, "spec": {"ports": [{"port": 80, "name": "a"}]}})
        cluster.apply(thing())
        cluster.settle()

        assert first(cluster).reason == "InvalidOutput"
        assert "changes its own result" in first(cluster).message
        assert len(cluster.require(kinds.SERVICE, "child")["spec"]["ports"]) == 1


def test_a9_after_a_lost_response_a_patch_is_decided_on_a_live_read() -> None:
    """The live read shows whether it took effect."""
    lost = iter([True])

    def lose(request: Any) -> Any:
        if request.path.endswith("configmaps/theirs") and request.method == "PATCH":
            return Lose() if next(lost, False) else None
        return None

    act = acting(lambda out: out.patch(MAP, "theirs", {"data": {"value": "z"}}))
    with Harness(Things(act), actors=(), faults=lose) as cluster:
        cluster.apply(config_map("theirs"))
        cluster.apply(thing())
        cluster.settle()

        assert cluster.require(MAP, "theirs")["data"] == {"value": "z"}
        assert len(paths(cluster)) == 1, "it had taken effect"


def test_a15_two_writers_of_a_status_are_stalled() -> None:
    """A stall about a status is noticed like one about a spec."""
    act = acting(
        lambda out: out.apply(SERVICE),
        lambda out: out.apply({**SERVICE, "status": INGRESS}, subresource="status"),
    )
    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        for _ in range(8):
            cluster.patch(
                kinds.SERVICE, "child", {"status": {"loadBalancer": None}}, subresource="status"
            )
            cluster.step()

        assert first(cluster).reason == "Stalled"
        assert "status.loadBalancer" in first(cluster).message


# ---------------------------------------------------------------------------- deletes


def test_a_delete_by_selector_spares_objects_of_others() -> None:
    """Objects without a parent stay, and so do objects that the state applies by name."""
    red = {"colour": "red"}

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if it.spec.value == "a":
            out.apply_all(config_map(name, labels=red) for name in ("one", "two", "three"))
            out.apply(config_map("blue", labels={"colour": "blue"}))
        else:
            out.delete_all(MAP, selector=red)
            out.apply(config_map("three", labels=red))
        return Done()

    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(config_map("stranger", labels=red))
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()

        left = {obj["metadata"]["name"] for obj in cluster.list(MAP)}
        assert left == {"three", "blue", "stranger"}
        assert sorted(paths(cluster)[-2:]) == ["DELETE configmaps/one", "DELETE configmaps/two"]
        cluster.at_rest()


def test_a_delete_by_selector_in_a_namespace_that_is_not_watched_is_an_error() -> None:
    """No object would be found there."""
    act = acting(lambda out: out.delete_all(MAP, namespace="other"))
    with Harness(Things(act, namespaces=("default",)), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()

        assert first(cluster).reason == "NamespaceNotWatched"


def test_a_delete_by_selector_can_delete_objects_without_a_parent() -> None:
    """With adopt=True; an object of another parent stays in any case."""
    theirs = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    act = acting(lambda out: out.delete_all(MAP, adopt=True))
    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(config_map("loose"))
        cluster.apply(config_map("owned", ownerReferences=[theirs]))
        cluster.apply(thing())
        cluster.settle()

        assert {obj["metadata"]["name"] for obj in cluster.list(MAP)} == {"owned"}


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
def test_the_propagation_of_a_delete(propagation: Any) -> None:
    """The request has the declared propagation policy."""
    act = acting(lambda out: out.delete(MAP, "child", propagation=propagation, adopt=True))
    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(config_map("child"))
        cluster.apply(thing())
        cluster.step()

        (sent,) = [one for one in cluster.writes if one.request.method == "DELETE"]
        assert sent.body["propagationPolicy"] == propagation


# ------------------------------------------------------------- labels of the object itself


def test_an_object_gets_labels_and_annotations_from_its_own_states() -> None:
    """One write for both, none if they are there, no further pass; None removes."""
    passes: list[str] = []

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        passes.append(it.spec.value)
        out.label_self({"tier": it.spec.value if it.spec.value != "none" else None})
        out.annotate_self({"example.com/size": str(it.spec.size)})
        return Done()

    with Harness(Things(act), actors=()) as cluster:
        cluster.apply({**thing().to_json(), "metadata": {"name": "it", "labels": {"own": "x"}}})
        cluster.settle()
        it = cluster.require(Thing, "it")
        assert it.metadata["labels"] == {"own": "x", "tier": "a"}
        assert it.metadata["annotations"] == {"example.com/size": "1"}
        assert paths(cluster) == ["PATCH things/it"]
        assert passes == ["a"], "its own write does not wake it"
        assert cluster.ready(Thing, "it")

        cluster.patch(Thing, "it", {"spec": {"value": "none"}})
        cluster.settle()
        assert cluster.require(Thing, "it").metadata["labels"] == {"own": "x"}
        cluster.at_rest()


def test_a_change_in_the_response_to_a_label_write_is_not_missed() -> None:
    """The patch carries no version, so the response may have a spec that no state has seen."""
    seen: list[int] = []
    changes = iter([7])

    def race(request: Any) -> None:
        if request.method == "PATCH" and request.path.endswith("things/it"):
            for size in changes:
                meddle(cluster, Thing.KIND, "it", {"spec": {"size": size}})

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        seen.append(it.spec.size)
        out.label_self({"a": "b"})
        return Done()

    with Harness(Things(act), actors=(), faults=race) as cluster:
        cluster.apply(thing())
        cluster.settle()

        assert seen[-1] == 7
        assert cluster.ready(Thing, "it")


def test_labels_and_the_finalizer_do_not_disturb_each_other() -> None:
    """The finalizer is there before the label, stays, and is removed at the end."""
    act = acting(lambda out: out.label_self({"a": "b"}))
    last = acting(lambda out: out.label_self({"a": None}))
    with Harness(FinalThings(act, last=last), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert cluster.require(Thing, "it").metadata["finalizers"]
        cluster.delete(Thing, "it")
        cluster.settle()

        assert cluster.get(Thing, "it") is None


def test_the_object_itself_cannot_be_patched_in_other_fields() -> None:
    """Its spec belongs to the user."""

    class Own(Controller[Thing]):
        manages = (Thing,)

        @state(initial=True, condition="First")
        def first(self, thing: Thing, out: OutputSet) -> Result:
            """Patch the spec."""
            out.patch(thing.ref, body={"spec": {"size": 2}})
            return Done()

    with Harness(Own(), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()

        assert first(cluster).reason == "InvalidOutput"
        assert "out.label_self" in first(cluster).message


# -------------------------------------------------------------------------- releasing


@pytest.mark.parametrize("options", [{}, {"owner_refs": False}], ids=["owned", "tracked"])
def test_a_released_child_stays_when_its_parent_goes(options: Any) -> None:
    """It names no parent any more, is not recorded, and outlives the parent."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if it.spec.value == "a":
            out.apply(config_map("child"), **options)
        else:
            out.release(MAP, "child")
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        meta = cluster.require(MAP, "child")["metadata"]
        assert not meta.get("ownerReferences")
        assert not meta.get("labels")
        assert not cluster.require(Thing, "it").status.resource_refs
        cluster.at_rest()

        cluster.delete(Thing, "it")
        cluster.settle()
        cluster.advance(timedelta(minutes=5))
        assert cluster.get(MAP, "child") is not None


def test_a_reference_names_its_object() -> None:
    """An ObjectRef can be given wherever a kind and a name can."""
    out = OutputSet(namespace="default")
    ref = ObjectRef(MAP, "a", "default")
    out.patch(ref, body={"data": {"a": "b"}})
    out.scale(ObjectRef(kinds.DEPLOYMENT, "d", "default"), replicas=2)
    out.release(ref)

    assert [output.ref.name for output in out] == ["a", "d", "a"]


# ------------------------------------------------------- options of the whole controller


def test_standard_labels_are_put_on_every_child() -> None:
    """The option is one of the controller."""

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(config_map("child"))
        return Done()

    with Harness(Things(act, standard_labels=True), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()

        labels = labels_of(cluster.require(MAP, "child"))
        assert labels["app.kubernetes.io/managed-by"] == "thing"
        assert labels["app.kubernetes.io/part-of"] == "it"
        cluster.at_rest()


def test_undeclared_fields_are_removed_also_after_a_restart() -> None:
    """Keys that we declared before are removed; keys that another writer set or changed stay."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        child = config_map("child", labels={"a": "1", "b": "1"} if it.spec.size == 1 else {})
        child["data"] = (
            {"value": "x", "taken": "x", "gone": "x"} if it.spec.size == 1 else {"new": "x"}
        )
        out.apply(child)
        return Done()

    with Harness(Things(act, remove_undeclared=True), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.at_rest()
        cluster.crash()
        cluster.patch(MAP, "child", {"metadata": {"labels": {"b": "2", "theirs": "1"}}})
        cluster.patch(MAP, "child", {"data": {"taken": "theirs"}})
        cluster.patch(Thing, "it", {"spec": {"size": 2}})
        cluster.restart()
        cluster.settle()

        child = cluster.require(MAP, "child")
        assert child["data"] == {"taken": "theirs", "new": "x"}
        assert labels_of(child) == {"b": "2", "theirs": "1"}
        cluster.at_rest()


def test_a_change_between_the_read_and_the_removal_is_not_lost() -> None:
    """The removal carries the version of the live read, and is decided again after a conflict."""
    changes = iter(["theirs"])

    def race(request: Any) -> None:
        if request.method == "PATCH" and request.path.endswith("configmaps/child"):
            for value in changes:
                meddle(cluster, MAP, "child", {"data": {"value": value}})

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        data = {"value": "x"} if it.spec.size == 1 else {"new": "x"}
        out.apply({**config_map("child"), "data": data}, remove_undeclared=True)
        return Done()

    with Harness(Things(act), actors=(), faults=race) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"size": 2}})
        cluster.settle()

        assert cluster.require(MAP, "child")["data"] == {"value": "theirs", "new": "x"}
        cluster.at_rest()
