"""Processes: incarnations that crash, restart, pause and lose their lease.

A ``SimulatedProcess`` is one replica of a deployment.  Each start is an incarnation with a number, a gate, a
clock and a program of its own; nothing but the server's objects survives it.  A process whose program
ends by itself is started again after a while, as the kubelet does; what ended it is kept, because an
error that the framework does not know is a bug.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from math import inf
from typing import Any

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import MyrmidonError
from myrmidon.testing.simulation.clocks import ProcessClock
from myrmidon.testing.simulation.gate import Gate
from myrmidon.testing.simulation.interruptions import Interruptions
from myrmidon.testing.simulation.loop import INCARNATION
from myrmidon.testing.simulation.programs import ManagerProgram, PlainProgram, Recipe
from myrmidon.testing.simulation.requests import RequestSubject
from myrmidon.testing.simulation.stage import Stage
from myrmidon.testing.simulation.staleness import StaleView, revision_before

_RESTART_SECONDS = 5.0
_RESTART_SECONDS_MAX = 80.0
GRACE_SECONDS = 60.0
"""How long a process may take to stop: longer than the default ``shutdown_timeout``."""


class SimulatedProcess:
    """One replica of a deployment of controllers."""

    def __init__(self, run: Stage, recipe: Recipe, number: int, name: str, replicas: int) -> None:
        self._run, self._recipe = run, recipe
        self.number, self.name, self.replicas = number, name, replicas
        self.group: list[SimulatedProcess] = []
        self.program: ManagerProgram | PlainProgram | None = None
        self.incarnation = 0
        self.clock = ProcessClock(run.loop)
        self.streams: list[tuple[Callable[[], Any], ...]] = []
        self.starts_at: float | None = None
        self.started_at = 0.0
        self.resumes_at: float | None = None
        self.ended: list[BaseException] = []
        self.reads: dict[str, int] = {}
        """The kinds that it listed with resourceVersion=0, with the number of lists."""
        self._views: dict[str, StaleView] = {}
        self._travels: list[tuple[str, int, float, Callable[[], None]]] = []
        self._watch_faults: list[tuple[str, str, Callable[[], None]]] = []
        self._refused: list[tuple[float, str, str, Callable[[], None], int, str]] = []
        self.interruptions = Interruptions()
        self._stops_after: float | None = None
        """While it is asked to stop: the seconds until it starts again after its end."""
        self._slow = (0.0, 0.0)
        self._failures = 0
        self.is_stalled = False
        self.renewed_at = 0.0  # when the server accepted its last write of the Lease
        self.is_deposed = False  # whether the last Lease that it read names another holder
        self.issued = (0.0, 0.0, False)
        """When it issued the current request, and renewed_at and is_deposed at that time."""

    # ---------------------------------------------------------------------------- its life

    def start(self) -> None:
        """Start a new incarnation, with empty memory."""
        run = self._run
        self.starts_at = None
        self.started_at = run.loop.time()
        self.incarnation = run.next_incarnation()
        self._views = {}
        self._stops_after = None
        self.is_stalled, self.renewed_at, self.is_deposed = False, 0.0, False
        self._travel()
        run.note(self.name, "started")
        context = copy_context()
        context.run(self._launch, self.incarnation)

    def _launch(self, incarnation: int) -> None:
        INCARNATION.set(incarnation)
        run = self._run
        gate = Gate(run, self, incarnation)
        self.program = self._recipe.make(
            gate,
            self.clock,
            seed=run.seed * 1000 + incarnation,
            identity=self.name,
            replicas=self.replicas,
            on_write=None if run.plan.faults else run.wrote,
        )
        _task = run.loop.create_task(self._live(self.program))  # the loop keeps it

    async def _live(self, program: ManagerProgram | PlainProgram) -> None:
        incarnation = self.incarnation
        try:
            await program.run()
            error: BaseException = MyrmidonError("the program ended by itself")
        except asyncio.CancelledError:
            raise
        except Exception as failed:  # noqa: BLE001 - a process that exits is restarted
            error = failed
        if incarnation != self.incarnation or self._run.is_over:
            return
        if self._stops_after is not None:
            self._run.note(self.name, "stopped")
            self._gone(self._stops_after)
            return
        self.ended.append(error)
        self._run.note(self.name, "exited", f"{type(error).__name__}: {error}")
        self._failures += 1
        down = min(_RESTART_SECONDS * 2 ** (self._failures - 1), _RESTART_SECONDS_MAX)
        self._gone(down)

    def crash(self, down: float = _RESTART_SECONDS) -> None:
        """Kill the process: none of its code runs again.  Start another after ``down`` seconds."""
        if self.program is None:
            return
        self._run.note(self.name, "was killed")
        self._gone(down)

    def stop(self, down: float = _RESTART_SECONDS) -> None:
        """Ask the process to stop, as SIGTERM does; kill it after its grace period."""
        if self.program is None or self._stops_after is not None:
            return
        run, incarnation = self._run, self.incarnation
        self._stops_after = down
        run.note(self.name, "was asked to stop")
        self.program.stop()

        def kill() -> None:
            if self.incarnation == incarnation and self.program is not None and not run.is_over:
                run.fail("O11", self.name, f"{self.name} did not stop within {GRACE_SECONDS:g} s")
                self.crash(down)

        run.later(GRACE_SECONDS, kill)

    def reconcile_all(self) -> None:
        """Queue a pass for every object, although nothing has changed."""
        if self.works and self.program is not None:
            self._run.spawn(self.program.resync())

    def _gone(self, down: float) -> None:
        run = self._run
        self.program, self._stops_after = None, None
        run.loop.kill(self.incarnation)
        for stops in self.streams:
            for stop in stops:
                stop()
        self.streams = []
        self.starts_at = run.loop.time() + down
        self.resumes_at = None
        run.loop.call_at(self.starts_at, self._restart, context=run.loop.environment)

    def _restart(self) -> None:
        if self.program is None and not self._run.is_over:
            self.start()

    def pause(self, seconds: float) -> None:
        """Stop the process for so long; it does not notice."""
        run = self._run
        incarnation = self.incarnation
        self.resumes_at = run.loop.time() + seconds
        run.loop.pause(incarnation)
        run.note(self.name, f"stopped for {seconds:g} s" if seconds < inf else "hangs")

        def resume() -> None:
            if self.incarnation == incarnation:
                self.resumes_at = None
                run.note(self.name, "went on")
            run.loop.resume(incarnation)

        if seconds < inf:
            run.loop.call_at(self.resumes_at, resume, context=run.loop.environment)
        else:
            run.healing.after(0.0, resume, outage=True)

    def is_blind(self, now: float) -> bool:
        """Whether it is down, stopped or behind, so that the world may lag now."""
        return (
            self.program is None
            or self.resumes_at is not None
            or self.is_stalled
            or any(not view.is_fresh(now) for view in self._views.values())
        )

    @property
    def works(self) -> bool:
        """Whether it runs and, with several replicas, leads."""
        return self.program is not None and self.program.works and self.resumes_at is None

    def due_at(self) -> float | None:
        """Return when the process has work to do; None if it has none."""
        if self.program is None:
            return self.starts_at
        if self.resumes_at is not None:
            return self.resumes_at if self.resumes_at < inf else None
        if self._stops_after is not None:
            return self._run.loop.next_timer()
        if not self.works and any(other.works for other in self.group):
            return None  # a replica that stands by
        return self.program.due_at(self._run.loop)

    # --------------------------------------------------------------------------- its views

    def view(self, kind: str) -> StaleView:
        """Return how the process sees a kind."""
        found = self._views.get(kind)
        if found is None:
            found = self._views[kind] = StaleView()
        return found

    def views(self) -> list[tuple[str, StaleView]]:
        """Return the views of all kinds that it watches."""
        return list(self._views.items())

    def travel(self, kind: str, back: int, lasts: float, noticed: Callable[[], None]) -> None:
        """Let the next incarnation see a kind as it was so many changes ago."""
        self._travels.append((kind, back, lasts, noticed))

    def _travel(self) -> None:
        run, travels = self._run, self._travels
        self._travels = []
        for kind, back, lasts, noticed in travels:
            resource = run.resource_of(kind)
            view = self.view(kind)
            view.hold(revision_before(run.server.store, resource, back), run.loop.time() + lasts)
            view.noticed = noticed

    def dated(self, request: HttpRequest, subject: RequestSubject) -> HttpRequest:
        """Return a request that accepts data of any age as one for the age of the view."""
        self.reads[subject.kind] = self.reads.get(subject.kind, 0) + 1
        view = self._views.get(subject.kind)
        if view is None or view.held_at is None or self._run.loop.time() >= view.held_until:
            return request
        if subject.verb == "watch":
            return request
        if view.noticed is not None and view.held_at < self._run.server.store.revision:
            noticed, view.noticed = view.noticed, None
            noticed()
        query = [pair for pair in request.query if pair[0] != "resourceVersion"]
        exact = [("resourceVersion", str(view.held_at)), ("resourceVersionMatch", "Exact")]
        return request._replace(query=(*query, *exact))

    # --------------------------------------------------------------------- what is refused

    def spoil_next_watch(self, kind: str, how: str, noticed: Callable[[], None]) -> None:
        """Let the next delivery of a kind fail."""
        self._watch_faults.append((kind, how, noticed))

    def next_watch_fault(self, kind: str) -> str | None:
        """Return how this delivery fails, None if it does not."""
        for index, (wanted, how, noticed) in enumerate(self._watch_faults):
            if wanted in ("", kind):
                del self._watch_faults[index]
                noticed()
                return how
        return None

    def refuse(
        self,
        until: float,
        kind: str,
        verb: str,
        noticed: Callable[[], None],
        *,
        code: int = 403,
        name: str = "",
    ) -> None:
        """Answer requests with a status code until a time."""
        self._refused.append((until, kind, verb, noticed, code, name))

    def refusal(self, subject: RequestSubject, now: float) -> tuple[int, float] | None:
        """Return the status code with which a request is refused, None if it is not."""
        for until, kind, verb, noticed, code, name in self._refused:
            if (
                now < until
                and kind in ("", subject.kind)
                and verb in ("", subject.verb)
                and name in ("", subject.name)
            ):
                noticed()
                return (code, 0.0)
        return None

    def slow_down(self, seconds: float, until: float) -> None:
        """Let answers take longer until a time."""
        self._slow = (seconds, until)

    def latency(self, now: float) -> float:
        """Return how long the next answer takes."""
        seconds, until = self._slow
        return (seconds if now < until else 0.0) + self._run.latency()

    def heal(self, *, outages: bool = True) -> None:
        """End all faults that last, or all but outages."""
        for view in self._views.values():
            view.release()
        self._travels, self._watch_faults = [], []
        self._refused = [] if outages else [one for one in self._refused if one[0] == inf]
        self.interruptions.heal()
        self._slow = (0.0, 0.0)


def have_plans(processes: Iterable[SimulatedProcess], now: float) -> bool:
    """Whether a process has planned passes for later."""
    return any(one.program is not None and one.program.has_plans(now) for one in processes)


def overdue(processes: Iterable[SimulatedProcess], now: float) -> Iterator[tuple[str, str]]:
    """Return what no worker has begun although it is due and a worker is idle, as role and message."""
    for process in processes:
        name = process.program.overdue(now) if process.works and process.program is not None else ""
        if name:
            yield f"the workers of {name}", f"a pass of {name} is due, and an idle worker sleeps"
