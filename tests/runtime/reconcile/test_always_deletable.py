"""W7, O8: after any change of the program, an object is deleted or says what blocks that."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from myrmidon.api import Model, Resource
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.fsm import Controller, ControllerOptions, Done, Failed, Result, state
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, Harness
from myrmidon.testing import Status as Answer
from tests.runtime.things import (
    FinalThings,
    Thing,
    Things,
    ThingStatus,
    config_map,
    events,
    thing,
)
from tests.runtime.webapps import cluster_role

OURS = "test.myrmidon.dev/thing"
COMMAND = "`myrmidon release things.test.myrmidon.dev it -n default`"
ELSEWHERE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}
MINUTE = timedelta(minutes=1)


def upgrade(cluster: Harness, controller: Controller[Any]) -> None:
    """Replace the process by one with another controller."""
    cluster._controllers = (controller,)
    cluster.restart()


def refs(cluster: Harness) -> list[str]:
    """Return the recorded references."""
    status = cluster.require(Thing, "it").raw.get("status") or {}
    return [ref["name"] for ref in status.get("resourceRefs") or ()]


def blocked(cluster: Harness) -> tuple[str, list[str]]:
    """Return the message of Ready, and the Events about a blocked deletion."""
    ready = cluster.condition(Thing, "it")
    return (ready.message if ready else ""), events(cluster, "DeletionBlocked")


def far(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply a child in another namespace."""
    out.apply(config_map("far", it.spec.value, namespace="elsewhere"), owner_refs=False)
    return Done()


def nothing(_it: Thing, _out: OutputSet, _ctx: Context) -> Result:
    """Apply no child."""
    return Done()


class Gate:
    """A server that forbids everything below some paths while the gate is closed."""

    def __init__(self, *parts: str) -> None:
        self._parts, self.closed = parts, False

    def __call__(self, request: HttpRequest) -> Fault | None:
        """Return the fault of a request."""
        listed = any(name in ("watch", "limit") for name, _ in request.query)
        if self.closed and not listed and any(part in request.path for part in self._parts):
            return Answer(403, "Forbidden")
        return None


# ------------------------------------------------------------------- namespaces narrowed


def test_a_child_outside_the_narrowed_namespaces_is_deleted() -> None:
    """It is read live, because no cache has it any more."""
    with Harness(Things(far), manifests=[ELSEWHERE]) as cluster:
        cluster.apply(thing())
        cluster.settle()
        upgrade(cluster, Things(nothing, namespaces=("default",)))
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.get(kinds.CONFIG_MAP, "far", "elsewhere") is None


def test_a_child_outside_the_narrowed_namespaces_is_pruned() -> None:
    """A12: it was managed and is no longer emitted."""
    with Harness(Things(far, prune=True), manifests=[ELSEWHERE]) as cluster:
        cluster.apply(thing())
        cluster.settle()
        upgrade(cluster, Things(nothing, namespaces=("default",), prune=True))
        cluster.settle()
        assert cluster.get(kinds.CONFIG_MAP, "far", "elsewhere") is None
        assert refs(cluster) == []
        assert cluster.ready(Thing, "it")
        cluster.at_rest()


def test_without_pruning_a_child_outside_the_namespaces_stays_recorded() -> None:
    """It still belongs to this object; no pass reads it."""
    with Harness(Things(far), manifests=[ELSEWHERE]) as cluster:
        cluster.apply(thing())
        cluster.settle()
        upgrade(cluster, Things(nothing, namespaces=("default",)))
        cluster.settle()
        assert refs(cluster) == ["far"]
        cluster.at_rest()


def test_a_child_with_a_finalizer_of_another_party_is_waited_for() -> None:
    """It is deleted live, and another party's finalizer keeps it."""
    slow = config_map("far", namespace="elsewhere", finalizers=["other.dev/slow"])

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(slow, owner_refs=False)
        return Done()

    for prune in (False, True):
        with Harness(Things(act, prune=prune), manifests=[ELSEWHERE]) as cluster:
            cluster.apply(thing())
            cluster.settle()
            upgrade(cluster, Things(nothing, namespaces=("default",), prune=prune))
            if not prune:
                cluster.delete(Thing, "it")
            cluster.advance(MINUTE)
            assert cluster.get(Thing, "it") is not None
            assert not cluster.ready(Thing, "it")
            deletes = [one for one in cluster.writes if one.request.method == "DELETE"]
            assert len(deletes) == 1
            let_go = {"metadata": {"finalizers": None}}
            cluster.server.request(
                "PATCH",
                "/api/v1/namespaces/elsewhere/configmaps/far",
                let_go,
                content_type="application/merge-patch+json",
            )
            cluster.settle()
            assert (cluster.get(Thing, "it") is None) != prune
            assert not prune or (cluster.ready(Thing, "it") and refs(cluster) == [])


@pytest.mark.parametrize("prune", [False, True])
def test_a_child_that_may_not_be_deleted_is_named_with_the_command(prune: bool) -> None:
    """The rights were removed with the namespace: condition and Event name the command."""
    gate = Gate("/namespaces/elsewhere/")
    with Harness(Things(far, prune=prune), manifests=[ELSEWHERE], faults=gate) as cluster:
        cluster.apply(thing())
        cluster.settle()
        gate.closed = True
        upgrade(cluster, Things(nothing, namespaces=("default",), prune=prune))
        cluster.advance(MINUTE)
        assert cluster.ready(Thing, "it") is not prune
        cluster.delete(Thing, "it")
        cluster.advance(MINUTE)
        message, events = blocked(cluster)
        assert "ConfigMap elsewhere/far" in message
        assert COMMAND in message
        assert len(events) == 1
        assert "ConfigMap elsewhere/far" in events[0]
        assert COMMAND in events[0]
        gate.closed = False
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.get(kinds.CONFIG_MAP, "far", "elsewhere") is None


@pytest.mark.parametrize("verb", ["apply", "delete"])
def test_an_output_outside_the_namespaces_is_refused_before_anything_is_written(verb: str) -> None:
    """No finalizer and no record is written for it; the fix is in the condition."""

    def act(it: Thing, out: OutputSet, ctx: Context) -> Result:
        if verb == "delete":
            out.delete(kinds.CONFIG_MAP, "far", "elsewhere")
            return Done()
        return far(it, out, ctx)

    with Harness(Things(act, namespaces=("default",)), manifests=[ELSEWHERE]) as cluster:
        cluster.apply(thing())
        cluster.settle()
        it = cluster.require(Thing, "it")
        assert list(it.finalizers) == []
        assert "resourceRefs" not in it.raw["status"]
        first = cluster.condition(Thing, "it", "First")
        assert first is not None
        assert first.reason == "NamespaceNotWatched"
        assert "fix: add 'elsewhere' to ControllerOptions.namespaces" in first.message
        assert [one.request.method for one in cluster.writes] == ["PATCH"]
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None


# ------------------------------------------------------------------------ its own kind


class Nested(Controller[Thing]):
    """A controller that manages its own kind."""

    manages = (Thing, kinds.CONFIG_MAP)
    name = "thing"

    def __init__(self, act: Any, **options: Any) -> None:
        self._act = act
        self.options = ControllerOptions(**options)  # type: ignore[misc]

    @state(initial=True)
    def made(self, it: Thing, out: OutputSet) -> Result:
        """Do what the test says."""
        self._act(it, out)
        return Done()


@pytest.mark.parametrize("how", [{}, {"owner_refs": False}], ids=["owned", "tracked"])
def test_an_object_is_never_its_own_child(how: Json) -> None:
    """O8: refused with a fix, before a finalizer, an owner reference or a record is written."""

    def act(it: Thing, out: OutputSet) -> None:
        out.apply({**thing(it.name, value="changed").to_json()}, **how)

    with Harness(Nested(act)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        it = cluster.require(Thing, "it")
        assert (list(it.finalizers), list(it.owner_references)) == ([], [])
        assert it.spec.value == "a"
        made = cluster.condition(Thing, "it", "Made")
        assert made is not None
        assert "fix: set its status through obj.status" in made.message
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize("declared", [False, True])
def test_an_object_that_was_made_its_own_child_can_be_deleted(prune: bool, declared: bool) -> None:
    """O8: it neither waits for itself nor prunes itself, whatever an older version recorded."""

    class Others(Nested):
        manages: ClassVar[Any] = (kinds.CONFIG_MAP,)

    kind = Nested if declared else Others
    with Harness(kind(lambda *_: None, prune=prune)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        it = cluster.require(Thing, "it")
        marks = {
            "labels": {"myrmidon.dev/parent-uid": it.uid},
            "annotations": {"myrmidon.dev/parent": "things.test.myrmidon.dev/default/it"},
            "finalizers": [OURS],
        }
        ref = {
            "apiVersion": "test.myrmidon.dev/v1",
            "kind": "Thing",
            "name": "it",
            "namespace": "default",
        }
        cluster.patch(Thing, "it", {"status": {"resourceRefs": [ref]}}, subresource="status")
        cluster.patch(Thing, "it", {"metadata": marks})
        cluster.settle()
        assert cluster.get(Thing, "it") is not None
        assert not cluster.require(Thing, "it").is_deleting
        assert refs(cluster) == []
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None


@pytest.mark.parametrize("how", [{}, {"owner_refs": False}], ids=["owned", "tracked"])
def test_children_of_the_own_kind_are_created_and_deleted(how: Json) -> None:
    """O8 forbids only the object itself; the tree is deleted with its root."""

    def act(it: Thing, out: OutputSet) -> None:
        if len(it.name) < 4:
            out.apply({**thing(f"{it.name}x").to_json()}, **how)

    with Harness(Nested(act, prune=True)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert [one.name for one in cluster.list(Thing)] == ["it", "itx", "itxx"]
        assert cluster.ready(Thing, "it")
        cluster.at_rest()
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.list(Thing) == []


# ------------------------------------------------------------------------ stricter model


class StrictSpec(Model):
    """A newer model, with a required field that old objects lack."""

    value: str = "a"
    owner: str


class StrictThing(
    Resource[StrictSpec, ThingStatus], group="test.myrmidon.dev", version="v1", kind="Thing"
):
    """A Thing of the next version."""


class StrictThings(Controller[StrictThing]):
    """The next version, without finalizer states."""

    manages = (kinds.CONFIG_MAP, kinds.CLUSTER_ROLE, kinds.SERVICE, kinds.SECRET)

    @state(initial=True, condition="First")
    def first(self, _it: StrictThing, _out: OutputSet) -> Result:
        """Nothing."""
        return Done()


class StrictFinalThings(StrictThings):
    """The next version, with finalizer states."""

    @state(finalizer=True, condition="Last")
    def last(self, _it: StrictThing, _out: OutputSet) -> Result:
        """Nothing."""
        return Done()


def wide(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply a child without an owner reference."""
    out.apply(cluster_role("wide"), owner_refs=False)
    return Done()


def test_an_object_that_no_longer_fits_its_model_is_deleted_with_its_children() -> None:
    """The finalizer was set for the children; no state has to run, so no model is needed."""
    with Harness(Things(wide)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        upgrade(cluster, StrictThings())
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.get(kinds.CLUSTER_ROLE, "wide") is None


@pytest.mark.parametrize("status", ["text", 7, {"conditions": 7}, {"conditions": [{}, None]}])
def test_an_invalid_status_does_not_block_the_deletion(status: Any) -> None:
    """Another party wrote it, and the schema allowed it.

    Deleting the child is forbidden at first.
    """
    name = "things.test.myrmidon.dev"
    gate = Gate("/clusterroles")
    with Harness(Things(wide), faults=gate) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.crash()
        crd = cluster.require(kinds.CUSTOM_RESOURCE_DEFINITION, name)
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
        cluster.patch(kinds.CUSTOM_RESOURCE_DEFINITION, name, crd)
        cluster.patch(Thing, "it", {"status": status}, subresource="status")
        cluster.delete(Thing, "it")
        gate.closed = True
        cluster.restart()
        cluster.advance(MINUTE)
        gate.closed = False
        cluster.settle()
        assert cluster.list(Thing) == []


def test_an_object_whose_finalizer_states_cannot_read_it_names_the_command() -> None:
    """They might clean up the wrong resource.

    A person repairs the object or removes the finalizer.
    """
    with Harness(FinalThings(wide)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        upgrade(cluster, StrictFinalThings())
        cluster.delete(Thing, "it")
        cluster.settle()
        ready = cluster.condition(Thing, "it")
        assert ready is not None
        assert ready.reason == "InvalidObject"
        assert "spec.owner" in ready.message
        assert COMMAND in ready.message
        event = next(one for one in cluster.list(kinds.EVENT) if one["reason"] == "InvalidObject")
        assert COMMAND in event["message"]


@pytest.mark.parametrize("controller", [FinalThings(wide), Things(wide, prune=True)])
def test_a_child_whose_record_another_party_erased_is_deleted(controller: Things) -> None:
    """A13: the index of children by parent finds it by its label."""
    with Harness(controller) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.crash()
        cluster.patch(Thing, "it", {"status": {"resourceRefs": None}}, subresource="status")
        cluster.delete(Thing, "it")
        cluster.restart()
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.get(kinds.CLUSTER_ROLE, "wide") is None


def test_a_state_that_fails_at_deletion_names_the_command() -> None:
    """Condition and Event say what blocks the deletion, and what frees the object."""
    fail = [True]

    def last(_it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        return Failed("NoAccount", "the account is closed") if fail[0] else Done()

    with Harness(FinalThings(last=last)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.advance(MINUTE)
        message, events = blocked(cluster)
        assert message == f"Last is False (NoAccount); to remove its finalizer by hand: {COMMAND}"
        assert events == [f"the account is closed; to remove its finalizer by hand: {COMMAND}"]
        fail[0] = False
        cluster.settle()
        assert cluster.get(Thing, "it") is None


# ------------------------------------------------------------------------ kinds that left


class FewerThings(Things):
    """The next version, which manages ConfigMaps only."""

    name = "thing"
    manages: ClassVar[tuple[Any, ...]] = (kinds.CONFIG_MAP,)


def near(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply a Secret with an owner reference, and one without."""
    for name, how in (("owned", True), ("tracked", False)):
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}
        out.apply(manifest, owner_refs=how)
    out.apply(cluster_role("wide"), owner_refs=False)
    return Done()


def test_children_of_a_kind_that_is_no_longer_managed_are_deleted() -> None:
    """Only the record names them."""
    with Harness(Things(near)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        upgrade(cluster, FewerThings())
        cluster.settle()
        assert sorted(refs(cluster)) == ["owned", "tracked", "wide"]
        cluster.at_rest()
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.list(kinds.SECRET) == []
        assert cluster.get(kinds.CLUSTER_ROLE, "wide") is None


def test_children_of_a_kind_that_is_no_longer_managed_are_pruned() -> None:
    """A12: with and without owner reference, within the guard, and then removed from the record."""
    with Harness(Things(near, prune=True)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        upgrade(cluster, FewerThings(prune=True, prune_max=2))
        cluster.advance(MINUTE)
        ready = cluster.condition(Thing, "it")
        assert ready is not None
        assert ready.reason == "PruneRefused"
        assert len(cluster.list(kinds.SECRET)) == 2
        upgrade(cluster, FewerThings(prune=True))
        cluster.settle()
        assert cluster.list(kinds.SECRET) == []
        assert cluster.get(kinds.CLUSTER_ROLE, "wide") is None
        assert refs(cluster) == []
        assert cluster.ready(Thing, "it")
        cluster.at_rest()


def test_a_namesake_of_a_kind_that_is_no_longer_managed_is_left_alone() -> None:
    """O4, O7: it does not name this object as its parent."""
    with Harness(Things(near, prune=True)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.restart()
        cluster.crash()
        cluster.delete(kinds.SECRET, "tracked")
        cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tracked"}})
        upgrade(cluster, FewerThings(prune=True))
        cluster.settle()
        assert [one["metadata"]["name"] for one in cluster.list(kinds.SECRET)] == ["tracked"]
        assert refs(cluster) == []


@pytest.mark.parametrize("prune", [False, True])
def test_a_kind_that_the_server_no_longer_serves_does_not_block_the_deletion(prune: bool) -> None:
    """Its objects were deleted with its definition."""
    with Harness(Things(wide, prune=prune)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        lost = {
            "apiVersion": "lost.example/v1",
            "kind": "Lost",
            "name": "a",
            "namespace": "default",
        }
        record = [*cluster.require(Thing, "it").raw["status"]["resourceRefs"], lost]
        cluster.patch(Thing, "it", {"status": {"resourceRefs": record}}, subresource="status")
        cluster.settle()
        assert ("a" in refs(cluster)) is not prune
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None


def test_a_removed_kind_that_may_not_be_deleted_is_named_with_the_command() -> None:
    """The role lost the kind together with ``manages``."""
    gate = Gate("/clusterroles", "/secrets")
    with Harness(Things(near), faults=gate) as cluster:
        cluster.apply(thing())
        cluster.settle()
        gate.closed = True
        upgrade(cluster, FewerThings())
        cluster.delete(Thing, "it")
        cluster.advance(MINUTE)
        message, events = blocked(cluster)
        assert "fix: delete it yourself, or declare its kind and namespace again" in message
        assert COMMAND in message
        assert events
        gate.closed = False
        cluster.settle()
        assert cluster.get(Thing, "it") is None
