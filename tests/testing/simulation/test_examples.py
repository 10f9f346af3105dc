"""The examples survive every fault: a part of the plans in each run of the tests.

``PART`` takes every n-th plan of an exploration; ``shard=(0, 1)`` explores all of them, which takes
minutes.
"""

from typing import Any

import pytest

from examples.config_copy.controller import ConfigCopies, ConfigCopy, ConfigCopySpec
from examples.cron_job.controller import ScheduledJobs
from examples.tenants.controller import Tenants
from examples.web_app.controller import InMemoryRegistry, WebApp, WebApps, WebAppSpec
from myrmidon.testing import Simulation, explore, scenario
from tests.testing.simulation.things import Things, thing

PART = (3, 30)


@scenario
async def web_apps(sim: Simulation) -> None:
    """An application gets replicas, loses its hosts and is deleted."""
    registry = InMemoryRegistry()
    sim.controller(lambda: WebApps(registry))
    app = await sim.user.create(
        WebApp(name="shop", spec=WebAppSpec(image="shop:1", hosts=["shop.example.com"]))
    )
    await sim.settle()
    await sim.user.patch(app, replicas=2)
    await sim.settle()
    await sim.user.patch(app, hosts=[])
    await sim.settle()
    await sim.user.delete(app)
    await sim.settle()


@scenario
async def config_copies(sim: Simulation) -> None:
    """A ConfigMap is copied, changes, loses a copy, and the copies are deleted."""
    sim.controller(ConfigCopies)
    sim.namespaces("one", "two")
    source = await sim.user.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
    )
    copy = await sim.user.create(
        ConfigCopy(name="c", spec=ConfigCopySpec(namespaces=["one", "two"]))
    )
    await sim.settle()
    await sim.user.patch(source, {"data": {"a": "2"}})
    await sim.settle()
    await sim.user.patch(copy, namespaces=["two"])
    await sim.settle()
    await sim.user.delete(copy)
    await sim.settle()


@scenario
async def tenants(sim: Simulation) -> None:
    """A namespace becomes smaller."""
    sim.controller(Tenants)
    labels = {"tenants.example.com/team": "shop-team", "tenants.example.com/size": "large"}
    made = await sim.user.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}}
    )
    await sim.settle()
    smaller = {"tenants.example.com/size": "small"}
    await sim.user.patch(made, {"metadata": {"labels": smaller}})
    await sim.settle()


@scenario
async def scheduled_jobs(sim: Simulation) -> None:
    """A job runs at its time, and is deleted."""
    sim.controller(ScheduledJobs)
    container = {"name": "report", "image": "report:1"}
    pod: Any = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    made = await sim.user.create(
        {
            "apiVersion": "demo.myrmidon.dev/v1",
            "kind": "ScheduledJob",
            "metadata": {"name": "report"},
            "spec": {
                "schedule": "*/5 * * * *",
                "startingDeadlineSeconds": 60,
                "jobTemplate": {"spec": {"template": pod}},
            },
        }
    )
    await sim.settle()
    await sim.advance(330)
    await sim.settle()
    await sim.user.delete(made)
    await sim.settle()


@scenario
async def pair(sim: Simulation) -> None:
    """Two replicas with leader election and a finalizer."""
    sim.controller(Things, replicas=2)
    made = await sim.user.create(thing())
    await sim.settle()
    await sim.user.patch(made, size=2)
    await sim.settle()
    await sim.user.delete(made)
    await sim.settle()


@pytest.mark.parametrize("name", ["web_apps", "config_copies", "tenants", "scheduled_jobs", "pair"])
def test_an_example_is_clean(name: str) -> None:
    """No oracle finds a violation under any plan of this part."""
    explore(globals()[name], budget="ci", shard=PART).check()
