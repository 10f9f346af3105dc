"""ControllerLoop: runs one controller, with its view of the cluster, its queue and its workers.

``feed`` turns changes of the caches into keys, ``listen`` does the same for keys that channels send, and
``work`` is one worker.  The manager starts each as a task of its own.  All three can handle many objects
without awaiting anything, so all three give way to the event loop (``io.timers.pacing``).
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from random import Random
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.managed_fields import field_manager
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.fsm.context import Cause
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.declaration.options import ControllerOptions
from myrmidon.fsm.declaration.watches import Key
from myrmidon.fsm.metadata.reconcile_request import Revision, revision_of
from myrmidon.fsm.status.retry_limits import RetryLimits
from myrmidon.io.client import Client
from myrmidon.io.discovery import Discovery
from myrmidon.io.timers.pacing import pacer
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.changes import Change, Source
from myrmidon.io.watch.subscriptions import Subscription
from myrmidon.io.writes.applicator import Applicator
from myrmidon.io.writes.own_writes import OwnWrites
from myrmidon.runtime.controller.recording import PassRecording
from myrmidon.runtime.controller.sharded_passes import Ownership, sharded_passes
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.controller import Observing
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.observability.change_log import ChangeLog
from myrmidon.runtime.observability.recorder import Recorder
from myrmidon.runtime.observability.trace import Traced
from myrmidon.runtime.observability.tracing import Tracing
from myrmidon.runtime.observability.vitals import ControllerVitals
from myrmidon.runtime.queue.backoff import Backoff
from myrmidon.runtime.queue.inbox import Inbox
from myrmidon.runtime.queue.queue import Urgency, WorkQueue
from myrmidon.runtime.queue.rate_limits import ObjectRate, RetryBudget
from myrmidon.runtime.queue.retries import Retries
from myrmidon.runtime.reconcile.error_reports import ErrorReports, OnError
from myrmidon.runtime.reconcile.pass_dependencies import PassDependencies
from myrmidon.runtime.reconcile.reconciler import Reconciler
from myrmidon.runtime.reconcile.run_state import run_state
from myrmidon.runtime.reconcile.worker import Reconcile, WorkerPool, work
from myrmidon.runtime.views.cluster_view import ClusterView
from myrmidon.runtime.wakeups.read_dependencies import Readers
from myrmidon.runtime.wakeups.refused_outputs import RefusedOutputs
from myrmidon.runtime.wakeups.triggers import Trigger, Triggers, key_of

RecordEvent = Callable[[Json, str, str, str], None]


class ControllerLoop:
    """Runs one controller: ``feed`` and ``listen`` fill its queue, ``work`` empties it."""

    def __init__(
        self,
        controller: Controller[Any],
        client: Client,
        caches: Caches,
        *,
        clock: Clock,
        metrics: Metrics,
        rng: Random,
        log: Logger,
        record_event: RecordEvent,
        namespaces: Iterable[str] = (),
        recorder: Recorder | None = None,
        follows: bool = False,
        changes: ChangeLog | None = None,
        tracing: Tracing | None = None,
        shared: bool = False,
        shares_status: bool = False,
        planning: bool = False,
        on_error: OnError | None = None,
        ownership: Ownership | None = None,
    ) -> None:
        """``shared``, ``shares_status``: see ``PassDependencies``.  ``ownership``: of slices."""
        self.controller, self._client, self._clock = controller, client, clock
        self._leaving: set[str] = set()  # namespaces in which passes are still under way
        self._own_writes = OwnWrites[Trigger](controller.name, caches)
        self.view = ClusterView(
            type(controller), caches, namespaces, options=controller.options, follows=follows
        )
        self.sharded = None if ownership is None else sharded_passes(ownership, self.view)
        refused, self._inbox = RefusedOutputs(), Inbox(asyncio.get_running_loop())
        self._subscription, self._taking = Subscription(), 0  # changes whose keys are being added
        self.readers = Readers(self.view.words, lambda: self._subscription.arrived)
        self._triggers = self._make_triggers(metrics, refused)
        self._rng, options = rng, controller.options
        self._log = log.having(controller=controller.name)
        self._observing = observing = Observing(type(controller), metrics)
        self._recording = PassRecording(controller.name, clock, recorder, changes, observing)
        self.tracer, self._tracing = self._recording.tracer, tracing
        applicator = self._applicator(observing)
        self.stalled = applicator.stalled
        backoff = Backoff[ObjectRef](options.retry_min, options.retry_max, rng.random)
        limits = RetryLimits(options.max_attempts, options.retry_for)
        retries = Retries(backoff, limits, clock.monotonic, self._gave_up)
        deps = self._dependencies(
            applicator,
            observing,
            record_event,
            retries,
            refused,
            errors=ErrorReports(controller.name, self._log, on_error),
            planning=planning,
            shared=shared,
            shares_status=shares_status,
        )
        self.home = deps.home
        """Where this controller keeps its conditions."""
        self.reconciler = Reconciler(deps, log, self._look_again)
        self.pool = self._worker_pool(backoff, observing)
        self._unsubscribe = self._listen_to_channels()

    async def feed(self) -> None:
        """Turn changes into keys, until cancelled."""
        self.view.subscribe(self._subscription)
        await self.take_all(self._subscription)

    async def listen(self) -> None:
        """Add the keys that channels send, until cancelled."""

        def take(ref: ObjectRef, delay: float) -> None:
            if self.view.concerns(ref):  # its namespace may have left meanwhile
                self.pool.add(ref, cause=Cause("channel"), delay=delay)

        await self._inbox.empty(take)

    async def enter(self, namespace: str) -> None:
        """List the kinds of another namespace, and handle its objects from then on."""
        await self.view.prepare(namespace)
        self._leaving.discard(namespace)
        self.view.enter(namespace)

    def leave(self, namespace: str) -> None:
        """Handle the objects of a namespace no more, and forget them; passes under way finish."""
        self.view.ignore(namespace)
        self._leaving.add(namespace)
        for turn in self.pool.queue.owed():
            if turn.key.namespace == namespace:
                self.pool.queue.forget(turn.key)
        if not any(key.namespace == namespace for key in self.pool.queue.working):
            self._left(namespace)

    def _left(self, namespace: str) -> None:
        self._leaving.discard(namespace)
        for key in self.view.keys(namespace):
            self._forget(key)
        self.view.leave(namespace)

    async def gain(self, slices: frozenset[int]) -> None:
        """Queue all objects of slices that this process owns from now on."""
        assert self.sharded is not None
        await self.sharded.gain(slices, self.pool)

    async def finish(self, slices: frozenset[int], seconds: float) -> None:
        """End the work on slices; passes under way are cancelled after ``seconds``."""
        assert self.sharded is not None
        await self.sharded.finish(slices, seconds, self.pool, self.reconciler.forget)

    async def work(self) -> None:
        """Be one worker: reconcile keys as they come due, until the pool stops."""
        await work(self.pool)

    async def take_all(self, changes: Subscription, remote: str | None = None) -> None:
        """Add the keys that each change concerns, until cancelled.

        A change that cannot be handled is logged, and the next ones are handled as usual.  The
        subscription gives way to other tasks between changes, and this loop between the keys of a
        change that concerns many.
        """
        async for change in changes:
            try:
                position = changes.taken if remote is None else None
                triggers = self._triggers.of(change, remote, position)
                if len(triggers) == 1:
                    self._take(triggers[0], change)
                elif triggers:
                    await self._take_many(triggers, change)
            except Exception as error:  # noqa: BLE001 - one bad object must not stop the others
                self._log.crash("change not understood", error, object=change.ref)

    async def _take_many(self, triggers: Sequence[Trigger], change: Change) -> None:
        pace = pacer()
        self._taking += 1  # the loop is not idle while it gives way
        try:
            for number, trigger in enumerate(triggers):
                if number:
                    await pace.give_way()
                self._take(trigger, change)
        finally:
            self._taking -= 1

    def take(self, change: Change, remote: str | None = None) -> None:
        """Add the keys that one change concerns, at once."""
        for trigger in self._triggers.of(change, remote):
            self._take(trigger, change)

    def _take(self, trigger: Trigger, change: Change) -> None:
        key = trigger.key
        if self._own_writes.is_own(key, change):
            return
        if self._tracing is not None:
            self._tracing.woke(self.controller.name, key, change)
        if key in self.pool.queue.working and change.version:
            self._own_writes.hold(key, change, trigger)
        else:
            # Objects that a list finds are old; a live change should not wait behind them.
            listed = change.source is Source.LIST
            self._add(trigger, Urgency.BACKGROUND if listed else Urgency.LIVE)

    def _pass_ended(self, key: ObjectRef) -> None:
        """Add the keys of changes that came during a pass and were not its own writes."""
        for trigger in self._own_writes.released(key):
            self._add(trigger, Urgency.LIVE)
        if self.sharded is not None and not self.sharded.owns(key):
            self.pool.queue.forget(key)
        if self._leaving and key.namespace in self._leaving:
            self.pool.queue.forget(key)
            others = (other for other in self.pool.queue.working if other != key)
            if not any(other.namespace == key.namespace for other in others):
                self._left(key.namespace)

    def close(self) -> None:
        """Close the views of the caches and unsubscribe from the channels."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self.view.close()

    @property
    def is_idle(self) -> bool:
        """Whether no change or channel event waits to be taken and no key is due or in work."""
        queue = self.pool.queue
        busy = self._taking or len(self._subscription) or len(self._inbox) or queue.working
        return not busy and not any(queue.depth(urgency) for urgency in Urgency)

    @property
    def traced(self) -> Traced:
        """Return the parts of this controller that the tracer reads."""
        return Traced(self.controller, self.pool.queue, self.view, self.home)

    def vitals(self) -> ControllerVitals:
        """Return the queue of this controller, and what it did since the process started."""
        queue, tracer = self.pool.queue, self.tracer
        return ControllerVitals(
            self.controller.name,
            queued=sum(queue.depth(urgency) for urgency in Urgency),
            in_work=len(queue.working),
            workers=self.controller.options.workers,
            passes=self._observing.passes,
            writes=0 if tracer is None else tracer.writes,
            errors=self._observing.errors,
        )

    # --------------------------------------------------------------------------- inside

    def _dependencies(
        self,
        applicator: Applicator,
        observing: Observing,
        record_event: RecordEvent,
        retries: Retries,
        refused: RefusedOutputs,
        *,
        errors: ErrorReports,
        planning: bool,
        shared: bool,
        shares_status: bool,
    ) -> PassDependencies:
        deps = PassDependencies(
            self.controller,
            self._client,
            applicator,
            self.view,
            self._clock,
            observing,
            record_event,
            Discovery(self._client, clock=self._clock),
            retries,
            refused,
            self.readers,
            errors=errors,
            planning=planning,
            run_state=run_state if self._tracing is None else self._tracing.run_state,
            shared=shared,
            shares_status=shares_status,
        )
        self._recording.connect(deps)
        return deps

    def _applicator(self, observing: Observing) -> Applicator:
        def corrected(by: str, ref: ObjectRef, seconds: float) -> None:
            observing.corrected(ref.kind.kind, seconds)
            key = by.partition(":")[2]
            self._log.info("drift corrected", object=key, output=ref, held_seconds=round(seconds))

        return Applicator(
            self._client,
            self.view,
            self._own_writes,
            writes_max=self.controller.options.writes_max,
            manager=field_manager(self.controller.name),
            clock=self._clock,
            corrected=corrected,
            sink=self._recording.sink,
        )

    def _make_triggers(self, metrics: Metrics, refused: RefusedOutputs) -> Triggers:
        return Triggers(
            type(self.controller),
            metrics.user_function_failed,
            refused=refused,
            readers=self.readers,
            objects=self.view,
            when=self.controller.options.when,
        )

    def _worker_pool(self, backoff: Backoff[ObjectRef], observing: Observing) -> WorkerPool:
        options = self.controller.options
        return WorkerPool(
            queue=WorkQueue(),
            backoff=backoff,
            reconcile=self._observed_reconcile(),
            observing=observing,
            clock=self._clock,
            log=self._log,
            resync=self._resync_seconds,
            revision=self._revision,
            began=self._own_writes.begin_pass,
            ended=self._pass_ended,
            object_rate=_object_rate(options),
            retry_budget=_retry_budget(options),
        )

    def _observed_reconcile(self) -> Reconcile:
        """Return the reconcile function, with the wrappers of the options that are switched on."""
        reconcile = self._recording.around(self.reconciler.reconcile, self.view.look)
        if self._tracing is not None:
            reconcile = self._tracing.around(self.controller.name, reconcile, self.view.look)
        return reconcile if self.sharded is None else self.sharded.around(reconcile)

    def _forget(self, key: ObjectRef) -> None:
        """Forget an object that another process handles, or that is gone."""
        self.pool.forget(key)
        self.reconciler.forget(key)

    def _add(self, trigger: Trigger, urgency: Urgency) -> None:
        if not self.view.concerns(trigger.key):
            if self.sharded is not None and not self.view.uid(trigger.key):
                self._forget(trigger.key)  # deleted: its slice cannot be told any more
            return
        self.pool.observing.triggered(trigger.key, trigger.cause)
        self.pool.add(trigger.key, cause=trigger.cause, urgency=urgency)

    def _gave_up(self, key: ObjectRef, said: str) -> None:
        self.pool.observing.gave_up()
        self._log.warning("retries given up", object=key.key, why=said)

    def _look_again(self, key: ObjectRef) -> None:
        self.pool.add(key, cause=Cause("again", ref=key))

    def _resync_seconds(self) -> float | None:
        period = self.controller.options.sync_period
        return None if period is None else period.total_seconds() * self._rng.uniform(0.9, 1.1)

    def _revision(self, ref: ObjectRef) -> Revision:
        return revision_of(self.view.look(ref) or {})

    def _listen_to_channels(self) -> list[Callable[[], None]]:
        return [channel.subscribe(self._from_channel) for channel in self.controller.channels]

    def _from_channel(self, key: Key, debounce: timedelta) -> None:
        """Put a key that a channel sent into the inbox; the caller may be another thread."""
        ref = key_of(self.controller.kind(), key)
        if self.view.concerns(ref):
            self._inbox.put(ref, debounce.total_seconds())


def _object_rate(options: ControllerOptions) -> ObjectRate[ObjectRef] | None:
    limit = options.passes_per_minute
    return None if limit is None else ObjectRate(limit)


def _retry_budget(options: ControllerOptions) -> RetryBudget | None:
    rate = options.retries_per_second
    return None if rate is None else RetryBudget(rate, options.retries_burst)
