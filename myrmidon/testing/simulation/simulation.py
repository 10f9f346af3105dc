"""Simulation: what a scenario sees as ``sim``.

async def test_web_apps(sim):
    sim.controller(WebApps, replicas=2)
    app = await sim.user.create(WebApp(name="shop", spec=...))
    await sim.settle()
    sim.always("the service stays", lambda world: world.exists("Service", "shop"))
    await sim.user.patch(app, replicas=3)
    await sim.settle()
    await sim.user.delete(app)
    await sim.settle()
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.generate.schema.definitions import crds
from myrmidon.runtime import ManagerOptions
from myrmidon.sets.outputs.manifests import manifest_of
from myrmidon.testing.simulation.embedded import ScenarioWebhook
from myrmidon.testing.simulation.externals import SimulatedExternal
from myrmidon.testing.simulation.monitors import Monitor, Predicate
from myrmidon.testing.simulation.programs import Make, Recipe
from myrmidon.testing.simulation.run import Run
from myrmidon.testing.simulation.user import ScenarioUser
from myrmidon.testing.simulation.world import World

SETTLE_SECONDS_MAX = 1800.0
_EVENTUALLY_SECONDS = 300.0


class NotSettledInTimeError(Exception):
    """The controllers did not settle; the rest of the scenario is left out."""


class Simulation:
    """One run of a scenario, as the scenario sees it."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def controller(
        self, *makes: Make, replicas: int = 1, options: ManagerOptions | None = None
    ) -> None:
        """Run a controller: its class, or a function that returns a new one.

        Several are run in one process.  With ``replicas`` above 1 there are so many processes with
        leader election.  An object with ``async def run(transport, clock)`` and the attribute
        ``resources`` (Resource classes) stands for a controller that is not myrmidon's.
        """
        self._run.add(Recipe(makes, options), replicas)

    def install(self, *resources: Any) -> None:
        """Install the definitions of further Resource classes, before the first step."""
        self._run.extra_definitions += crds(resources)

    def given(self, *objects: Any) -> None:
        """Let objects exist before the controllers start."""
        self._run.extra_manifests += [manifest_of(obj) for obj in objects]

    def webhook(self, kind: str, change: Callable[[Json], Json]) -> None:
        """Let a mutating webhook change every object of a kind that is created or updated.

        ``change`` gets the object and returns the changed one; it must not modify what it gets.
        """
        self._run.webhooks.append(ScenarioWebhook(kind, change))

    def external(self, name: str = "external", **options: Any) -> SimulatedExternal:
        """Return the stand-in of an external system, whose faults are part of the plan."""
        made = SimulatedExternal(name=name, **options)
        made.join(self._run)
        self._run.externals[name] = made
        return made

    @property
    def user(self) -> ScenarioUser:
        """The user, who creates, edits and deletes objects."""
        return self._run.user

    @property
    def world(self) -> World:
        """The objects of the server at this moment."""
        return self._run.world

    @property
    def now(self) -> float:
        """The seconds since the start of the run."""
        return self._run.loop.time()

    # --------------------------------------------------------------------------------- time

    async def settle(self, within: timedelta | None = None) -> None:
        """Let time pass until no pass is owed and no actor of the server has work."""
        run = self._run
        await run.begin()
        allowed = SETTLE_SECONDS_MAX if within is None else within.total_seconds()
        if not await run.settle(allowed):
            raise NotSettledInTimeError(f"not settled after {allowed:g} s")
        if not run.plan.faults:
            run.settled.append(run.objects())

    async def advance(self, seconds: float | timedelta) -> None:
        """Let time pass."""
        await self._run.begin()
        length = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
        await self._run.advance(length)

    # --------------------------------------------------------------------------- properties

    def always(self, name: str, predicate: Predicate) -> Monitor:
        """Require that the predicate holds after every change from now on."""
        return self._watch(Monitor(name, "always", predicate))

    def never(self, name: str, predicate: Predicate) -> Monitor:
        """Require that the predicate holds after no change from now on."""
        return self._watch(Monitor(name, "never", predicate))

    def eventually(
        self,
        name: str,
        predicate: Predicate,
        within: float = _EVENTUALLY_SECONDS,
        *,
        fair: bool = False,
    ) -> Monitor:
        """Require that the predicate holds at some time within so many seconds.

        ``fair``: only the time counts in which no fault is in force.
        """
        return self._watch(Monitor(name, "eventually", predicate, within=within, fair=fair))

    def leads_to(
        self,
        name: str,
        predicate: Predicate,
        then: Predicate,
        within: float = _EVENTUALLY_SECONDS,
        *,
        fair: bool = False,
    ) -> Monitor:
        """Require that ``then`` holds within so many seconds, whenever ``predicate`` begins to.

        ``fair``: only the time counts in which no fault is in force.
        """
        return self._watch(Monitor(name, "leads_to", predicate, then, within, fair=fair))

    def _watch(self, monitor: Monitor) -> Monitor:
        self._run.watch(monitor)
        return monitor

    def recovers_within(self, seconds: float) -> None:
        """Require that the end is reached so many seconds after all faults; 900 by default."""
        self._run.recovery.allowed_seconds = seconds

    # ------------------------------------------------------------------------ what to compare

    def retains(self, *kinds: str) -> None:
        """Leave these kinds out of the comparison of end states: they depend on the way there."""
        self._run.retained.update(dict.fromkeys(kinds))

    def ignore(self, *paths: str) -> None:
        """Leave these fields out of the comparison: ``"ConfigMap data.seen"``, ``"status.since"``."""
        self._run.ignored += paths

    def namespaces(self, *names: str) -> None:
        """Let further namespaces exist."""
        self.given(
            *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in names)
        )
