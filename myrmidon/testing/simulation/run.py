"""Run: one execution of a scenario under a plan, in virtual time.

    the scenario's coroutine      user, settle, always ...          incarnation 0
    processes                     controllers behind their gates    incarnations 1, 2, ...
    the server and its actors     rolled back to its checkpoint     incarnation 0

The run ends in four steps: the faults of the trigger ``end`` happen; all faults that last are healed;
the controllers get the time that they need to recover, and settle; every object is reconciled twice
more, which must write nothing.  Then the oracles judge.

``Run`` holds the parts; ``Simulation`` is what a scenario sees of it.
"""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.paths import object_path
from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.fronts.waiting import answer
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.errors import AmbiguousError
from myrmidon.runtime.observability.change_log import WriteRecord
from myrmidon.testing.harness.clock import VirtualClock, quiesced, reached
from myrmidon.testing.harness.conversions import convert_in_process
from myrmidon.testing.simulation.actions import Action
from myrmidon.testing.simulation.director import Director
from myrmidon.testing.simulation.disturbances import MONKEY, disturb
from myrmidon.testing.simulation.embedded import (
    Housekeeping,
    MakeActors,
    ScenarioWebhook,
    SimulatedCollector,
    SimulatedServer,
    Template,
    template_for,
)
from myrmidon.testing.simulation.externals import SimulatedExternal
from myrmidon.testing.simulation.fairness import FairTime
from myrmidon.testing.simulation.healing import Healing, Recovery
from myrmidon.testing.simulation.loop import SimulationLoop
from myrmidon.testing.simulation.monitors import Monitor, Monitors
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.processes import SimulatedProcess, have_plans, overdue
from myrmidon.testing.simulation.programs import Recipe, definitions_in
from myrmidon.testing.simulation.requests import Describer, RequestSubject
from myrmidon.testing.simulation.result import SimulationFailure
from myrmidon.testing.simulation.schedules import RunSchedule
from myrmidon.testing.simulation.stage import StageProcess
from myrmidon.testing.simulation.trace import Commit, Happened, Trace
from myrmidon.testing.simulation.user import ScenarioUser
from myrmidon.testing.simulation.world import World

_DEFAULT = "default"
_UNNOTICED = frozenset({"leases.coordination.k8s.io", "events", "events.events.k8s.io"})
"""Resources whose changes do not count as work that goes on."""
IDLE_SECONDS = 600.0
"""Controllers that only look again, and have changed nothing for so long, wait for someone else."""
RESYNCS = 2
PLAIN_REST_SECONDS = 60.0
_MEDDLING = frozenset({"user", "namespace", "monkey", "crd"})


class Run:
    """The parts of one execution of a scenario."""

    server: SimulatedServer
    describer: Describer
    template: Template
    collector: SimulatedCollector
    world: World
    monitors: Monitors

    def __init__(self, plan: Plan, seed: int, namespace: str, actors: MakeActors | None) -> None:
        self.plan, self.seed, self.namespace, self._actors = plan, seed, namespace, actors
        self.loop = SimulationLoop()
        self.clock = VirtualClock(self.loop)
        self.rng = Random(f"{seed}:world")  # noqa: S311 - chooses orders; keeps no secret
        self._latencies = Random(f"{seed}:latency")  # noqa: S311
        self.jitter_seconds = 0.0
        self.director = Director(plan)
        self.trace = Trace()
        self.failures: list[SimulationFailure] = []
        self.recipes: list[tuple[Recipe, int]] = []
        self.processes: list[SimulatedProcess] = []
        self.externals: dict[str, SimulatedExternal] = {}
        self.extra_definitions: list[Json] = []
        self.extra_manifests: list[Json] = []
        self.webhooks: list[ScenarioWebhook] = []
        self.user = ScenarioUser(self)
        self.retained: dict[str, None] = {}
        self.ignored: list[str] = []
        self._awaiting: list[Monitor] = []
        self.is_over = self.has_begun = self.is_timed = False
        self.healing, self.recovery, self.schedule = (
            Healing(self),
            Recovery(),
            RunSchedule(self.loop),
        )
        self.fair_time = FairTime()
        self.is_meddled = any(fault.action.kind in _MEDDLING for fault in plan)
        self.start_state: Callable[[Run], None] | None = None
        self.settled: list[list[Json]] = []
        """All objects at each ``settle`` of a reference."""
        self._changed_at = 0.0
        self.states: dict[str, str] = {}
        """In a reference: the state that made a write, by the resourceVersion of its answer."""
        self.unseen_errors: list[str] = []
        self.renewals: dict[int, tuple[float, float, bool]] = {}
        """For each commit of a replica: ``SimulatedProcess.issued``."""
        self.loop.set_exception_handler(self._unseen)
        self.at_rest: list[Json] | None = None
        """All objects when the controllers had settled after all faults; None before."""
        self.at_rest_from = 0
        """The number of commits before the controllers had to be at rest."""
        self._incarnations = 0
        self._spawned: list[asyncio.Task[None]] = []

    # --------------------------------------------------------------------------- beginning

    async def begin(self) -> None:
        """Roll the server back and start the processes, at the first step of the scenario."""
        if self.has_begun:
            return
        self.has_begun = True
        recipes = [recipe for recipe, _ in self.recipes]
        self.template = template_for(definitions_in(recipes, self.extra_definitions))
        self.server, self.describer = self.template.server, self.template.describer
        for recipe in recipes:
            convert_in_process(self.server, recipe.controllers)
        self.collector = self.template.fork(self.clock, self._actors, self.seed)
        self.world = World(self.server, self.namespace, self.externals)
        self.monitors = Monitors(self.world, self._violated, self.fair_time)
        self._housekeeping = Housekeeping(self.server, self.loop, self.clock)
        self.server.store.listen(self._committed)
        if self.namespace != _DEFAULT:
            self.server.create(_namespace(self.namespace))
        self.server.install_webhooks(self.webhooks)
        for manifest in self.extra_manifests:
            problem = self.server.create(manifest)
            assert not problem, f"the simulated server refused a manifest: {problem}"
        for monitor in self._awaiting:
            self.monitors.add(monitor, 0.0)
        if self.start_state is not None:
            self.start_state(self)
        for recipe, replicas in self.recipes:
            self._deploy(recipe, replicas)
        for index, fault in self.director.at("time"):
            self._at(fault.trigger.seconds, index, fault.action)

    def _deploy(self, recipe: Recipe, replicas: int) -> None:
        group: list[SimulatedProcess] = []
        for _ in range(replicas):
            number = len(self.processes)
            process = SimulatedProcess(self, recipe, number, f"controller-{number}", replicas)
            process.group = group
            group.append(process)
            self.processes.append(process)
            process.start()

    def add(self, recipe: Recipe, replicas: int) -> None:
        """Add a deployment; it starts at the first step, or now if that is over."""
        self.recipes.append((recipe, replicas))
        if self.has_begun:
            for definition in recipe.definitions:
                self.server.create(definition)
            self._deploy(recipe, replicas)

    def watch(self, monitor: Monitor) -> None:
        """Watch a property from now on; from the first step on if there was none yet."""
        if self.has_begun:
            self.monitors.add(monitor, self.loop.time())
        else:
            self._awaiting.append(monitor)

    def wrote(self, record: WriteRecord) -> None:
        """Note which state made a write, in a reference."""
        if record.resource_version:
            self.states[record.resource_version] = record.state

    def next_incarnation(self) -> int:
        """Return the number of the next incarnation of any process."""
        self._incarnations += 1
        return self._incarnations

    # ---------------------------------------------------------------------------- requests

    async def carry(self, request: HttpRequest, writer: tuple[str, int, int]) -> HttpResponse:
        """Let the server act on a request, in the name of a writer; return its answer."""
        server = self.server
        server.writer = writer
        outcome = server.answer(request)
        server.settle()
        if isinstance(outcome, HttpResponse):
            return outcome
        answered = await answer(server, request, None, outcome)
        assert isinstance(answered, HttpResponse), f"{request.path} is a watch"
        return answered

    def meddle(
        self, method: str, path: str, body: Json | None = None, content: str = "application/json"
    ) -> None:
        """Let another client send a request now."""
        self.server.writer = (MONKEY, -1, 0)
        self.server.request(method, path, body, content_type=content)
        self.server.settle()

    def path_of(self, found: ResourceType, obj: Json) -> str:
        """Return the path of a stored object."""
        meta = obj["metadata"]
        return object_path(ObjectRef(found.kind, meta["name"], meta.get("namespace", "")))

    def resource_of(self, kind: str) -> str:
        """Return the name of a kind in the store."""
        return self.world.type_of(kind).stored_as

    def latency(self) -> float:
        """Return how long an answer takes: 0, or a random time if the schedule is random."""
        return self._latencies.random() * self.jitter_seconds if self.jitter_seconds else 0.0

    def refuse_if_over(self) -> None:
        """Raise for a request after the end of the run."""
        if self.is_over:
            raise AmbiguousError("the simulation is over")

    # ------------------------------------------------------------------------------ faults

    def disturb(
        self, index: int, action: Action, process: SimulatedProcess, subject: RequestSubject
    ) -> None:
        """Let a fault of the world happen."""
        self.note_fault(action, subject)
        disturb(self, index, action, process)

    def _at(self, seconds: float, index: int, action: Action) -> None:
        self.later(max(seconds - self.loop.time(), 0.0), lambda: self._happen(index, action))

    def _happen(self, index: int, action: Action) -> None:
        if not self.is_over:
            self.note_fault(action, None)
            disturb(self, index, action, self.leader())

    @property
    def players(self) -> list[StageProcess]:
        """The processes, as other parts see them."""
        return list(self.processes)

    @property
    def actor(self) -> ScenarioUser:
        """The user, as the faults see it."""
        return self.user

    def leader(self) -> SimulatedProcess:
        """Return the process that works, the first one if none does."""
        return next((one for one in self.processes if one.works), self.processes[0])

    def end_faults(self) -> None:
        """Let the faults of the trigger ``end`` happen."""
        for index, fault in self.director.at("end"):
            self._happen(index, fault.action)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call a function of the environment after a time."""
        self.loop.call_at(self.loop.time() + seconds, call, context=self.loop.environment)

    def spawn(self, step: Coroutine[Any, Any, None]) -> None:
        """Run a step of the environment beside the others."""
        self._spawned.append(self.loop.create_task(step, context=self.loop.environment.copy()))

    def heal(self, *, outages: bool = True) -> None:
        """End all faults that last, or all but outages."""
        self.jitter_seconds = 0.0
        if outages:
            self.fair_time.heal(self.loop.time())
        self.schedule.end()
        self.healing.undo_all(outages=outages)
        self.template.server.ask_webhook("")
        self.collector.late_until = None
        for process in self.processes:
            process.heal(outages=outages)
        self.server.settle()

    # ------------------------------------------------------------------------------- notes

    def note(self, who: str, what: str, detail: str = "") -> None:
        """Add a line to the trace."""
        self.trace.entries.append(Happened(self.loop.time(), who, what, detail))

    def note_fault(self, action: Action, subject: RequestSubject | None) -> None:
        """Add a fault to the trace."""
        self.fair_time.disturb(action, self.loop.time())
        self.note("fault", str(action), "" if subject is None else str(subject))

    def fail(self, oracle: str, role: str, message: str) -> None:
        """Note that a property did not hold; the first time of each role counts."""
        if not any(one.signature == (oracle, role) for one in self.failures):
            self.failures.append(SimulationFailure(oracle, role, message, self.loop.time()))

    def _violated(self, name: str, message: str) -> None:
        self.fail("O10", name, message)

    def _unseen(self, _loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not self.is_over and error is not None:
            self.unseen_errors.append(f"{type(error).__name__}: {error}")

    def _committed(self) -> None:
        name, process, incarnation = self.server.writer
        now = self.loop.time()
        revision = self.server.store.revision
        if process >= 0 and self.processes[process].replicas > 1:
            self.renewals[len(self.trace.commits)] = self.processes[process].issued
        self.trace.commits.append(Commit(revision, now, name, process, incarnation))
        if self.server.store.last_change().resource not in _UNNOTICED:
            self._changed_at = now
        if self.monitors.all:
            self.monitors.check(now)

    # -------------------------------------------------------------------------------- time

    async def settle(self, within: float) -> bool:
        """Let time pass until no process has work; return False if that takes too long."""
        started = self.loop.time()
        ends_at = started + within
        while True:
            if not await quiesced(self.loop):
                self.fail("O7", "the event loop", "no time passes: work is repeated without a wait")
                return False
            for role, message in overdue(self.processes, self.loop.time()):
                self.fail("O11", role, message)
            due_at = self._due_at()
            if due_at is None or due_at > max(started, self._changed_at) + IDLE_SECONDS:
                self.is_timed = self.is_timed or have_plans(self.processes, self.loop.time())
                return True
            if due_at <= self.loop.time():
                due_at = self.loop.next_timer()
            if due_at > ends_at:
                return False
            await reached(due_at, self.loop)

    def _due_at(self) -> float | None:
        times = [process.due_at() for process in self.processes]
        due = self.server.due()
        if due is not None:
            times.append(self.loop.time() + (due - self.clock.now()).total_seconds())
        if any(not task.done() for task in self._spawned):
            times.append(self.loop.next_timer())
        times.append(self._quiet_at())
        return min((at for at in times if at is not None), default=None)

    def _quiet_at(self) -> float | None:
        """Return when plain programs count as settled; None if they do already."""
        quiet = max((recipe.quiet_seconds for recipe, _ in self.recipes), default=0.0)
        if not quiet:
            return None
        started = max((process.started_at for process in self.processes), default=0.0)
        until = max(self._changed_at, started) + quiet
        return min(until, self.loop.next_timer()) if self.loop.time() < until else None

    def objects(self) -> list[Json]:
        """Return all objects of the store, except those that each new cluster has."""
        return self.server.store.written()

    async def rest(self) -> None:
        """Let every object be reconciled twice more; judged by what was written meanwhile."""
        for _ in range(RESYNCS):
            for process in self.processes:
                if process.works and process.program is not None:
                    await process.program.resync()
            if any(recipe.is_plain for recipe, _ in self.recipes):
                await self.advance(PLAIN_REST_SECONDS)
            await self.settle(PLAIN_REST_SECONDS * 10)

    def is_blind(self) -> bool:
        """Whether a process is down, stopped or behind, so that the world may lag now."""
        return any(process.is_blind(self.loop.time()) for process in self.processes)

    async def advance(self, seconds: float) -> None:
        """Let time pass."""
        await reached(self.loop.time() + seconds, self.loop)
        await quiesced(self.loop)

    def close(self) -> None:
        """End every process and release the loop."""
        self.is_over = True
        if self.has_begun:
            self._housekeeping.stop()
            self.server.store.rollback(self.template.checkpoint.store)
        self.loop.abandon()
        self.loop.close()


def _namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
