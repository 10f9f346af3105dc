"""Tests of Fleets: their life on both servers, and what must hold at every moment in virtual time."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from examples.fleet.controller import Fleet, Fleets, FleetSpec, Machine, Machines
from myrmidon import kinds
from myrmidon.api import HttpRequest, Json
from myrmidon.testing import Cluster, Crash, Fault, Harness, Lose, Refuse, Script, is_write
from myrmidon.testing.pytest_plugin import MakeCluster

SAMPLE = Path(__file__).parent / "sample.yaml"


# ---------------------------------------------------------------------- on both servers


def test_the_sample_becomes_ready(harness: MakeCluster) -> None:
    """Each fleet has its machines; one publishes their addresses."""
    cluster = harness(Fleets(), Machines())
    cluster.apply_file(SAMPLE)
    cluster.eventually(lambda: cluster.ready(Fleet, "web") and cluster.ready(Fleet, "batch"))
    cluster.settle()

    assert len(machines(cluster, "web")) == 3
    assert len(machines(cluster, "batch")) == 2
    addresses = cluster.require(kinds.CONFIG_MAP, "web")["data"]["addresses"].splitlines()
    assert addresses == sorted(one["status"]["address"] for one in machines(cluster, "web"))
    assert cluster.require(Fleet, "web").status.ready == 3
    cluster.at_rest()


def test_it_grows_and_shrinks(harness: MakeCluster) -> None:
    """When the size changes, the machines that stay are not touched."""
    cluster = harness(Fleets(), Machines(boot=timedelta(seconds=1)))
    cluster.apply(fleet(size=2))
    rolled_out(cluster, 2)
    first = machines(cluster)

    cluster.patch(Fleet, "web", {"spec": {"size": 4}})
    rolled_out(cluster, 4)
    cluster.patch(Fleet, "web", {"spec": {"size": 2}})
    rolled_out(cluster, 2)
    assert uids(machines(cluster)) == uids(first)

    cluster.patch(Fleet, "web", {"spec": {"size": 0}})
    rolled_out(cluster, 0)
    cluster.at_rest()


def test_a_new_image_replaces_every_machine(harness: MakeCluster) -> None:
    """Old machines are replaced by as many new ones, which have new names."""
    cluster = harness(Fleets(), Machines(boot=timedelta(seconds=1)))
    cluster.apply(fleet(size=2))
    rolled_out(cluster, 2)
    first = machines(cluster)

    cluster.patch(Fleet, "web", {"spec": {"image": "new"}})
    rolled_out(cluster, 2, "new")
    assert not uids(machines(cluster)) & uids(first)
    cluster.at_rest()


def test_a_list_that_is_not_wanted_any_more_is_pruned(harness: MakeCluster) -> None:
    """The machines stay."""
    cluster = harness(Fleets(), Machines(boot=timedelta(seconds=1)))
    cluster.apply(fleet(size=1, publish=True))
    rolled_out(cluster, 1)
    assert cluster.get(kinds.CONFIG_MAP, "web") is not None

    cluster.patch(Fleet, "web", {"spec": {"publish": False}})
    cluster.eventually(lambda: cluster.get(kinds.CONFIG_MAP, "web") is None)
    rolled_out(cluster, 1)


def test_deleting_a_fleet_deletes_its_machines(harness: MakeCluster) -> None:
    """The garbage collector deletes them, because they name the fleet as their owner."""
    cluster = harness(Fleets(), Machines(boot=timedelta(seconds=1)))
    cluster.apply(fleet(size=2))
    rolled_out(cluster, 2)
    cluster.delete(Fleet, "web")
    cluster.eventually(lambda: not machines(cluster))


# ---------------------------------------------------- at every moment, in virtual time


class Watcher:
    """Counts the machines before every request of the controllers, which may then get a fault.

    Only requests change the cluster, so nothing is missed between two counts.
    """

    def __init__(self, faults: Script) -> None:
        self.cluster: Harness | None = None
        self.faults = faults
        self.ready: list[int] = []
        self.existing: list[int] = []

    def __call__(self, request: HttpRequest) -> Fault | None:
        """Count; return the fault of this request."""
        if self.cluster is not None:
            found = [one for one in self.cluster.stored() if one["kind"] == "Machine"]
            self.ready.append(sum(map(is_up, found)))
            self.existing.append(len(found))
        return self.faults(request)


LIMITS = [(0, 1), (1, 0), (1, 1), (2, 0), (0, 3)]
FAULTS = (Crash(), Crash(acted=True), Lose(), Refuse())


@pytest.mark.parametrize(("unavailable", "surge"), LIMITS)
def test_a_replacement_keeps_its_limits(unavailable: int, surge: int) -> None:
    """At every moment enough machines are ready, and not too many exist."""
    watcher = replace(fleet(size=4, maxUnavailable=unavailable, maxSurge=surge), Script({}))

    assert min(watcher.ready) >= 4 - unavailable
    assert max(watcher.existing) <= 4 + surge


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_no_fault_breaks_the_limits(fault: Fault) -> None:
    """Each write of a replacement fails once; a process that dies is replaced after a minute."""
    number, requests = 0, 1
    while number < requests:
        number += 1
        script = Script({number: fault}, is_write)
        watcher = replace(fleet(size=2), script)
        assert min(watcher.ready) >= 2, f"with {fault} at write {number}"
        assert max(watcher.existing) <= 3, f"with {fault} at write {number}"
        requests = script.requests
    assert number > 8


def test_a_machine_that_does_not_boot_stops_the_replacement() -> None:
    """The old ones stay; the condition says what it waits for."""
    cloud = Machines()
    with Harness(Fleets(), cloud) as cluster:
        cluster.apply(fleet(size=3))
        rolled_out(cluster, 3)
        cloud.boot = timedelta(days=365)
        cluster.patch(Fleet, "web", {"spec": {"image": "new"}})
        cluster.advance(timedelta(hours=1))

        assert sorted(one["spec"]["image"] for one in machines(cluster)) == ["new", *["old"] * 3]
        said = cluster.condition(Fleet, "web", "RolledOut")
        assert said is not None
        assert (said.status, said.reason) == ("False", "RollingOut")
        assert said.message.startswith(
            "0 of 3 are current and ready, 3 are old; waiting for web-0-"
        )


def test_its_generated_role_suffices() -> None:
    """A life with the rights that `myrmidon generate rbac` gives, and no others."""
    with Harness(Fleets(), Machines(), run_as="generated-role") as cluster:
        cluster.apply(fleet(size=2, publish=True))
        rolled_out(cluster, 2)
        cluster.patch(Fleet, "web", {"spec": {"image": "new", "publish": False}})
        rolled_out(cluster, 2, "new")
        assert cluster.get(kinds.CONFIG_MAP, "web") is None


def replace(made: Fleet, faults: Script) -> Watcher:
    """Roll a fleet out, then a new image, with faults; return what was counted meanwhile."""
    watcher = Watcher(Script({}))
    with Harness(Fleets(), Machines(), faults=watcher) as cluster:
        cluster.apply(made)
        rolled_out(cluster, made.spec.size)
        watcher.cluster, watcher.faults = cluster, faults

        cluster.patch(Fleet, "web", {"spec": {"image": "new"}})
        for _ in range(30):
            cluster.advance(timedelta(seconds=2))
            if cluster.crashed:
                cluster.advance(timedelta(minutes=1))
                cluster.restart()
        rolled_out(cluster, made.spec.size, "new")
        cluster.at_rest()
        return watcher


# ----------------------------------------------------------------------------- helpers


def fleet(**spec: Any) -> Fleet:
    """Build a fleet."""
    return Fleet(name="web", spec=FleetSpec.from_wire({"image": "old", **spec}))


def rolled_out(cluster: Cluster, size: int, image: str = "old") -> None:
    """Wait until the fleet is Ready; check its machines."""
    cluster.eventually(lambda: cluster.ready(Fleet, "web"))
    cluster.settle()
    found = machines(cluster)
    assert [one["spec"]["image"] for one in found] == [image] * size
    assert all(map(is_up, found))


def machines(cluster: Cluster, of: str = "web") -> list[Json]:
    """Return the machines of a fleet."""
    return [
        one for one in cluster.list(Machine.KIND) if one["metadata"]["name"].startswith(f"{of}-")
    ]


def is_up(machine: Json) -> bool:
    """Whether a machine is ready and not being deleted."""
    conditions = (machine.get("status") or {}).get("conditions") or ()
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and "deletionTimestamp" not in machine["metadata"]


def uids(objects: list[Json]) -> set[str]:
    """Return the uids of objects."""
    return {one["metadata"]["uid"] for one in objects}
