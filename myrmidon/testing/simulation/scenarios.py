"""Scenarios: the decorator, and the scenario of a controller with a list of steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any, overload

from myrmidon.testing.simulation.embedded import MakeActors
from myrmidon.testing.simulation.execution import Body, execute
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.result import SimulationResult
from myrmidon.testing.simulation.simulation import Simulation


@dataclass(eq=False)
class Scenario:
    """A scenario: a coroutine function over ``sim``, and how much of it is explored."""

    body: Body
    budget: str = "ci"
    namespace: str = "default"
    actors: MakeActors | None = None

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.body, "__name__", "scenario"))

    def __call__(self) -> None:
        """Explore the scenario with its budget; raise ``SimulationError`` if a property fails."""
        __tracebackhide__ = True
        explore: Any = import_module("myrmidon.testing.simulation.explorer").explore
        explore(self).check()

    def run(self, plan: Plan = Plan(), seed: int = 0, **options: Any) -> SimulationResult:  # noqa: B008
        """Run the scenario once under a plan."""
        return execute(
            self.body, plan, seed, name=self.name, namespace=self.namespace, actors=self.actors,
            **options,
        )  # fmt: skip


@overload
def scenario(body: Body, /) -> Scenario: ...


@overload
def scenario(
    *, budget: str = "ci", namespace: str = "default", actors: MakeActors | None = None
) -> Callable[[Body], Scenario]: ...


def scenario(body: Body | None = None, /, **options: Any) -> Any:
    """Make a scenario of a coroutine function."""
    if body is not None:
        return Scenario(body)
    return lambda given: Scenario(given, **options)


def as_scenario(target: Any, workload: Sequence[Any] = ()) -> Scenario:
    """Return the scenario of a scenario, of a coroutine function, or of a controller.

    A workload is a list of steps with a ``settle`` after each: an object is created, a dict is a merge
    patch of the last object, and None deletes it.
    """
    if isinstance(target, Scenario):
        return target
    if iscoroutinefunction(target):
        return Scenario(target)

    async def steps(sim: Simulation) -> None:
        sim.controller(target)
        last: Any = None
        for step in workload:
            if step is None:
                await sim.user.delete(last)
            elif isinstance(step, dict) and "kind" not in step:
                await sim.user.patch(last, step)
            else:
                last = await sim.user.create(step)
            await sim.settle()

    steps.__name__ = getattr(target, "__name__", "controller")
    return Scenario(steps)
