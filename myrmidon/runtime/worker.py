"""Worker: takes due keys from the queue, reconciles them, and requeues them.

A pass over a converged object sends no request and therefore never waits for I/O.  So that
thousands of such passes after a restart do not block the event loop, a worker yields to the loop
between two passes as soon as its time slice is used up (``io.timers.pacing``).  The Lease, the
probes and signals are served in between.

A requeue (``Wait(after=...)``, a recheck, a retry) takes at least ``REQUEUE_SECONDS_MIN``: an
object that asks for its next pass at once, every time, gets ten passes a second and leaves the rest
of the time to other objects.

An exception from a pass is logged and the object is retried with backoff; the worker goes on.
Three kinds of exceptions end the worker: the loss of the Lease, the cancellation of the worker
itself, and exceptions that are not a failure of the object (``run_state.is_failure``).  A cancelled
worker starts no further pass, even if the interrupted state swallowed the cancellation.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from myrmidon.api.clock import Clock
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import LeadershipLostError
from myrmidon.fsm.context import Cause
from myrmidon.fsm.engine import Outcome
from myrmidon.io.timers.pacing import pacer
from myrmidon.io.timers.wakeup import Wakeup
from myrmidon.runtime.backoff import Backoff
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.controller import Observing
from myrmidon.runtime.queue import DUE_NOW, Turn, Urgency, WorkQueue
from myrmidon.runtime.reconcile.run_state import is_failure

Reconcile = Callable[[Turn[ObjectRef]], Awaitable[Outcome | None]]

REQUEUE_SECONDS_MIN = 0.1
REQUEUE_SECONDS_MAX = timedelta(days=366).total_seconds()


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
    generation: Callable[[ObjectRef], int]
    began: Callable[[ObjectRef], None] = lambda _key: None
    ended: Callable[[ObjectRef], None] = lambda _key: None
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

    def take(self) -> Turn[ObjectRef] | None:
        """Return the next key that is due, None if there is none; set the alarm for the one after.

        The alarm is set in both cases: the worker that takes a key may still be busy with it when
        the next key becomes due, while other workers sleep.
        """
        now = self.clock.monotonic()
        turn = self.queue.take(now)
        wake_at = self.queue.wake_at()
        if wake_at == DUE_NOW:
            self.wakeup.ring()
        elif wake_at is not None:
            self.wakeup.ring_within(wake_at - now)
        return turn

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
    if broken or (outcome is not None and outcome.backoff):
        delay = pool.backoff.failed(key, pool.generation(key))
        if outcome is not None and outcome.after is not None:
            delay = min(delay, outcome.after.total_seconds())
        _put_back(pool, key, "timer", delay)
        return
    pool.backoff.succeeded(key)
    if outcome is None or outcome.released:
        return
    if outcome.after is not None:
        _put_back(pool, key, "timer", outcome.after.total_seconds())
        return
    seconds = pool.resync()
    if seconds is not None:
        _put_back(pool, key, "resync", seconds, Urgency.BACKGROUND)


def _put_back(
    pool: WorkerPool,
    key: ObjectRef,
    relation: Literal["timer", "resync"],
    delay: float,
    urgency: Urgency = Urgency.LIVE,
) -> None:
    delay = max(delay, REQUEUE_SECONDS_MIN)
    pool.add(key, cause=Cause(relation), delay=delay, urgency=urgency)
