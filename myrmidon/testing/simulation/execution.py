"""Execute one run: a pure function from scenario, seed and plan to a result."""

import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from myrmidon.testing.simulation.embedded import MakeActors
from myrmidon.testing.simulation.normalisation import Masks
from myrmidon.testing.simulation.oracles.conditions import ReadyWorlds
from myrmidon.testing.simulation.oracles.judging import judge
from myrmidon.testing.simulation.outages import has_outage
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.programs import silence
from myrmidon.testing.simulation.result import SimulationResult
from myrmidon.testing.simulation.run import Run
from myrmidon.testing.simulation.simulation import (
    SETTLE_SECONDS_MAX,
    NotSettledInTimeError,
    Simulation,
)

Body: TypeAlias = Callable[[Simulation], Awaitable[Any]]
StartState: TypeAlias = Callable[[Run], None]

_BLIND = frozenset({
    "watch", "hold", "lag", "travel", "pause", "lease", "rbac", "refuse", "gap", "pages", "crd",
    "schedule", "outage", "malformed",
})  # fmt: skip
_RECOVERY_SECONDS = 60.0
"""After a fault that a watch may have met: longer than the longest backoff of a watch."""
_STALL_SECONDS = 240.0
"""After a watch that fell silent: longer than its idle time, a test of the server and a backoff."""
_PLAIN_RECOVERY_SECONDS = 600.0


def execute(
    body: Body,
    plan: Plan = Plan(),  # noqa: B008 - a value
    seed: int = 0,
    *,
    name: str = "",
    namespace: str = "default",
    actors: MakeActors | None = None,
    jitter: float = 0.0,
    start_state: StartState | None = None,
    masks: Masks | None = None,
    worlds: ReadyWorlds | None = None,
    until: float | None = None,
) -> SimulationResult:
    """Run a scenario once.  The same arguments give the same result, with the same trace.

    ``jitter``: answers take a random time up to so many seconds (from the seed), which makes another
    schedule.  ``start_state``: changes the world before the controllers start.  ``masks``: what is
    left out of the end state.  ``worlds``: the children that the references left, for O8.
    ``until``: the virtual time at which the run ends, or later if its controllers have not settled by
    then; None for as soon as they have.
    """
    with silence(), _quick():
        run = Run(plan, seed, namespace, actors)
        run.jitter_seconds, run.start_state = jitter, start_state
        result = SimulationResult(
            name or getattr(body, "__name__", "scenario"), seed, plan, run.trace
        )
        result.jitter = jitter
        try:
            run.loop.run_until_complete(_played(run, body, result, until))
            judge(run, result, masks or Masks(), worlds)
        finally:
            run.close()
    for failure in run.failures:
        failure.result = result
    result.failures = run.failures
    result.fired = tuple(run.director.fired)
    return result


async def _played(run: Run, body: Body, result: SimulationResult, until: float | None) -> None:
    try:
        await body(Simulation(run))
    except NotSettledInTimeError as error:
        run.fail("O7", "settle", f"the controllers never settle: {error}")
        return
    except AssertionError as error:
        if not run.is_blind():
            run.fail("O10", "an assertion of the scenario", str(error) or "it does not hold")
            return
    await run.begin()
    await run.user.finish()
    run.end_faults()
    await run.settle(SETTLE_SECONDS_MAX)
    if has_outage(run.plan):
        run.heal(outages=False)
        await _recovered(run)
        await _played_out(run, until)
        run.recovery.in_outage, result.outage_seconds = run.objects(), run.loop.time()
    run.heal()
    run.recovery.healed_from, run.recovery.healed_at = len(run.trace.commits), run.loop.time()
    run.note("simulation", "all faults are over")
    settled = await _recovered(run)
    run.recovery.recovered_from = len(run.trace.commits)
    settled = settled and await _played_out(run, until)
    result.is_timed = run.is_timed
    run.at_rest_from = len(run.trace.commits)
    run.recovery.rests_from = len(run.trace.entries)
    result.virtual_seconds = run.loop.time()
    if not settled:
        run.fail("O7", "settle", "the controllers do not settle after all faults are over")
        return
    run.at_rest = run.objects()
    await run.rest()
    result.finished = True


async def _recovered(run: Run) -> bool:
    """Give controllers the time that they need after the faults; return whether they settled."""
    plain = any(recipe.is_plain for recipe, _ in run.recipes)
    if plain and run.plan:
        await run.advance(_PLAIN_RECOVERY_SECONDS)
    elif any(process.is_stalled for process in run.processes):
        await run.advance(_STALL_SECONDS)
    elif any(fault.action.kind in _BLIND for fault in run.plan):
        await run.advance(_RECOVERY_SECONDS)
    return await run.settle(SETTLE_SECONDS_MAX)


async def _played_out(run: Run, until: float | None) -> bool:
    """Let what the controllers have planned happen, until a time; return whether they settled."""
    if until is None or until <= run.loop.time():
        return True
    await run.advance(until - run.loop.time())
    return await run.settle(SETTLE_SECONDS_MAX)


@contextmanager
def _quick() -> Iterator[None]:
    """Run without the garbage collector, which would look at the framework again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
