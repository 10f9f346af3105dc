"""Trace: records the passes of one controller, and shows its objects as their last passes left them.

``Tracer.around`` wraps the reconcile function, ``Tracer.wrote`` is a listener of the applicator that
sends the writes, and ``Tracer.state_ran`` gets the duration of each state.  Without
``ManagerOptions.trace`` none of them is installed, so there is no cost.  What they record is kept by
the ``Recorder`` of the process, which bounds its memory.

For ``myrmidon explain --process``, ``myrmidon dev`` and the live page.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json, generation_of, is_deleting, ref_of
from myrmidon.api.objects.conditions import READY, find
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.values.texts import condition_message
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.engine import Outcome
from myrmidon.fsm.metadata.suspension import is_suspended
from myrmidon.fsm.status.status_home import StatusHome
from myrmidon.runtime.observability.kept_writes import NONE, kept_writes
from myrmidon.runtime.observability.pass_record import PassRecord
from myrmidon.runtime.observability.recorder import PassHistory, Recorder
from myrmidon.runtime.observability.snapshot import ObjectView, Phase, Waiting, Wrote
from myrmidon.runtime.observability.under_way import PassUnderWay, current_pass, drop
from myrmidon.runtime.queue.queue import Turn, WorkQueue
from myrmidon.runtime.reconcile.external_effects import ExternalEffect
from myrmidon.runtime.reconcile.worker import Reconcile
from myrmidon.runtime.views.cluster_view import ClusterView

WRITES_MAX = 12
GONE_SECONDS_MAX = 60.0  # how long a deleted object is still shown


class Traced(NamedTuple):
    """What a snapshot of one controller is made from, apart from its recorded passes."""

    controller: Controller[Any]
    queue: WorkQueue[ObjectRef]
    objects: ClusterView
    home: StatusHome


class _NextPass(NamedTuple):
    """When the next pass is due, None if only a resync is, and the state that scheduled it."""

    at: datetime | None = None
    scheduled_by: str = ""


_NO_NEXT_PASS = _NextPass()


class Tracer:
    """Records the passes of one controller, and reads the record."""

    def __init__(
        self,
        controller: str,
        clock: Clock,
        recorder: Recorder,
        timers: Mapping[str, Callable[[float], None]],
    ) -> None:
        """``timers`` take the seconds of each state, for the metrics."""
        self._name, self._clock = controller, clock
        self.recorder, self._find = recorder, recorder.find
        current = current_pass.get

        def state_ran(state: str, seconds: float) -> None:
            timers[state](seconds)
            current().seconds.append(seconds)  # type: ignore[union-attr]  # states run in passes

        self.state_ran = state_ran
        """Called with the name of a state that ran and the seconds it took."""
        self.writes = 0
        """How many writes this controller sent since the process started."""

    def around(self, reconcile: Reconcile, read: Callable[[ObjectRef], Json | None]) -> Reconcile:
        """Return ``reconcile`` with its passes recorded; ``read`` returns the cached object."""
        monotonic, follow, ended = self._clock.monotonic, current_pass.set, self._ended

        async def recorded(turn: Turn[ObjectRef]) -> Outcome | None:
            under_way = PassUnderWay(turn)
            follow(under_way)
            began_at = monotonic()
            try:
                outcome = await reconcile(turn)
            except BaseException as error:
                under_way.append = drop
                self._broke(under_way, monotonic() - began_at, error)
                raise
            under_way.append = drop
            ended(under_way, began_at, outcome, read)
            return outcome

        return recorded

    def acted_outside(self, effect: ExternalEffect) -> None:
        """Record a call that created, updated or deleted a resource outside the cluster."""
        under_way = current_pass.get()
        if under_way is not None:
            under_way.append(effect)

    def view(self, traced: Traced, key: str) -> ObjectView | None:
        """Return one object of the controller, by ``namespace/name``; None if there is none."""
        namespace, _, name = key.rpartition("/")
        ref = ObjectRef(traced.controller.kind(), name, namespace)
        if self._find((self._name, ref)) is None:
            return None  # no pass over it has ended yet
        return self.view_of(traced, ref, traced.objects.look(ref))

    def view_of(self, traced: Traced, ref: ObjectRef, obj: Json | None) -> ObjectView:
        """Return one object of the controller; ``obj`` is the cached object, None if it is gone."""
        history = self._find((self._name, ref))
        if obj is None:
            return _view(traced, ref, history, None, _NO_NEXT_PASS)
        next_pass = self._next_pass(traced.queue.turn_of(ref), history)
        return _view(traced, ref, history, obj, next_pass)

    def views(self, traced: Traced) -> Iterator[ObjectView]:
        """Return every object of the controller, including those deleted in the last minute."""
        kind = traced.controller.kind()
        present: set[str] = set()
        for obj in traced.objects.list(kind):
            ref = ref_of(kind, obj)
            present.add(ref.key)
            yield self.view_of(traced, ref, obj)
        for ref in self.gone():
            if ref.key not in present:
                yield self.view_of(traced, ref, None)

    def gone(self) -> list[ObjectRef]:
        """Return the objects that were deleted in the last minute; forget those from before."""
        now, found = self._clock.now(), []
        for history in self.recorder.histories(self._name):
            if history.gone_at is None:
                continue
            if now - history.gone_at > timedelta(seconds=GONE_SECONDS_MAX):
                self.recorder.forget(history.key)
            else:
                found.append(history.ref)
        return found

    # ---------------------------------------------------------------------------- inside

    def _broke(self, under_way: PassUnderWay, seconds: float, error: BaseException) -> None:
        self.writes += len(under_way.writes)
        turn, now = under_way.turn, self._clock.now()
        said = condition_message(f"{type(error).__name__}: {error}")
        key = (self._name, turn.key)
        kept = kept_writes(under_way)
        record = PassRecord(key, now, seconds, turn.causes, None, kept=kept, failure=said)
        self.recorder.add(key, record)

    def _ended(
        self,
        under_way: PassUnderWay,
        began_at: float,
        outcome: Outcome | None,
        read: Callable[[ObjectRef], Json | None],
    ) -> None:
        turn, writes, clock = under_way.turn, under_way.writes, self._clock
        key = (self._name, turn.key)
        history = self._find(key)
        if history is not None and outcome is not None and not writes:
            last = history.records[-1]
            if outcome.visits == last.quiet_visits and outcome.failure is None:
                last.causes = turn.causes
                self.recorder.repeat(last, clock.now())
                return
        is_gone = (outcome is None or outcome.released) and read(turn.key) is None
        if history is None and is_gone and not writes:
            return  # a trigger named an object that does not exist
        now, seconds = clock.now(), clock.monotonic() - began_at
        kept = kept_writes(under_way) if writes else NONE
        record = PassRecord(
            key, now, seconds, turn.causes, outcome, state_seconds=under_way.seconds, kept=kept
        )
        self.writes += len(writes)
        before = None if history is None else history.waiting
        history = self.recorder.add(key, record)
        if outcome is not None and (
            before is not None or not outcome.ended or outcome.backoff or outcome.after
        ):
            history.waiting = _waiting(outcome, before, now)
        if not is_gone:
            history.gone_at = None
        elif history.gone_at is None:
            history.gone_at, history.waiting = now, None

    def _next_pass(self, turn: Turn[ObjectRef] | None, history: PassHistory | None) -> _NextPass:
        if turn is None or all(cause.relation == "resync" for cause in turn.causes):
            return _NO_NEXT_PASS
        seconds = max(turn.due_at - self._clock.monotonic(), 0.0)
        scheduled = all(cause.relation == "schedule" for cause in turn.causes)
        at = self._clock.now() + timedelta(seconds=seconds)
        by = history.last.next_pass.state if scheduled and history is not None else ""
        return _NextPass(at, by)


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
    history: PassHistory | None,
    obj: Json | None,
    next_pass: _NextPass,
) -> ObjectView:
    phase, generation = _phase(history, obj, traced.home), generation_of(obj or {})
    if history is None:
        return ObjectView(ref, traced.controller.name, phase, generation, again_at=next_pass.at)
    last = history.last
    seen = next((one for one in reversed(history.records) if not one.skipped), last)
    writes: list[Wrote] = []
    for record in reversed(history.records):
        writes[:0] = record.writes
        if len(writes) >= WRITES_MAX:
            break
    return ObjectView(
        ref,
        traced.controller.name,
        phase,
        generation,
        seen.steps,
        history.waiting,
        next_pass.at,
        next_pass.scheduled_by,
        history.passes,
        last.at,
        tuple(map(str, last.causes)),
        tuple(writes[-WRITES_MAX:]),
    )


def _phase(history: PassHistory | None, obj: Json | None, home: StatusHome) -> Phase:
    if obj is None:
        return "gone"
    if is_suspended(obj):
        return "suspended"
    if is_deleting(obj):
        return "deleting"
    if home.conditions is None:
        return _phase_of_last_pass(history)
    ready: Any = find(home.seen(obj), READY)
    if ready is not None and ready.observed_generation == generation_of(obj):
        if ready.status == "True":
            return "ready"
        waiting = history.waiting if history is not None else None
        return "failing" if waiting is not None and waiting.failed else "waiting"
    return "new" if history is None else "waiting"


def _phase_of_last_pass(history: PassHistory | None) -> Phase:
    """Return the phase of an object that has no conditions, from its last pass in this process."""
    if history is None:
        return "new"
    if history.waiting is None:
        return "ready"
    return "failing" if history.waiting.failed else "waiting"
