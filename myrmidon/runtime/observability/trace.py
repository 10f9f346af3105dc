"""Trace: records the passes of one controller, and shows its objects as their last passes left them.

``Tracer.around`` wraps the reconcile function, ``Tracer.wrote`` is a listener of the applicator that
sends the writes, and ``Tracer.state_ran`` gets the duration of each state.  Without
``ManagerOptions.trace`` none of them is installed, so there is no cost.  What they record is kept by
the ``Recorder`` of the process, which bounds its memory.

For ``myrmidon explain --process``, ``myrmidon dev`` and the live page.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import orjson

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, generation_of, is_deleting, ref_of
from myrmidon.api.objects.conditions import READY, find
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.api.values.texts import condition_message
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.engine import Outcome
from myrmidon.fsm.status.status_home import StatusHome
from myrmidon.fsm.suspension import is_suspended
from myrmidon.io.writes.sent_writes import SentWrite
from myrmidon.runtime.observability.change_log import fields_of
from myrmidon.runtime.observability.pass_record import PassRecord
from myrmidon.runtime.observability.recorder import PassHistory, Recorder
from myrmidon.runtime.observability.snapshot import ObjectView, Phase, Waiting, Wrote
from myrmidon.runtime.observability.under_way import PassUnderWay, WriteNote, current_pass
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
        self, controller: str, clock: Clock, recorder: Recorder, ran: Callable[[str, float], None]
    ) -> None:
        """``ran`` counts how long a state took."""
        self._name, self._clock = controller, clock
        self.recorder, self._find = recorder, recorder.find
        current = current_pass.get

        def state_ran(state: str, seconds: float) -> None:
            ran(state, seconds)
            current().seconds.append(seconds)  # type: ignore[union-attr]  # states run in passes

        self.state_ran = state_ran
        """Called with the name of a state that ran and the seconds it took."""
        self.writes = self.errors = self.passes = 0
        """What this controller did since the process started."""

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
                under_way.ended = True
                self._broke(under_way, monotonic() - began_at, error)
                raise
            under_way.ended = True
            ended(under_way, began_at, outcome, read)
            return outcome

        return recorded

    def wrote(self, sent: SentWrite) -> None:
        """Record a write of a pass, with the error if it was refused."""
        under_way = current_pass.get()
        if under_way is not None and not under_way.ended:
            under_way.writes.append(note_of(sent, self._clock.now()))

    def acted_outside(self, effect: ExternalEffect) -> None:
        """Record a call that created, updated or deleted a resource outside the cluster."""
        under_way = current_pass.get()
        if under_way is not None and not under_way.ended:
            ref, named = under_way.turn.key, " ".join(filter(None, (effect.external, effect.id)))
            note = (
                self._clock.now(),
                effect.verb,
                ref,
                "",
                "",
                "",
                effect.unknown,
                b"",
                b"",
                (),
                named,
            )
            under_way.writes.append(note)

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
        self.passes += 1
        self.errors += 1
        turn, now = under_way.turn, self._clock.now()
        said = condition_message(f"{type(error).__name__}: {error}")
        record = PassRecord(
            self._name,
            turn.key,
            at=now,
            seconds=seconds,
            causes=turn.causes,
            outcome=None,
            writes=under_way.writes,
            failure=said,
        )
        self.recorder.add((self._name, turn.key), record)

    def _ended(
        self,
        under_way: PassUnderWay,
        began_at: float,
        outcome: Outcome | None,
        read: Callable[[ObjectRef], Json | None],
    ) -> None:
        turn, now = under_way.turn, self._clock.now()
        key = (self._name, turn.key)
        self.passes += 1
        history = self._find(key)
        if history is not None and outcome is not None and not under_way.writes:
            last = history.records[-1]
            if last.is_quiet and outcome.visits == last.visits and not outcome.failure:
                last.causes = turn.causes
                self.recorder.repeat(history, last, now)
                return
        is_gone = (outcome is None or outcome.released) and read(turn.key) is None
        if history is None and is_gone and not under_way.writes:
            return  # a trigger named an object that does not exist
        record = PassRecord(
            self._name,
            turn.key,
            at=now,
            seconds=self._clock.monotonic() - began_at,
            causes=turn.causes,
            outcome=outcome,
            state_seconds=under_way.seconds,
            writes=under_way.writes,
        )
        self.writes += len(under_way.writes)
        before = history.waiting if history is not None else None
        history = self.recorder.add(key, record)
        if outcome is not None:
            history.waiting = _waiting(outcome, before, now)
            self.errors += outcome.failure is not None
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


def note_of(sent: SentWrite, at: datetime) -> WriteNote:
    """Return a write as it is recorded: with the object before and after it, unless it is a Secret.

    For a Secret the names of the changed fields are kept, and a refusal without the value that the
    server may quote in it.
    """
    _by, state, request, before, answer, error, unknown = sent
    verb, ref, part = request.verb, request.ref, request.subresource
    if request.patch is Patch.JSON:
        part = part or _part(request)
    if ref.kind == kinds.SECRET:
        fields = fields_of(sent) if answer is not None else ()
        return (
            at,
            verb.value,
            ref,
            part,
            _without_value(error),
            state,
            unknown,
            b"",
            b"",
            fields,
            "",
        )
    old = new = b""
    if answer is not None and verb is not Verb.DELETE:
        new = orjson.dumps(answer)
        if before is not None:
            old = orjson.dumps(before)
    return (at, verb.value, ref, part, error, state, unknown, old, new, (), "")


def _without_value(said: str) -> str:
    text, quoted, _ = said.partition("Invalid value:")
    return f"{text}{quoted} (not shown)" if quoted else said


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
    notes: list[WriteNote] = []
    for record in reversed(history.records):
        notes[:0] = record.notes
        if len(notes) >= WRITES_MAX:
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
        tuple(Wrote(*note) for note in notes[-WRITES_MAX:]),
    )


def _part(request: Request) -> str:
    """Return what a JSON patch of an object changes: its finalizers, or its status annotation."""
    if request.patch is not Patch.JSON:
        return ""
    paths = (str(operation["path"]) for operation in request.body)
    return "finalizer" if any("/finalizers" in path for path in paths) else "status"


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
