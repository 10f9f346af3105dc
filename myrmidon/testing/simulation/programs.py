"""Programs: what a simulated process runs.

- ``ManagerProgram``: myrmidon's controllers in a ``Manager``, as in production.  It knows which
  passes are owed, so ``settle`` knows when it is done.
- ``PlainProgram``: any object with ``async def run(transport, clock)``, such as a controller of another
  framework's style.  It counts as settled when it has not written for a while.

A program is made anew for each incarnation, so that no memory survives a crash.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, TypeAlias

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json, ref_of
from myrmidon.api.requests.transport import Transport
from myrmidon.errors import UsageError
from myrmidon.fsm.context import Cause
from myrmidon.fsm.controller import Controller
from myrmidon.generate.manifests.layout import definitions_of
from myrmidon.generate.schema.definitions import crds
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.observability.change_log import OnWrite
from myrmidon.testing.simulation.loop import SimulationLoop

QUIET_SECONDS = 40.0
"""A plain program that has not written for so long counts as settled."""
_AT_REST = ("resync", "schedule")
_BACKOFF_SECONDS_MAX = 600.0
_LATE_SECONDS = 0.1

Make: TypeAlias = Callable[[], Any]


@cache
def _metrics() -> Metrics:
    """Return the metrics of all simulated managers: to declare them anew costs more than a pass."""
    return Metrics(per_object=False)


class ManagerProgram:
    """Controllers in a manager."""

    is_plain = False

    def __init__(
        self,
        controllers: Sequence[Controller[Any]],
        options: ManagerOptions,
        transport: Transport,
        clock: Clock,
    ) -> None:
        self.manager = Manager(options, transport=transport, clock=clock, metrics=_metrics())
        for controller in controllers:
            self.manager.add(controller)

    async def run(self) -> None:
        """Run the manager."""
        await self.manager.run()

    @property
    def works(self) -> bool:
        """Whether its workers run."""
        return self.manager._working.is_set()  # noqa: SLF001 - the property is_idle says less

    def due_at(self, loop: SimulationLoop) -> float | None:
        """Return when the next pass is due; resyncs and schedules are not work."""
        times: list[float] = []
        for each in self.manager.loops:
            queue = each.pool.queue
            for turn in queue.owed():
                waits = all(cause.relation in _AT_REST for cause in turn.causes)
                if not waits and turn.key not in queue.working:
                    times.append(turn.due_at)
        if not self.manager.is_idle:
            times.append(loop.next_timer())
        return min(times, default=None)

    def has_plans(self, now: float) -> bool:
        """Whether a pass is planned for later: a schedule, or a ``Wait`` longer than any backoff."""
        for each in self.manager.loops:
            for turn in each.pool.queue.owed():
                relations = {cause.relation for cause in turn.causes}
                if "schedule" in relations:
                    return True
                if "timer" in relations and turn.due_at - now > _BACKOFF_SECONDS_MAX:
                    return True
        return False

    def overdue(self, now: float) -> str:
        """Return a controller that has not begun a pass that is due, although a worker is idle (Q10)."""
        for each in self.manager.loops:
            pool, workers = each.pool, each.controller.options.workers
            if pool.stopping or len(pool.queue.working) >= workers:
                continue
            due_at = pool.queue.wake_at()
            if due_at is not None and due_at < now - _LATE_SECONDS:
                return each.controller.name
        return ""

    def stop(self) -> None:
        """Begin the shutdown of the manager."""
        self.manager.stop()

    async def resync(self) -> None:
        """Queue a pass for every object, as a resync does."""
        for each in self.manager.loops:
            kind = each.controller.kind()
            for obj in each.view.list(kind):
                each.pool.add(ref_of(kind, obj), cause=Cause("resync"))


class PlainProgram:
    """An object with ``async def run(transport, clock)``."""

    is_plain = True

    def __init__(self, made: Any, transport: Transport, clock: Clock) -> None:
        self._made, self._transport, self._clock = made, transport, clock
        self.works = True
        self._task: asyncio.Task[Any] | None = None
        self._stopped = False

    async def run(self) -> None:
        """Run the object's ``run`` until it ends or ``stop`` cancels it."""
        self._task = asyncio.current_task()
        try:
            await self._made.run(self._transport, self._clock)
        except asyncio.CancelledError:
            if not self._stopped or self._task is None:
                raise
            self._task.uncancel()

    def stop(self) -> None:
        """Cancel the object's ``run``."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()

    def overdue(self, now: float) -> str:
        """Return "": its queue cannot be seen."""
        del now
        return ""

    def has_plans(self, now: float) -> bool:
        """Return False: what the object has planned cannot be seen."""
        del now
        return False

    def due_at(self, loop: SimulationLoop) -> float | None:
        """Ask the object, if it knows."""
        ask = getattr(self._made, "due_at", None)
        due: float | None = ask(loop) if ask is not None else None
        return due

    async def resync(self) -> None:
        """Ask the object to look at everything again, if it can."""
        ask = getattr(self._made, "resync", None)
        if ask is not None:
            await ask()


class Recipe:
    """How the program of a process is made: the same for all its incarnations and replicas."""

    def __init__(self, makes: Sequence[Make], options: ManagerOptions | None) -> None:
        given: Sequence[Any] = makes
        for make in given:
            if isinstance(make, Controller) or not callable(make):
                raise UsageError(
                    f"{make!r} is an instance; each process of a simulation needs its own.\n"
                    "  fix: pass the class, or a function that returns a new controller"
                )
        self._makes, self._options = makes, options or _default_options()
        known = _known(tuple(makes))
        self.is_plain, self.controllers, self.definitions, self.kinds = known
        self.quiet_seconds = QUIET_SECONDS if self.is_plain else 0.0

    def make(
        self,
        transport: Transport,
        clock: Clock,
        *,
        seed: int,
        identity: str,
        replicas: int,
        on_write: OnWrite | None = None,
    ) -> ManagerProgram | PlainProgram:
        """Return the program of a new incarnation."""
        made = [make() for make in self._makes]
        if self.is_plain:
            return PlainProgram(made[0], transport, clock)
        options = _incarnated(self._options, seed, identity if replicas > 1 else "")
        if on_write is not None and options.on_write is None:
            options = replace(options, on_write=on_write)
        return ManagerProgram(made, options, transport, clock)


@cache
def _default_options() -> ManagerOptions:
    return ManagerOptions()


def _incarnated(options: ManagerOptions, seed: int, identity: str) -> ManagerOptions:
    """Return the options of one incarnation; kept, because to check all options costs more than a pass."""
    try:
        return _kept(options, seed, identity)
    except TypeError:  # an option cannot be hashed
        return _seeded(options, seed, identity)


@lru_cache(maxsize=256)
def _kept(options: ManagerOptions, seed: int, identity: str) -> ManagerOptions:
    return _seeded(options, seed, identity)


def _seeded(options: ManagerOptions, seed: int, identity: str) -> ManagerOptions:
    if identity:
        return replace(options, seed=seed, leader_election=True, identity=identity)
    return replace(options, seed=seed)


_Known: TypeAlias = tuple[bool, list[type[Controller[Any]]], list[Json], list[str]]


def _known(makes: tuple[Make, ...]) -> _Known:
    """Return whether a program is plain, its controllers, their definitions and their kinds."""
    given: tuple[Any, ...] = makes
    is_class = all(isinstance(make, type) and issubclass(make, Controller) for make in given)
    return _looked_at_class(makes) if is_class else _looked_at(makes)


def _looked_at(makes: tuple[Make, ...]) -> _Known:
    first = [make() for make in makes]
    is_plain = not all(isinstance(one, Controller) for one in first)
    controllers = [type(one) for one in first if isinstance(one, Controller)]
    return is_plain, controllers, _definitions(first), _kinds(first)


@lru_cache(maxsize=256)
def _looked_at_class(makes: tuple[Make, ...]) -> _Known:
    return _looked_at(makes)


def _definitions(made: Sequence[Any]) -> list[Json]:
    """Return the definitions of the kinds of controllers or programs; made once per classes."""
    controllers = tuple(type(one) for one in made if isinstance(one, Controller))
    resources = tuple(
        each for one in made if not isinstance(one, Controller) for each in _resources(one)
    )
    return list(_defined(controllers, resources))


@cache
def _defined(controllers: tuple[Any, ...], resources: tuple[Any, ...]) -> tuple[Json, ...]:
    found = definitions_of(controllers) if controllers else []
    return (*found, *(crds(resources) if resources else ()))


def _resources(program: Any) -> Sequence[Any]:
    found: Sequence[Any] = getattr(program, "resources", ())
    return found


def _kinds(made: Sequence[Any]) -> list[str]:
    """Return the names of the kinds that the controllers reconcile."""
    found: list[str] = []
    for one in made:
        if isinstance(one, Controller):
            found.append(one.kind().kind)
        else:
            found += [each.KIND.kind for each in _resources(one)]
    return found


class silence:  # noqa: N801 - used like a function
    """Keep the log quiet during a run: formatting it would cost more than the run."""

    def __enter__(self) -> None:
        self._before = logging.root.manager.disable
        logging.disable(logging.CRITICAL)

    def __exit__(self, *_: object) -> None:
        logging.disable(self._before)


def definitions_in(recipes: Iterable[Recipe], extra: Iterable[Json]) -> list[Json]:
    """Return the definitions of all recipes and further ones, each once."""
    found: dict[str, Json] = {}
    for definition in [*(one for recipe in recipes for one in recipe.definitions), *extra]:
        found.setdefault(definition["metadata"]["name"], definition)
    return list(found.values())
