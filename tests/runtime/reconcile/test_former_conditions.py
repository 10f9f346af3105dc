"""C12: conditions of renamed or removed states are removed; those of other writers stay."""

from datetime import timedelta
from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.fsm import Controller, ControllerOptions, Done, Failed, Result, Wait, state
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, Harness, Status
from tests.runtime.reconcile.test_always_deletable import upgrade
from tests.runtime.things import Thing, Things, thing

HOUR = timedelta(hours=1)
SCANNED = {"type": "Scanned", "status": "True", "reason": "Clean", "message": ""}


class Renamed(Controller[Thing]):
    """The next version: ``second`` is removed, ``first`` is renamed to ``begun``."""

    manages = Things.manages
    name = "thing"

    def __init__(self, answer: Result | None = None, **options: Any) -> None:
        self._answer = answer or Done()
        self.options = ControllerOptions(**options)  # type: ignore[misc]

    @state(initial=True)
    def begun(self, _it: Thing, _out: OutputSet) -> Result:
        """Do what the test says."""
        return self._answer


def conditions(cluster: Harness) -> list[str]:
    """Return the condition types of the object."""
    return [one["type"] for one in cluster.require(Thing, "it").raw["status"]["conditions"]]


def scan(cluster: Harness) -> None:
    """Let another controller add its condition, and repeat ours, as such controllers do."""
    known: list[Json] = cluster.require(Thing, "it").raw["status"]["conditions"]
    cluster.patch(Thing, "it", {"status": {"conditions": [*known, SCANNED]}}, subresource="status")


def gets(cluster: Harness) -> int:
    """Return how often a Thing was read live."""
    return len(
        [
            one
            for one in cluster.transport.log
            if one.request.method == "GET" and one.path.endswith("/it")
        ]
    )


@pytest.mark.parametrize(
    "answer",
    [Done(), Wait("Slow", after=HOUR), Failed("Broken", "it is", retry=False)],
    ids=["done", "waits", "fails"],
)
def test_the_first_pass_after_an_upgrade_removes_them(answer: Result) -> None:
    """Whatever the result of that pass; the condition of another writer stays as it is."""
    with Harness(Things()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        scan(cluster)
        cluster.settle()
        assert conditions(cluster) == ["First", "Second", "Ready", "Scanned"]
        upgrade(cluster, Renamed(answer))
        cluster.advance(timedelta(seconds=1))
        assert sorted(conditions(cluster)) == ["Begun", "Ready", "Scanned"]
        raw = cluster.require(Thing, "it").raw["status"]["conditions"]
        assert next(one for one in raw if one["type"] == "Scanned") == SCANNED


def test_it_costs_one_read_per_object_and_process() -> None:
    """Objects that have only declared conditions cost none."""
    with Harness(Things()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.restart()
        cluster.settle()
        assert gets(cluster) == 0
        scan(cluster)
        cluster.settle()
        assert gets(cluster) == 1
        for number in range(3):
            cluster.patch(Thing, "it", {"spec": {"size": number + 5}})
            cluster.settle()
        assert gets(cluster) == 1
        cluster.at_rest()


def test_ready_is_removed_when_the_controller_no_longer_writes_it() -> None:
    """It is a condition like any other."""
    with Harness(Things()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        upgrade(cluster, Things(ready_condition=False))
        cluster.settle()
        assert conditions(cluster) == ["First", "Second"]


def test_a_read_that_fails_is_made_again() -> None:
    """Until then the condition stays, and the pass continues."""
    broken = [True]

    def faults(request: HttpRequest) -> Fault | None:
        live = request.method == "GET" and request.path.endswith("/it")
        return Status(403, "Forbidden") if broken[0] and live else None

    with Harness(Things(), faults=faults) as cluster:
        cluster.apply(thing())
        cluster.settle()
        upgrade(cluster, Renamed())
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert "Second" in conditions(cluster)
        broken[0] = False
        cluster.patch(Thing, "it", {"spec": {"size": 7}})
        cluster.settle()
        assert sorted(conditions(cluster)) == ["Begun", "Ready"]


def test_a_list_without_field_managers_of_its_entries_is_left_alone() -> None:
    """Another party's CRD may call the list atomic: its entries have no managers."""
    name = "things.test.myrmidon.dev"
    with Harness(Things()) as cluster:
        crd = cluster.require(kinds.CUSTOM_RESOURCE_DEFINITION, name)
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        listed = schema["properties"]["status"]["properties"]["conditions"]
        del listed["x-kubernetes-list-map-keys"]
        listed["x-kubernetes-list-type"] = "atomic"
        cluster.patch(kinds.CUSTOM_RESOURCE_DEFINITION, name, crd)
        cluster.apply(thing())
        cluster.settle()
        upgrade(cluster, Renamed())
        cluster.settle()
        assert "Second" in conditions(cluster)
