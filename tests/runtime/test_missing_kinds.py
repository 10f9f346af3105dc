"""Kinds that the cluster does not serve when a controller starts, and an API server that is late."""

import asyncio
import logging
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from prometheus_client import CollectorRegistry

from myrmidon.api import Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import Kind
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.errors import UsageError
from myrmidon.fsm import Context, Controller, Done, Result, state
from myrmidon.generate import crd
from myrmidon.runtime import Manager, ManagerOptions, Metrics
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, FaultyTransport, Harness, Refuse, run
from myrmidon.testing import Status as Answer
from tests.runtime.things import Thing, Things, thing

MINUTE = timedelta(minutes=1)
MONITOR = Kind("monitoring.example.com", "v1", "Monitor", "monitors", namespaced=True)


class GadgetSpec(Model):
    """An empty spec."""


class Gadget(Resource[GadgetSpec, Status], group="gadgets.myrmidon.dev", version="v1"):
    """A kind of another controller."""


class Gadgets(Controller[Gadget]):
    """Needs nothing but its own kind."""

    @state(initial=True, condition="Seen")
    def seen(self, gadget: Gadget, out: OutputSet, ctx: Context) -> Result:
        """It was seen."""
        return Done()


class Monitored(Controller[Gadget]):
    """Reads a kind of another program."""

    name: ClassVar[str] = "monitored"
    reads: ClassVar[tuple[Any, ...]] = (MONITOR,)

    @state(initial=True, condition="Seen")
    async def seen(self, gadget: Gadget, out: OutputSet, ctx: Context) -> Result:
        """It has a monitor."""
        assert await ctx.get(MONITOR, gadget.name) is None
        return Done()


def monitors() -> dict[str, Any]:
    """The definition of the kind that another program installs."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "monitors.monitoring.example.com"},
        "spec": {
            "group": MONITOR.group,
            "scope": "Namespaced",
            "names": {"kind": "Monitor", "plural": "monitors"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }


def problems(cluster: Harness) -> dict[str, str]:
    """The failed checks of readyz."""
    return {name: said for name, said in cluster.manager.checks().items() if said is not None}


def waiting(metrics: Metrics, kind: Kind, controller: str) -> float | None:
    """The metric of a kind that a controller waits for."""
    registry: CollectorRegistry = metrics.registry
    labels = {"controller": controller, "group": kind[0], "version": kind[1], "kind": kind[2]}
    return registry.get_sample_value("myrmidon_missing_kinds", labels)


@pytest.mark.law("G5")
def test_a_missing_kind_holds_back_only_the_controller_that_needs_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The other one works; readyz, a metric and one line of the log name the kind and the fix."""
    with caplog.at_level(logging.WARNING), Harness(Things(), Gadgets(), crds=False) as cluster:
        assert not cluster.server.create(crd(Thing))
        cluster.advance(MINUTE)
        cluster.apply(thing())
        cluster.settle()

        assert cluster.ready(Thing, "it")
        (name, said), *rest = problems(cluster).items()
        assert not rest
        assert name == "kind Gadget.gadgets.myrmidon.dev"
        assert said.startswith("not served by the cluster, Gadgets waits for it; fix: install")
        assert "myrmidon generate crd tests/runtime/test_missing_kinds.py" in said
        assert waiting(cluster.manager.metrics, Gadget.KIND, "gadget") == 1
        lines = [one for one in caplog.records if "waiting for a kind" in one.getMessage()]
        assert len([one for one in lines if "Gadget" in str(one.__dict__)]) == 1


@pytest.mark.law("G5")
def test_a_controller_starts_when_its_kind_appears() -> None:
    """It needs no restart, and at most 15 seconds."""
    with Harness(Gadgets(), crds=False) as cluster:
        cluster.advance(10 * MINUTE)
        assert not cluster.manager.loops
        assert not cluster.server.create(crd(Gadget))
        cluster.apply(Gadget(name="a", spec=GadgetSpec()))
        cluster.advance(timedelta(seconds=15))
        cluster.settle()

        assert cluster.ready(Gadget, "a")
        assert problems(cluster) == {}
        assert waiting(cluster.manager.metrics, Gadget.KIND, "gadget") is None


def test_a_missing_kind_is_asked_for_rarely() -> None:
    """At most one request in eleven seconds, for as long as it takes."""
    with Harness(Gadgets(), crds=False) as cluster:
        cluster.advance(MINUTE)
        before = len(cluster.transport.log)
        cluster.advance(10 * MINUTE)
        assert 600 / 15 <= len(cluster.transport.log) - before <= 600 / 11


@pytest.mark.law("G5")
def test_a_kind_of_another_program_is_waited_for_with_its_own_fix() -> None:
    """The fix is another one, because its CRD cannot be generated here."""
    with Harness(Monitored()) as cluster:
        cluster.apply(Gadget(name="a", spec=GadgetSpec()))
        cluster.settle()
        assert problems(cluster) == {
            "kind Monitor.monitoring.example.com": (
                "not served by the cluster, Monitored waits for it; fix: install the program that "
                "defines monitors.monitoring.example.com, in version v1"
            )
        }
        assert cluster.writes == []
        assert not cluster.server.create(monitors())
        cluster.advance(MINUTE)
        cluster.settle()
        assert cluster.ready(Gadget, "a")


def test_a_controller_continues_when_its_kind_is_removed_and_installed_again() -> None:
    """The cache retries by itself; the controller is not restarted."""
    with Harness(Gadgets()) as cluster:
        cluster.apply(Gadget(name="a", spec=GadgetSpec()))
        cluster.settle()
        (loop,) = cluster.manager.loops
        cluster.delete(kinds.CUSTOM_RESOURCE_DEFINITION, "gadgets.gadgets.myrmidon.dev")
        cluster.advance(10 * MINUTE)
        assert problems(cluster)
        assert not cluster.server.create(crd(Gadget))
        cluster.apply(Gadget(name="b", spec=GadgetSpec()))
        cluster.advance(10 * MINUTE)
        assert cluster.ready(Gadget, "b")
        assert cluster.manager.loops == [loop]


def test_without_wait_for_kinds_a_missing_kind_ends_the_process() -> None:
    """The message says how to install it."""
    options = ManagerOptions(seed=0, wait_for_kinds=False)
    with (
        Harness(Gadgets(), crds=False, options=options) as cluster,
        pytest.raises(UsageError) as caught,
    ):
        cluster.step()
    assert str(caught.value).startswith("the cluster does not know the kind Gadget (gadgets.")


def started_after(fault: Fault, seconds: float) -> Manager:
    """Run and stop a manager whose server fails every request for that long at first."""

    async def main() -> Manager:
        server = ApiServer()
        assert not server.create(crd(Thing))
        began: list[float] = []

        def faults(_request: HttpRequest) -> Fault | None:
            now = manager._clock.monotonic()
            began.append(now)
            return fault if now - began[0] < seconds else None

        transport = FaultyTransport(LocalTransport(server), faults)
        manager = Manager(transport=transport)
        manager.add(Things())
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            await manager.wait_working()
            manager.stop()
        return manager

    return run(main())


@pytest.mark.parametrize("fault", [Refuse(), Answer(503, "ServiceUnavailable"), Answer(500, "")])
def test_a_server_that_is_late_is_waited_for(fault: Fault) -> None:
    """A controller is often started together with its API server."""
    assert started_after(fault, seconds=20).loops


@pytest.mark.parametrize("fault", [Refuse(), Answer(503, "ServiceUnavailable")])
def test_a_server_that_does_not_come_up_ends_the_process(fault: Fault) -> None:
    """After ``start_timeout``, with a one-line message."""
    with pytest.raises((UsageError, ExceptionGroup)) as caught:
        started_after(fault, seconds=120)
    error = caught.value
    assert isinstance(
        error.exceptions[0] if isinstance(error, ExceptionGroup) else error, UsageError
    )
