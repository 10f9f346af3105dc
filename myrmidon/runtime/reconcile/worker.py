"""Worker: takes due keys from the queue, reconciles them, and requeues them.

A pass over a converged object sends no request and therefore never waits for I/O.  So that
thousands of such passes after a restart do not block the event loop, a worker yields to the loop
between two passes as soon as its time slice is used up (``io.timers.pacing``).  The Lease, the
probes and signals are served in between.

When an object is requeued is decided by ``requeueing``.  A requeue (``Wait(after=...)``, a recheck,
a schedule, a retry) takes at least ``REQUEUE_SECONDS_MIN``: an object that asks for its next pass at
once, every time, gets ten passes a second and leaves the rest of the time to other objects.

An exception from a pass is logged and the object is retried with backoff; the worker goes on.
Three kinds of exceptions end the worker: the loss of the Lease, the cancellation of the worker
itself, and exceptions that are not a failure of the object (``run_state.is_failure``).  A cancelled
worker starts no further pass, even if the interrupted state swallowed the cancellation.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import timedelta

from myrmidon.api.clock import Clock
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import LeadershipLostError
from myrmidon.fsm.context import Cause
from myrmidon.fsm.engine import Outcome
from myrmidon.io.timers.pacing import pacer
from myrmidon.io.timers.wakeup import Wakeup
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.controller import Observing
from myrmidon.runtime.queue.backoff import Backoff
from myrmidon.runtime.queue.queue import DUE_NOW, Turn, Urgency, WorkQueue
from myrmidon.runtime.queue.rate_limits import ObjectRate, RetryBudget
from myrmidon.runtime.queue.requeueing import requeue_of
from myrmidon.runtime.reconcile.run_state import is_failure

Reconcile = Callable[[Turn[ObjectRef]], Awaitable[Outcome | None]]

REQUEUE_SECONDS_MAX = timedelta(days=366).total_seconds()
_POSTPONED_MAX = 200  # turns that one take may postpone; about 2 ms
_NO_OUTCOME = Outcome()  # of a pass that broke


@dataclass(slots=True)
class WorkerPool:
    """What the workers of one controller share."""

    queue: WorkQueue[ObjectRef]
    backoff: Backoff[ObjectRef]
    reconcile: Reconcile
    observing: Observing
    clock: Clock
    log: Logger
    resync: Callable[[], float | None]  # seconds until the next pass of a healthy object
    revision: Callable[[ObjectRef], Hashable]  # a new one resets the backoff
    began: Callable[[ObjectRef], None] = lambda _key: None
    ended: Callable[[ObjectRef], None] = lambda _key: None
    object_rate: ObjectRate[ObjectRef] | None = None
    retry_budget: RetryBudget | None = None
    wakeup: Wakeup = field(default_factory=Wakeup)
    stopping: bool = False

    def add(
        self,
        key: ObjectRef,
        *,
        cause: Cause | None = None,
        delay: float = 0.0,
        urgency: Urgency = Urgency.LIVE,
    ) -> None:
        """Add a key to the queue, due after ``delay`` seconds, and wake an idle worker."""
        now = self.clock.monotonic()
        delay = min(delay, REQUEUE_SECONDS_MAX)
        self.queue.add(key, now=now, due_at=now + delay, urgency=urgency, cause=cause)
        self.observing.added(delayed=delay > 0)
        self.wakeup.ring()

    def forget(self, key: ObjectRef) -> None:
        """Forget the failures and the rate of an object that is gone or no longer handled."""
        self.backoff.succeeded(key)
        if self.object_rate is not None:
            self.object_rate.forget(key)

    def take(self) -> Turn[ObjectRef] | None:
        """Return the next key that is due, None if there is none; set the alarm for the one after.

        The alarm is set in both cases: the worker that takes a key may still be busy with it when
        the next key becomes due, while other workers sleep.
        """
        now = self.clock.monotonic()
        turn = self.queue.take(now)
        if turn is not None and (self.object_rate is not None or self.retry_budget is not None):
            turn = self._within_limits(turn, now)
        wake_at = self.queue.wake_at()
        if wake_at == DUE_NOW:
            self.wakeup.ring()
        elif wake_at is not None:
            self.wakeup.ring_within(wake_at - now)
        return turn

    def _within_limits(self, turn: Turn[ObjectRef], now: float) -> Turn[ObjectRef] | None:
        """Return the first due turn that the rate limits allow; postpone those before it.

        At most ``_POSTPONED_MAX`` at once, so that the event loop is not blocked: the worker that
        the alarm wakes goes on with the rest.
        """
        for _ in range(_POSTPONED_MAX):
            until = self._not_before(turn, now)
            if until <= now:
                if self.object_rate is not None:
                    self.object_rate.began(turn.key, now)
                return turn
            self.queue.postpone(turn, until, now=now)
            following = self.queue.take(now)
            if following is None:
                return None
            turn = following
        self.queue.postpone(turn, now, now=now)
        return None

    def _not_before(self, turn: Turn[ObjectRef], now: float) -> float:
        """Return when the pass may begin, by both limits; reserve a token for a retry."""
        until = now if self.object_rate is None else self.object_rate.not_before(turn.key)
        if self.retry_budget is not None and not turn.admitted and self._is_retry(turn):
            turn.admitted = True
            until = max(until, self.retry_budget.reserve(now))
        return until

    def _is_retry(self, turn: Turn[ObjectRef]) -> bool:
        """Whether only a growing delay caused the turn."""
        timers = all(cause.relation == "timer" for cause in turn.causes)
        return timers and self.backoff.failures(turn.key) > 0

    def stop(self) -> None:
        """Start no new passes; passes under way go on."""
        self.stopping = True
        self.wakeup.ring_for_all()


async def work(pool: WorkerPool) -> None:
    """Reconcile keys as they become due, one at a time, until the pool is stopped."""
    pace, task = pacer(), asyncio.current_task()
    while True:
        await pace.give_way()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError  # a state swallowed it, or raised another error instead
        if pool.stopping:
            return
        turn = pool.take()
        if turn is None:
            await pool.wakeup.sleep()  # no await since take(), so no add went unseen
            continue
        pool.began(turn.key)
        try:
            await _take_turn(pool, turn)
        finally:
            pool.ended(turn.key)
            pool.queue.finish(turn.key, now=pool.clock.monotonic())


async def _take_turn(pool: WorkerPool, turn: Turn[ObjectRef]) -> None:
    started_at = pool.clock.monotonic()
    pool.observing.pass_began(turn, started_at)
    outcome: Outcome | None = None
    broken = True
    try:
        outcome = await pool.reconcile(turn)
        broken = False
    except LeadershipLostError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        pool.observing.pass_broke(timed_out=False)
        pool.log.crash("pass broke", error, object=turn.key.key)
    finally:
        seconds = pool.clock.monotonic() - started_at
        pool.observing.pass_ended(outcome, seconds, broken=broken)
    _requeue(pool, turn.key, outcome, broken=broken)


def _requeue(pool: WorkerPool, key: ObjectRef, outcome: Outcome | None, *, broken: bool) -> None:
    """Requeue a key as its outcome asks: with backoff, after a time, or for the next resync."""
    retry: float | None = None
    if broken or (outcome is not None and outcome.backoff):
        attempt = outcome.attempt if outcome is not None else None
        if attempt is not None and attempt.delay is not None:
            retry = attempt.delay
        else:
            retry = pool.backoff.failed(key, pool.revision(key))
    else:
        pool.backoff.succeeded(key)
        if outcome is None or outcome.released:
            pool.forget(key)
            return
    found = requeue_of(
        outcome or _NO_OUTCOME,
        retry=retry,
        resync=pool.resync() if retry is None else None,
        now=pool.clock.now,
    )
    if found is not None:
        pool.add(key, cause=Cause(found.relation), delay=found.delay, urgency=found.urgency)
