"""Stage: a run and its processes, as the parts below them see them.

Gates, processes, users and faults need the run, and the run is made of them.  These protocols say what
they may use, so that no import goes in a circle.
"""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, Protocol

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.runtime.observability.change_log import WriteRecord
from myrmidon.testing.harness.clock import VirtualClock
from myrmidon.testing.simulation.actions import Action
from myrmidon.testing.simulation.clocks import ProcessClock
from myrmidon.testing.simulation.director import Director
from myrmidon.testing.simulation.embedded import SimulatedCollector, SimulatedServer, Template
from myrmidon.testing.simulation.healing import Healing
from myrmidon.testing.simulation.interruptions import Interruptions
from myrmidon.testing.simulation.loop import SimulationLoop
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.requests import Describer, RequestSubject
from myrmidon.testing.simulation.schedules import RunSchedule
from myrmidon.testing.simulation.staleness import StaleView
from myrmidon.testing.simulation.trace import Trace
from myrmidon.testing.simulation.world import World

Noticed = Callable[[], None]
"""Called when a fault that lasts has its first effect."""


class StageProcess(Protocol):
    """A process, as its gate and the faults see it."""

    number: int
    name: str
    incarnation: int
    clock: ProcessClock
    is_stalled: bool
    renewed_at: float
    is_deposed: bool
    issued: tuple[float, float, bool]
    streams: list[tuple[Callable[[], Any], ...]]
    interruptions: Interruptions

    def crash(self, down: float = ...) -> None:
        """Kill the process."""
        ...

    def pause(self, seconds: float) -> None:
        """Stop the process for so long."""
        ...

    def stop(self, down: float = ...) -> None:
        """Ask the process to stop."""
        ...

    def reconcile_all(self) -> None:
        """Queue a pass for every object."""
        ...

    def view(self, kind: str) -> StaleView:
        """Return how the process sees a kind."""
        ...

    def views(self) -> list[tuple[str, StaleView]]:
        """Return the views of all kinds."""
        ...

    def travel(self, kind: str, back: int, lasts: float, noticed: Noticed) -> None:
        """Let the next incarnation begin in the past."""
        ...

    def dated(self, request: HttpRequest, subject: RequestSubject) -> HttpRequest:
        """Return a read of any age as one of the age of the view."""
        ...

    def spoil_next_watch(self, kind: str, how: str, noticed: Noticed) -> None:
        """Let the next delivery of a kind fail."""
        ...

    def next_watch_fault(self, kind: str) -> str | None:
        """Return how this delivery fails."""
        ...

    def refuse(
        self,
        until: float,
        kind: str,
        verb: str,
        noticed: Noticed,
        *,
        code: int = ...,
        name: str = ...,
    ) -> None:
        """Answer requests with a status code."""
        ...

    def refusal(self, subject: RequestSubject, now: float) -> tuple[int, float] | None:
        """Return the status code with which a request is refused."""
        ...

    def slow_down(self, seconds: float, until: float) -> None:
        """Let answers take longer."""
        ...

    def latency(self, now: float) -> float:
        """Return how long the next answer takes."""
        ...


class StageUser(Protocol):
    """The user, as the faults see it."""

    def wants(self, target: str) -> bool:
        """Whether the user has created that object and not deleted it."""
        ...

    @property
    def locked(self) -> asyncio.Lock:
        """Held during each step, so that no two are made at the same time."""
        ...

    async def restore(self, kind: str) -> None:
        """Create the objects of a kind again that the user wants."""
        ...

    def injected(self, how: str, target: str, body: Json) -> Coroutine[Any, Any, None]:
        """Delete, recreate or edit an object of the scenario."""
        ...


class Stage(Protocol):
    """A run, as its parts see it."""

    plan: Plan
    seed: int
    namespace: str
    loop: SimulationLoop
    clock: VirtualClock
    rng: Random
    director: Director
    trace: Trace
    server: SimulatedServer
    describer: Describer
    template: Template
    collector: SimulatedCollector
    world: World
    is_over: bool
    is_meddled: bool
    healing: Healing
    settled: list[list[Json]]
    schedule: RunSchedule

    @property
    def players(self) -> "list[StageProcess]":
        """The processes."""
        ...

    @property
    def actor(self) -> StageUser:
        """The user."""
        ...

    async def begin(self) -> None:
        """Start, at the first step of the scenario."""
        ...

    async def carry(self, request: HttpRequest, writer: tuple[str, int, int]) -> HttpResponse:
        """Let the server act on a request."""
        ...

    def meddle(self, method: str, path: str, body: Json | None = ..., content: str = ...) -> None:
        """Let another client send a request now."""
        ...

    def path_of(self, found: ResourceType, obj: Json) -> str:
        """Return the path of a stored object."""
        ...

    def resource_of(self, kind: str) -> str:
        """Return the name of a kind in the store."""
        ...

    def latency(self) -> float:
        """Return how long an answer takes."""
        ...

    def refuse_if_over(self) -> None:
        """Raise for a request after the end of the run."""
        ...

    def disturb(self, index: int, action: Action, process: Any, subject: RequestSubject) -> None:
        """Let a fault of the world happen."""
        ...

    async def settle(self, within: float) -> bool:
        """Let time pass until no process has work."""
        ...

    async def advance(self, seconds: float) -> None:
        """Let time pass."""
        ...

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call a function of the environment after a time."""
        ...

    def spawn(self, step: Coroutine[Any, Any, None]) -> None:
        """Run a step of the environment beside the others."""
        ...

    def wrote(self, record: WriteRecord) -> None:
        """Note which state made a write, in a reference."""
        ...

    def next_incarnation(self) -> int:
        """Return the number of the next incarnation."""
        ...

    def fail(self, oracle: str, role: str, message: str) -> None:
        """Note that a property did not hold."""
        ...

    def note(self, who: str, what: str, detail: str = "") -> None:
        """Add a line to the trace."""
        ...

    def note_fault(self, action: Action, subject: RequestSubject | None) -> None:
        """Add a fault to the trace."""
        ...
