"""Management policies, and deletion in reverse order."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, is_deleting, labels_of, owners_of
from myrmidon.fsm import (
    Controller,
    ControllerOptions,
    Done,
    Result,
    delete_children_in_reverse,
    state,
)
from myrmidon.fsm.context import Context
from myrmidon.fsm.declaration.policies import POLICY
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import FinalThings, Thing, Things, config_map, thing

MAP = kinds.CONFIG_MAP
HOUR = timedelta(hours=1)
ROLE: Json = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "role"},
    "rules": [],
}


def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply a child with an owner reference, one without, and a label of its own."""
    out.apply(config_map("child", it.spec.value))
    out.apply(ROLE, owner_refs=False)
    return Done()


def annotated(policy: str) -> Json:
    """Build a Thing with a policy annotation."""
    made = thing().to_json()
    return {**made, "metadata": {"name": "it", "annotations": {POLICY: policy}}}


@pytest.mark.parametrize("by", ["annotation", "option"])
def test_an_observed_object_gets_a_status_and_nothing_else(by: str) -> None:
    """States run, and the condition says what would be written.

    No child and no finalizer is written.
    """
    options: dict[str, Any] = {"policy": "observe"} if by == "option" else {}
    with Harness(FinalThings(act, prune=True, **options)) as cluster:
        cluster.apply(thing() if by == "option" else annotated("observe"))
        cluster.advance(HOUR)

        first = cluster.condition(Thing, "it", "First")
        assert first is not None
        assert (first.status, first.reason) == ("False", "ObserveOnly")
        assert "it would create ConfigMap default/child, create ClusterRole" in first.message
        assert {one.path.rsplit("/", 1)[-1] for one in cluster.writes} == {"status"}
        assert not cluster.require(Thing, "it").metadata.get("finalizers")

        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None


def test_an_observed_object_is_ready_while_its_children_are_as_declared() -> None:
    """A changed child is reported and left as it is; so is one that would be pruned."""

    def one(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply_all(config_map(name, it.spec.value) for name in ["child", "more"][: it.spec.size])
        return Done()

    with Harness(Things(one, prune=True), actors=()) as cluster:
        cluster.apply(thing(size=2))
        cluster.settle()
        cluster.patch(Thing, "it", {"metadata": {"annotations": {POLICY: "observe"}}})
        cluster.settle()
        assert cluster.ready(Thing, "it")
        cluster.at_rest()

        cluster.patch(Thing, "it", {"spec": {"size": 1}})
        cluster.settle()
        assert cluster.get(MAP, "more") is not None, "not pruned"
        cluster.patch(MAP, "child", {"data": {"value": "theirs"}})
        cluster.step()
        first = cluster.condition(Thing, "it", "First")
        assert first is not None
        assert "it would patch ConfigMap default/child" in first.message
        assert cluster.require(MAP, "child")["data"] == {"value": "theirs"}

        cluster.patch(Thing, "it", {"metadata": {"annotations": {POLICY: None}}})
        cluster.settle()
        assert cluster.require(MAP, "child")["data"] == {"value": "a"}
        assert cluster.get(MAP, "more") is None


@pytest.mark.parametrize("by", ["annotation", "option"])
@pytest.mark.parametrize("controller", [Things, FinalThings])
def test_the_children_of_an_orphaning_object_outlive_it(by: str, controller: Any) -> None:
    """They lose the owner reference and the tracking label; no finalizer state runs."""
    options: dict[str, Any] = {"policy": "orphan"} if by == "option" else {}
    with Harness(controller(act, **options)) as cluster:
        cluster.apply(thing() if by == "option" else annotated("orphan"))
        cluster.settle()
        assert owners_of(cluster.require(MAP, "child"))
        cluster.at_rest()

        cluster.delete(Thing, "it")
        cluster.settle()
        cluster.advance(HOUR)
        assert cluster.get(Thing, "it") is None
        child, role = cluster.require(MAP, "child"), cluster.require(kinds.CLUSTER_ROLE, "role")
        assert not owners_of(child)
        assert not is_deleting(child)
        assert not labels_of(role)


def test_an_unknown_policy_stops_the_pass_and_is_reported() -> None:
    """A typing error must not be taken for the default."""
    with Harness(FinalThings(act)) as cluster:
        cluster.apply(annotated("obsrve"))
        cluster.settle()

        ready = cluster.condition(Thing, "it")
        assert ready is not None
        assert ready.reason == "InvalidObject"
        assert "is 'obsrve', which is not one of manage, observe, orphan" in ready.message
        assert cluster.get(MAP, "child") is None

        cluster.patch(Thing, "it", {"metadata": {"annotations": {POLICY: "manage"}}})
        cluster.settle()
        assert cluster.ready(Thing, "it")


class Reversing(Controller[Thing]):
    """Deletes its children in reverse order."""

    manages: ClassVar[tuple[Any, ...]] = (MAP, kinds.SECRET, kinds.SERVICE_ACCOUNT)
    options = ControllerOptions(prune=True)
    emptied = delete_children_in_reverse(finalizer=True)

    @state(initial=True, condition="First", then="second")
    def first(self, thing: Thing, out: OutputSet) -> Result:
        """Apply an account and two ConfigMaps."""
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "account"}}
        out.apply({**account, "metadata": {"name": "account", "finalizers": ["example.com/hold"]}})
        out.apply_all(config_map(name) for name in ("one", "two"))
        return Done()

    @state(condition="Second")
    def second(self, thing: Thing, out: OutputSet) -> Result:
        """Apply a Secret, which another finalizer holds."""
        meta = {"name": "key", "finalizers": ["example.com/hold"]}
        out.apply({"apiVersion": "v1", "kind": "Secret", "metadata": meta})
        return Done()


def test_o5_children_are_deleted_in_reverse_order() -> None:
    """Each group is gone before the next one is deleted."""
    with Harness(Reversing()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.advance(HOUR)
        assert is_deleting(cluster.require(kinds.SECRET, "key"))
        assert not is_deleting(cluster.require(MAP, "one"))
        assert not is_deleting(cluster.require(kinds.SERVICE_ACCOUNT, "account"))

        cluster.patch(kinds.SECRET, "key", {"metadata": {"finalizers": None}})
        cluster.advance(HOUR)
        assert cluster.get(MAP, "one") is None
        assert cluster.get(MAP, "two") is None
        assert is_deleting(cluster.require(kinds.SERVICE_ACCOUNT, "account"))

        cluster.patch(kinds.SERVICE_ACCOUNT, "account", {"metadata": {"finalizers": None}})
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        deletes = [
            one.path.rsplit("/", 1)[-1] for one in cluster.writes if one.request.method == "DELETE"
        ]
        assert deletes[0] == "key"
        assert deletes[-1] == "account"
        assert len(deletes) == 4, "none is sent twice"
