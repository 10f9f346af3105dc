"""Actors are called for all changes that concern them, and for no others."""

from datetime import datetime
from typing import Any

import pytest

from myrmidon.apiserver.actors import Deployments, Kubelet, cluster_actors
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.definitions import DefinitionLifecycle
from myrmidon.apiserver.actors.troupe import Troupe, _concerned
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.store import Record, StoredChange

RESOURCES = (
    "configmaps", "customresourcedefinitions.apiextensions.k8s.io", "deployments.apps", "events",
    "jobs.batch", "namespaces", "persistentvolumeclaims", "pods", "replicasets.apps",
    "serviceaccounts", "statefulsets.apps",
)  # fmt: skip
OWNERS = ("", "Deployment", "ReplicaSet", "StatefulSet", "Job", "PersistentVolumeClaim", "Widget")


def change(resource: str, owner: str, *, deleted: bool) -> StoredChange:
    """Return a change of an object, with a controller of that kind."""
    meta: dict[str, Any] = {"name": "default", "namespace": "ns", "uid": "u1"}
    if owner:
        reference = {
            "kind": owner,
            "name": "o",
            "uid": "u2",
            "apiVersion": "v1",
            "controller": True,
        }
        meta["ownerReferences"] = [reference]
    claims = {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}
    value = {"kind": "Any", "apiVersion": "v1", "metadata": meta, "spec": claims}
    return StoredChange(resource, Record("ns/default", 5, value), None, deleted=deleted)


@pytest.mark.parametrize("make", [type(one) for one in cluster_actors()] + [DefinitionLifecycle])
def test_a_change_that_an_actor_is_not_told_of_would_not_have_mattered_to_it(
    make: type[Any],
) -> None:
    """Its notes are the same as if it had been told."""
    for resource in RESOURCES:
        for owner in OWNERS:
            if _concerned((make,), resource, owner):
                continue
            for deleted in (False, True):
                actor = make()
                before = repr(vars(actor))
                actor.observe(change(resource, owner, deleted=deleted))
                assert repr(vars(actor)) == before, (resource, owner, deleted)


def test_the_stand_ins_are_told_only_of_their_own_objects() -> None:
    """So a ConfigMap costs no calls of the ten others."""
    told = [type(one).__name__ for one in cluster_actors()]
    found = _concerned(tuple(map(type, cluster_actors())), "configmaps", "")
    assert [told[index] for index in found] == ["GarbageCollector", "NamespaceController"]


def test_a_subclass_that_overrides_observe_is_told_of_all_changes() -> None:
    """What its base class watches says nothing about it."""

    class Curious(Deployments):
        def observe(self, change: StoredChange) -> None:
            super().observe(change)

    class CuriousKubelet(Kubelet):
        def observe(self, change: StoredChange) -> None:
            super().observe(change)

    assert _concerned((Curious, CuriousKubelet), "configmaps", "") == (0, 1)
    assert _concerned((Deployments, Kubelet), "configmaps", "") == ()


def test_an_actor_with_a_due_time_of_its_own_acts_whenever_the_server_settles() -> None:
    """Time concerns it, not only changes."""

    class Timed(Deployments):
        acted = 0

        def due(self) -> datetime | None:
            return None

        def act(self, server: ServerAccess) -> bool:
            self.acted += 1
            return super().act(server)

    class Untimed(Deployments):
        acted = 0

        def act(self, server: ServerAccess) -> bool:
            self.acted += 1
            return super().act(server)

    timed, untimed = Timed(), Untimed()
    server = ApiServer(actors=[timed, untimed])
    before = timed.acted, untimed.acted
    server.settle()
    server.settle()
    assert (timed.acted, untimed.acted) == (before[0] + 2, before[1])
    assert Troupe([timed, untimed]).due() is None
