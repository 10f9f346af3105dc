"""Schedules: the order in which the requests of a run are answered, or its callbacks run.

Without a schedule, requests are answered at once, in the order in which they were sent, so workers and
replicas take turns in one fixed way.  A plan can choose others, each from a seed:

``pct``
    Probabilistic concurrency testing.  Each actor (a task that sends requests, or a watch) gets a random
    priority.  The answers to an actor take time according to its priority, and none for the highest one,
    so an actor runs as far as it can before one of lower priority takes its next step.  At ``depth - 1``
    requests, drawn at random, the actor that sends the request falls to the lowest priority.  A bug that
    needs d ordering constraints among n actors with k steps is met with a probability of at least
    1 / (n * k^(d-1)).  All these orders can happen in production: answers of a server may take any time.

``shuffle``
    The callbacks of processes run in a random order; those of one task keep theirs.  asyncio runs
    callbacks in the order in which they were planned, so this may show orders that cannot happen.  It
    is a stricter test of code that should not depend on that, and is never part of an exploration.
"""

import asyncio
from collections.abc import Callable
from random import Random

from myrmidon.testing.simulation.loop import SimulationLoop

_STEP_SECONDS = 0.25
_RANKS = 6
_LOWEST_SECONDS = 4.0
_REQUESTS = 60
"""Change points are drawn among the first so many requests."""


class RunSchedule:
    """The order of answers and callbacks of one run; the plain one until ``begin``."""

    def __init__(self, loop: SimulationLoop) -> None:
        self._loop = loop
        self._rng: Random | None = None
        self._delays: dict[object, float] = {}
        self._points: frozenset[int] = frozenset()
        self._requests = 0
        self._noticed: Callable[[], None] = lambda: None

    def begin(self, how: str, seed: int, depth: int, noticed: Callable[[], None]) -> None:
        """Use another order from now on."""
        rng = Random(f"{seed}:{how}")  # noqa: S311 - draws tests; keeps no secret
        if how == "shuffle":
            self._loop.shuffle(rng, noticed)
            return
        self._rng, self._noticed, self._delays, self._requests = rng, noticed, {}, 0
        self._points = frozenset(rng.sample(range(2, _REQUESTS), max(depth - 1, 0)))

    def end(self) -> None:
        """Use the plain order again."""
        self._rng = None
        self._loop.shuffle(None)

    def request_delay(self) -> float:
        """Return how long the answer to a request of the current task takes."""
        if self._rng is None:
            return 0.0
        self._requests += 1
        actor = asyncio.current_task()
        if self._requests in self._points:
            self._delays[actor] = _LOWEST_SECONDS
        return self._delay(actor)

    def event_delay(self, process: int, kind: str) -> float:
        """Return how long the next events of a watch take."""
        return 0.0 if self._rng is None else self._delay((process, kind))

    def _delay(self, actor: object) -> float:
        assert self._rng is not None
        found = self._delays.get(actor)
        if found is None:
            found = self._delays[actor] = self._rng.randrange(_RANKS) * _STEP_SECONDS
        if found and len(self._delays) > 1:
            self._noticed()
        return found
