"""Worker: takes keys that are due, has them reconciled, puts them back when they ask for it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from myrmidon.api.clock import Clock
from myrmidon.api.refs import ObjectRef
from myrmidon.errors import LeadershipLostError
from myrmidon.fsm.context import Cause
from myrmidon.fsm.engine import Outcome
from myrmidon.runtime.backoff import Backoff
from myrmidon.runtime.bell import Bell
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.observing import Observing
from myrmidon.runtime.queue import DUE_NOW, Turn, Urgency, WorkQueue

Reconcile = Callable[[Turn[ObjectRef]], Awaitable[Outcome | None]]


@dataclass(slots=True)
class Shift:
    """What the workers of one controller share."""

    queue: WorkQueue[ObjectRef]
    backoff: Backoff[ObjectRef]
    reconcile: Reconcile
    observing: Observing
    clock: Clock
    log: Logger
    resync: Callable[[], float | None]  # seconds until a healthy object is looked at again
    generation: Callable[[ObjectRef], int]
    began: Callable[[ObjectRef], None] = lambda _key: None
    ended: Callable[[ObjectRef], None] = lambda _key: None
    bell: Bell = field(default_factory=Bell)
    stopping: bool = False

    def add(
        self,
        key: ObjectRef,
        *,
        cause: Cause | None = None,
        delay: float = 0.0,
        urgency: Urgency = Urgency.LIVE,
    ) -> None:
        """Owe a key a turn, and wake one who is idle."""
        now = self.clock.monotonic()
        self.queue.add(key, now=now, due_at=now + delay, urgency=urgency, cause=cause)
        self.observing.added(delayed=delay > 0)
        self.bell.ring()

    def stop(self) -> None:
        """No new passes; those under way go on."""
        self.stopping = True
        self.bell.ring_for_all()


async def work(shift: Shift) -> None:
    """Reconcile keys as they come due, one at a time, until the shift is over."""
    while not shift.stopping:
        turn = shift.queue.take(shift.clock.monotonic())
        wake_at = shift.queue.wake_at()
        if turn is None:
            # No await since take(), so nothing can have been added unseen.
            await shift.bell.sleep(None if wake_at is None else wake_at - shift.clock.monotonic())
            continue
        if wake_at == DUE_NOW:
            shift.bell.ring()  # an alarm wakes one worker, and there is more to do
        shift.began(turn.key)
        try:
            await _take_turn(shift, turn)
        finally:
            shift.ended(turn.key)
            shift.queue.finish(turn.key, now=shift.clock.monotonic())


async def _take_turn(shift: Shift, turn: Turn[ObjectRef]) -> None:
    started_at = shift.clock.monotonic()
    shift.observing.pass_began(turn, started_at)
    outcome: Outcome | None = None
    broken = True
    try:
        outcome = await shift.reconcile(turn)
        broken = False
    except LeadershipLostError:
        raise
    except Exception as error:  # noqa: BLE001 - one object must not stop the others
        shift.observing.pass_broke(timed_out=False)
        shift.log.crash("pass broke", error, object=turn.key.key)
    finally:
        seconds = shift.clock.monotonic() - started_at
        shift.observing.pass_ended(outcome, seconds, broken=broken)
    _again(shift, turn.key, outcome, broken=broken)


def _again(shift: Shift, key: ObjectRef, outcome: Outcome | None, *, broken: bool) -> None:
    """Put a key back for as soon as it asks for."""
    if broken or (outcome is not None and outcome.backoff):
        delay = shift.backoff.failed(key, shift.generation(key))
        if outcome is not None and outcome.after is not None:
            delay = min(delay, outcome.after.total_seconds())
        shift.add(key, cause=Cause("timer"), delay=delay)
        return
    shift.backoff.succeeded(key)
    if outcome is None:
        return
    if outcome.after is not None:
        shift.add(key, cause=Cause("timer"), delay=outcome.after.total_seconds())
        return
    seconds = shift.resync()
    if seconds is not None:
        shift.add(key, cause=Cause("resync"), delay=seconds, urgency=Urgency.BACKGROUND)
