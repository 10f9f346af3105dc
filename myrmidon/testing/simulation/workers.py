"""Workers: forked processes that run plans, for explorations with ``jobs``.

Each worker is a fork, so it has the scenario and its references without sending them.  It gets plans
over a pipe of its own and sends the results back.  Results are taken in the order of the plans, so an
exploration finds the same with any number of workers.

There are no locks or queues that the workers share, and they are killed at the end: an exploration
that stops early must not wait for them.
"""

import multiprocessing
from collections.abc import Iterator
from itertools import islice
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self, TypeAlias

from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.references import References
from myrmidon.testing.simulation.result import SimulationResult

Work: TypeAlias = tuple[Plan, int | None, float]
"""A plan, the seed of the run (None for that of the references), and the jitter."""
_CHUNK = 8


class Workers:
    """Processes that run plans.  Use it in a ``with``, which ends them."""

    def __init__(self, references: References, jobs: int) -> None:
        context = multiprocessing.get_context("fork")
        self._pipes: list[Connection] = []
        self._processes = []
        for _ in range(jobs):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(references, theirs), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
        for pipe in self._pipes:
            pipe.close()

    def run(self, work: Iterator[Work]) -> Iterator[tuple[Work, SimulationResult]]:
        """Yield each plan with its result, in the order of the plans.

        Each worker has one chunk in work; it gets its next one when the results are taken.
        """
        asked: list[tuple[Connection, list[Work]]] = []
        for pipe in self._pipes:
            _ask(pipe, work, asked)
        while asked:
            pipe, chunk = asked.pop(0)
            results: list[SimulationResult] = pipe.recv()
            _ask(pipe, work, asked)
            yield from zip(chunk, results, strict=True)


def _ask(
    pipe: Connection, work: Iterator[Work], asked: list[tuple[Connection, list[Work]]]
) -> None:
    chunk = list(islice(work, _CHUNK))
    if chunk:
        pipe.send(chunk)
        asked.append((pipe, chunk))


def _work(references: References, pipe: Connection) -> None:
    """Run what the pipe says, until the process is killed."""
    while True:
        chunk: list[Work] = pipe.recv()
        pipe.send([_stripped(references.run(*task)) for task in chunk])


def _stripped(result: SimulationResult) -> SimulationResult:
    """Return a result without its trace; a plan that fails is run again where that is needed."""
    result.trace.entries, result.trace.commits, result.end = [], [], {}
    for failure in result.failures:
        failure.result = None
    return result
