"""The scenarios with which the framework simulates itself, and which every change of it has to survive.

The examples, and the mechanisms that no example has: two replicas, several objects and workers, pruning, and
children of a kind that has a controller of its own.  They have no properties and no plans: what they are
explored with is what ``explore`` and ``myrmidon simulate`` find for any controller.
"""

from typing import Any

from examples.config_copy.controller import ConfigCopies, ConfigCopy, ConfigCopySpec
from examples.cron_job.controller import ScheduledJobs
from examples.tenants.controller import Tenants
from examples.web_app.controller import InMemoryRegistry, WebApp, WebApps, WebAppSpec
from myrmidon import (
    Controller,
    ControllerOptions,
    Done,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    kinds,
    state,
    when_children_ready,
)
from myrmidon.testing import Simulation, scenario
from tests.testing.simulation.things import Things, child, thing


class ShelfSpec(Model):
    """How many ConfigMaps there are."""

    size: int = 1


class Shelf(Resource[ShelfSpec, Status], group="sim.myrmidon.dev", version="v1"):
    """Some ConfigMaps."""


class Shelves(Controller[Shelf]):
    """Keeps so many ConfigMaps, and prunes the others."""

    manages = (kinds.CONFIG_MAP,)
    options = ControllerOptions(prune=True)

    @state(initial=True, condition="Filled")
    def filled(self, shelf: Shelf, out: OutputSet) -> Result:
        """There are as many ConfigMaps as the spec says."""
        for number in range(shelf.spec.size):
            out.apply(child("ConfigMap", f"{shelf.name}-{number}", data={"n": str(number)}))
        return Done()


class Outer(Resource[ShelfSpec, Status], group="sim.myrmidon.dev", version="v1"):
    """Has a Shelf."""


class Outers(Controller[Outer]):
    """Keeps a Shelf for each Outer, and is ready when that is."""

    manages = (Shelf,)
    children_ready = when_children_ready()

    @state(initial=True, condition="Shelved", then="children_ready")
    def shelved(self, outer: Outer, out: OutputSet) -> Result:
        """There is a Shelf."""
        out.apply(Shelf(name=outer.name, spec=ShelfSpec(size=outer.spec.size)))
        return Done()


class BusyThings(Things):
    """Things with two workers, of which one may be busy for long."""

    options = ControllerOptions(workers=2)


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


@scenario
async def shelves(sim: Simulation) -> None:
    """A shelf gets larger and smaller: children are pruned."""
    sim.controller(Shelves)
    made = await sim.user.create(Shelf(name="a", spec=ShelfSpec(size=1)))
    await sim.settle()
    await sim.user.patch(made, size=3)
    await sim.settle()
    await sim.user.patch(made, size=1)
    await sim.settle()


@scenario
async def nested(sim: Simulation) -> None:
    """An object whose child has a controller of its own."""
    sim.controller(Outers, Shelves)
    made = await sim.user.create(Outer(name="a"))
    await sim.settle()
    await sim.user.patch(made, size=2)
    await sim.settle()


@scenario
async def several(sim: Simulation) -> None:
    """Three objects and two workers; one of the objects grows."""
    sim.controller(BusyThings)
    made = await sim.user.create(thing(name="a"))
    for name in ("b", "c"):
        await sim.user.create(thing(name=name))
    await sim.settle()
    await sim.user.patch(made, size=2)
    await sim.settle()


SHIPPED: dict[str, Any] = {
    one.name: one
    for one in (
        web_apps, config_copies, tenants, scheduled_jobs, pair, shelves, nested, several,
    )
}  # fmt: skip
