"""Trace: remembers the last pass of each object, for ``myrmidon explain`` and ``myrmidon dev``.

``Tracer.around`` wraps the reconcile function, and ``Tracer.wrote`` is a listener of the applicator
that sends the writes.  Without ``ManagerOptions.trace`` neither is installed, so there is no cost.
Memory is bounded: the last pass and the last ``WRITES_MAX`` writes of at most ``OBJECTS_MAX``
objects.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json, generation_of, is_deleting, ref_of
from myrmidon.api.objects.conditions import READY, find
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Request
from myrmidon.api.values.texts import condition_message
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.engine import Outcome
from myrmidon.fsm.status.status_home import StatusHome
from myrmidon.fsm.suspension import is_suspended
from myrmidon.io.writes.sent_writes import SentWrite
from myrmidon.runtime.observability.snapshot import ObjectView, Phase, Step, Waiting, Wrote
from myrmidon.runtime.queue.queue import Turn, WorkQueue
from myrmidon.runtime.reconcile.worker import Reconcile
from myrmidon.runtime.views.cluster_view import ClusterView

OBJECTS_MAX = 5_000
WRITES_MAX = 12
GONE_SECONDS_MAX = 60.0  # how long a deleted object is still shown


class Traced(NamedTuple):
    """What a snapshot of one controller is made from, apart from its recorded passes."""

    controller: Controller[Any]
    queue: WorkQueue[ObjectRef]
    objects: ClusterView
    home: StatusHome


@dataclass(slots=True)
class _Memory:
    """The last pass and the last writes of one object."""

    ref: ObjectRef
    path: tuple[Step, ...] = ()
    waiting: Waiting | None = None
    scheduled_by: str = ""
    passes: int = 0
    ended_at: datetime | None = None
    causes: tuple[str, ...] = ()
    writes: deque[Wrote] = field(default_factory=lambda: deque(maxlen=WRITES_MAX))
    gone_at: datetime | None = None


class _NextPass(NamedTuple):
    """When the next pass is due, None if only a resync is, and the state that scheduled it."""

    at: datetime | None = None
    scheduled_by: str = ""


_NO_NEXT_PASS = _NextPass()


class Tracer:
    """Remembers the passes of one controller."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._memories: OrderedDict[str, _Memory] = OrderedDict()

    def around(self, reconcile: Reconcile, read: Callable[[ObjectRef], Json | None]) -> Reconcile:
        """Return ``reconcile`` with its outcomes recorded; ``read`` returns the cached object."""

        async def watched(turn: Turn[ObjectRef]) -> Outcome | None:
            outcome = await reconcile(turn)
            self._ended(turn, outcome, read(turn.key))
            return outcome

        return watched

    def wrote(self, sent: SentWrite) -> None:
        """Record a write of a pass, with the error if it was refused."""
        key, request = sent.by.partition(":")[2], sent.request
        if key:
            part = request.subresource or _part(request)
            wrote = Wrote(self._clock.now(), request.verb.value, request.ref, part, sent.error)
            memory = self._memories.get(key)
            if memory is None:  # the first pass is under way
                memory = self._remember(key, None)
            memory.writes.append(wrote)

    def view(self, traced: Traced, key: str) -> ObjectView | None:
        """Return one object of the controller, by ``namespace/name``; None if there is none."""
        memory = self._memories.get(key)
        ref = memory.ref if memory is not None else _NO_REF_YET
        if memory is None or ref is None:
            return None  # no pass over it has ended yet
        next_pass = self._next_pass(traced.queue.turn_of(ref), memory)
        return _view(traced, ref, memory, traced.objects.look(ref), next_pass)

    def views(self, traced: Traced) -> Iterator[ObjectView]:
        """Return every object of the controller, including those deleted in the last minute."""
        kind, now = traced.controller.kind(), self._clock.now()
        due = {turn.key: turn for turn in traced.queue.owed()}
        present = {ref_of(kind, obj).key: obj for obj in traced.objects.list(kind)}
        for key, obj in present.items():
            ref = ref_of(kind, obj)
            memory = self._memories.get(key) or _Memory(ref)
            yield _view(traced, ref, memory, obj, self._next_pass(due.get(ref), memory))
        for key, memory in list(self._memories.items()):
            if key in present or memory.gone_at is None:
                continue
            if now - memory.gone_at > timedelta(seconds=GONE_SECONDS_MAX):
                del self._memories[key]
            else:
                yield _view(traced, memory.ref, memory, None, _NO_NEXT_PASS)

    # ---------------------------------------------------------------------------- inside

    def _remember(self, key: str, ref: ObjectRef | None) -> _Memory:
        memory = self._memories.get(key)
        if memory is None:
            memory = self._memories[key] = _Memory(ref or _NO_REF_YET)
            if len(self._memories) > OBJECTS_MAX:
                self._memories.popitem(last=False)
        if ref is not None:
            memory.ref = ref
        return memory

    def _ended(self, turn: Turn[ObjectRef], outcome: Outcome | None, obj: Json | None) -> None:
        if obj is None and turn.key.key not in self._memories:
            return  # a trigger named an object that does not exist
        now = self._clock.now()
        memory = self._remember(turn.key.key, turn.key)
        self._memories.move_to_end(turn.key.key)
        memory.passes += 1
        memory.ended_at, memory.causes = now, tuple(map(str, turn.causes))
        if obj is not None:
            memory.gone_at = None
        elif memory.gone_at is None:
            memory.gone_at, memory.waiting = now, None
        if outcome is not None:
            memory.path = _steps(outcome)
            memory.waiting = _waiting(outcome, memory.waiting, now)
            memory.scheduled_by = outcome.again.state if outcome.again is not None else ""

    def _next_pass(self, turn: Turn[ObjectRef] | None, memory: _Memory) -> _NextPass:
        if turn is None or all(cause.relation == "resync" for cause in turn.causes):
            return _NO_NEXT_PASS
        seconds = max(turn.due_at - self._clock.monotonic(), 0.0)
        scheduled = all(cause.relation == "schedule" for cause in turn.causes)
        at = self._clock.now() + timedelta(seconds=seconds)
        return _NextPass(at, memory.scheduled_by if scheduled else "")


def _steps(outcome: Outcome) -> tuple[Step, ...]:
    return tuple(
        Step(
            visit.state.name,
            visit.state.condition,
            visit.value.status,
            visit.value.reason,
            condition_message(visit.value.message),
            visit.branch,
        )
        for visit in outcome.visits
    )


def _waiting(outcome: Outcome, before: Waiting | None, now: datetime) -> Waiting | None:
    """Return what the object waits for; ``since`` is kept while the reason stays the same."""
    wanting = next((v for v in outcome.visits if v.value.status != "True"), None)
    failed = outcome.failure is not None
    if wanting is not None:
        reason, message = wanting.value.reason, wanting.value.message
    elif outcome.failure is not None:
        reason, message = outcome.failure.reason, outcome.failure.message
    elif outcome.unsettled:
        reason, message = "InProgress", "it is looked at again"
    else:
        return None
    since = before.since if before is not None and before.reason == reason else now
    return Waiting(reason, condition_message(message), since, failed)


def _view(
    traced: Traced,
    ref: ObjectRef,
    memory: _Memory,
    obj: Json | None,
    next_pass: _NextPass,
) -> ObjectView:
    return ObjectView(
        ref,
        traced.controller.name,
        _phase(memory, obj, traced.home),
        generation_of(obj or {}),
        memory.path,
        memory.waiting,
        next_pass.at,
        next_pass.scheduled_by,
        memory.passes,
        memory.ended_at,
        memory.causes,
        tuple(memory.writes),
    )


def _part(request: Request) -> str:
    """Return what a JSON patch of an object changes: its finalizers, or its status annotation."""
    if request.patch is not Patch.JSON:
        return ""
    paths = (str(operation["path"]) for operation in request.body)
    return "finalizer" if any("/finalizers" in path for path in paths) else "status"


def _phase(memory: _Memory, obj: Json | None, home: StatusHome) -> Phase:
    if obj is None:
        return "gone"
    if is_suspended(obj):
        return "suspended"
    if is_deleting(obj):
        return "deleting"
    if home.conditions is None:
        return _phase_of_last_pass(memory)
    ready: Any = find(home.seen(obj), READY)
    if ready is not None and ready.observed_generation == generation_of(obj):
        if ready.status == "True":
            return "ready"
        return "failing" if memory.waiting is not None and memory.waiting.failed else "waiting"
    return "new" if memory.passes == 0 else "waiting"


def _phase_of_last_pass(memory: _Memory) -> Phase:
    """Return the phase of an object that has no conditions, from its last pass in this process."""
    if memory.passes == 0:
        return "new"
    if memory.waiting is None:
        return "ready"
    return "failing" if memory.waiting.failed else "waiting"


_NO_REF_YET: Any = None  # for a memory that begins with a write, until the pass ends
