"""The embedded server of a simulation: built once, rolled back to its start for each run.

Building a server costs more than a run: 60 built-in kinds, the definitions of the controllers and
their schemas.  So there is one server per set of definitions, and each run rolls it back to a
checkpoint.  Records are values, which makes that cheap.

Here are also the parts of the cluster that a plan can disturb: the garbage collector and an admission
webhook.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any

from myrmidon.api.objects.accessors import Json, namespace_of, owners_of, uid_of
from myrmidon.api.objects.refs import split_api_version
from myrmidon.apiserver.actors import cluster_actors
from myrmidon.apiserver.actors.actor import Actor, ServerAccess
from myrmidon.apiserver.actors.collector import GarbageCollector
from myrmidon.apiserver.refusals.failures import Failure, internal
from myrmidon.apiserver.requests.call import AdmissionStep, PendingWrite
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.server import ApiServer, ServerCheckpoint
from myrmidon.errors import MyrmidonError
from myrmidon.testing.harness.clock import EPOCH, VirtualClock
from myrmidon.testing.simulation.requests import Describer

MARK = "simulation.myrmidon.dev/webhook"
"""The label that the mutating webhook sets; end states are compared without it."""
DRIFT = "simulation.myrmidon.dev/drift"
"""The label that stands for a foreign edit of an object without other fields to edit."""
_FIRST_UID = 0x100000
USER, CLUSTER = "user", "cluster"

MakeActors = Callable[[], Iterable[Actor]]


class SimulatedEnvironment(CountingEnvironment):
    """Uids and names that count up, and virtual time."""

    def __init__(self, clock: VirtualClock, seed: int) -> None:
        # The first uids belong to the objects of the template.
        super().__init__(uids_drawn=_FIRST_UID + seed * 0x10000, suffixes_drawn=seed * 7919)
        self._clock = clock
        self._told: tuple[float, datetime] = (-1.0, EPOCH)

    def now(self) -> datetime:
        """Return the virtual time of day; most requests are at the time of the one before."""
        at = self._clock.monotonic()
        if self._told[0] != at:
            self._told = (at, self._clock.now())
        return self._told[1]


class SimulatedCollector(GarbageCollector):
    """A garbage collector that can be late, or lose its graph and rebuild it in another order."""

    def __init__(self) -> None:
        super().__init__()
        self.late_until: datetime | None = None

    def act(self, server: ServerAccess) -> bool:
        """Collect, unless it is late."""
        if self.late_until is not None:
            if server.core.environment.now() < self.late_until:
                return False
            self.late_until = None
        return super().act(server)

    def due(self) -> datetime | None:
        """Return the end of its delay."""
        return self.late_until

    def restart(self, server: ApiServer, rng: Random) -> None:
        """Forget the graph, and observe all objects again in a random order."""
        late_until = self.late_until
        self.__init__()  # type: ignore[misc]
        self.late_until = late_until
        changes = server.store.checkpoint().changes()
        rng.shuffle(changes)
        for change in changes:
            self.observe(change)


class TrustingCollector(SimulatedCollector):
    """A garbage collector that finds owners by uid alone, in whichever namespace (Kubernetes < 1.20).

    It keeps the children of an owner in another namespace as long as the owner is in its graph.  When it
    starts again, it may meet a child before its owner, looks for the owner in the namespace of the child,
    and deletes the child.  Here it always meets children first.
    """

    def restart(self, server: ApiServer, rng: Random) -> None:
        """Forget the graph, and meet every child before its owner."""
        del rng
        self.__init__()  # type: ignore[misc]
        changes = server.store.checkpoint().changes()
        changes.sort(key=lambda change: not owners_of(change.record.value))
        for change in changes:
            self.observe(change)
            self.act(server)

    def _owner_state(self, server: ServerAccess, node: Any, reference: Json) -> str:
        if str(reference.get("uid")) in self._nodes:
            return "solid"
        here = namespace_of(node.value)
        for record in server.core.store.scan(_stored_as(server, reference)):
            if uid_of(record.value) == reference.get("uid"):
                # In the same namespace a live read finds it, although the graph does not have it yet.
                return "solid" if namespace_of(record.value) in ("", here) else "gone"
        return super()._owner_state(server, node, reference)


def _stored_as(server: ServerAccess, reference: Json) -> str:
    group, version = split_api_version(str(reference.get("apiVersion") or ""))
    found = server.core.registry.find_kind(group, version, str(reference.get("kind")))
    return "" if found is None else found.stored_as


@dataclass
class SimulatedWebhook:
    """An admission webhook for the writes of controllers: off, or as a plan says."""

    how: str = ""
    kind: str = ""
    noticed: Callable[[], None] = lambda: None
    writer: Callable[[], int] = lambda: -1

    def admit(self, admission: PendingWrite) -> Json | None:
        """Change or refuse a create or an update by a controller."""
        if not self.how or self.writer() < 0 or admission.obj is None or admission.subresource:
            return None
        kind = admission.call.type.kind
        if kind.kind in ("Lease", "Event") or (self.kind and kind.kind != self.kind):
            return None
        self.noticed()
        if self.how == "reject":
            raise Failure(
                403, "Forbidden", 'admission webhook "simulated" denied the request: injected'
            )
        if self.how == "quota":
            raise Failure(403, "Forbidden", "exceeded quota: simulated, requested: 1, limited: 0")
        if self.how == "down":
            raise internal('failed calling webhook "simulated": injected')
        meta = admission.obj.get("metadata") or {}
        labels = {**(meta.get("labels") or {}), MARK: "mutated"}
        return {**admission.obj, "metadata": {**meta, "labels": labels}}

    def check(self, admission: PendingWrite) -> None:
        """Do nothing: ``admit`` has refused the write already."""


@dataclass(frozen=True)
class ScenarioWebhook:
    """A mutating webhook of the scenario: it is always there, and sees the writes of everybody."""

    kind: str
    change: Callable[[Json], Json]

    def admit(self, admission: PendingWrite) -> Json | None:
        """Return the object as the webhook changes it."""
        kind = admission.call.type.kind.kind
        if admission.obj is None or admission.subresource or kind != self.kind:
            return None
        return self.change(admission.obj)

    def check(self, admission: PendingWrite) -> None:
        """Do nothing: it refuses no write."""


class SimulatedServer(ApiServer):
    """A server that knows on whose behalf it writes: a process, the user, or its own actors."""

    writer: tuple[str, int, int] = (CLUSTER, -1, 0)
    """Who makes the current request: a name, the number of a process or -1, its incarnation."""

    def __init__(self, actors: Iterable[Actor]) -> None:
        super().__init__(actors=actors)
        self.webhook = SimulatedWebhook(writer=lambda: self.writer[1])
        self._steps, self._memo = self.core.admission, self.handler.memo
        self._permanent: list[ScenarioWebhook] = []

    def install_webhooks(self, hooks: list[ScenarioWebhook]) -> None:
        """Have these webhooks of a scenario from now on, and no others."""
        self._permanent = hooks
        self.ask_webhook("")

    def ask_webhook(
        self, how: str, kind: str = "", noticed: Callable[[], None] = lambda: None
    ) -> None:
        """Let the webhook change or refuse the writes of controllers; ``how=""`` ends that.

        Without it, all inputs of a request are known, and repeated ones are answered from memory.
        """
        hook = self.webhook
        hook.how, hook.kind, hook.noticed = how, kind, noticed
        *steps, webhooks = self._steps
        asked: list[AdmissionStep] = [hook] if how else []
        asked += self._permanent
        self.core.admission = [*steps, *asked, webhooks] if asked else self._steps
        self.handler.memo = None if asked else self._memo

    def settle(self) -> None:
        """Run the actors, as themselves."""
        self.writer = (CLUSTER, -1, 0)
        super().settle()


@dataclass(eq=False)
class Template:
    """A server, and the checkpoint that each run starts from."""

    server: SimulatedServer
    checkpoint: ServerCheckpoint
    describer: Describer
    actors: list[Any] = field(default_factory=list)

    def fork(self, clock: VirtualClock, actors: MakeActors | None, seed: int) -> SimulatedCollector:
        """Roll the server back for a run; return its garbage collector."""
        made = list(cluster_actors() if actors is None else actors())
        kept = [one for one in made if not isinstance(one, GarbageCollector)]
        with_collector = len(kept) < len(made)
        given = (one for one in made if isinstance(one, SimulatedCollector))
        collector = next(given, None) or SimulatedCollector()
        self.server.install_webhooks([])
        environment = SimulatedEnvironment(clock, seed)
        self.server.rollback(
            self.checkpoint, environment, [collector, *kept] if with_collector else kept
        )
        return collector


_templates: dict[tuple[int, ...], Template] = {}
_kept: list[Json] = []  # the definitions whose ids are keys stay alive


def template_for(definitions: Sequence[Json]) -> Template:
    """Return the template of a server with these definitions, built on first use."""
    key = tuple(map(id, definitions))
    found = _templates.get(key)
    if found is None:
        server = SimulatedServer(cluster_actors())
        _kept.extend(definitions)
        for definition in definitions:
            problem = server.create(definition)
            if problem:
                raise MyrmidonError(f"the embedded server refused a definition: {problem}")
        server.settle()
        server.store.compact(server.store.revision)
        describer = Describer(server.core.registry)
        found = _templates[key] = Template(server, server.checkpoint(), describer)
    return found


class Housekeeping:
    """Runs the actors of the server when they are due, by timers of the environment.

    The timer belongs to the environment and not to the process whose request has set it: a process
    that is killed must not take the timers of the cluster with it.
    """

    def __init__(self, server: ApiServer, loop: Any, clock: VirtualClock) -> None:
        self._server, self._loop, self._clock = server, loop, clock
        self._timer: Any = None
        self._planned: datetime | None = None
        server.settled = self._plan
        self._plan()

    def _plan(self) -> None:
        due = self._server.due()
        if due == self._planned:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._planned, self._timer = due, None
        if due is not None:
            delay = max((due - self._clock.now()).total_seconds(), 0.0)
            at = self._loop.time() + delay
            self._timer = self._loop.call_at(at, self._run, context=self._loop.environment)

    def _run(self) -> None:
        self._planned = None
        self._server.settle()

    def stop(self) -> None:
        """Stop running the actors."""
        self._server.settled = None
        if self._timer is not None:
            self._timer.cancel()
