"""ControllerLoop: one controller at work: its view of the cluster, its queue, its workers."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta
from random import Random
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects import Json, generation_of
from myrmidon.api.refs import ObjectRef
from myrmidon.fsm.context import Cause
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.watches import Key
from myrmidon.io.applicator import Applicator
from myrmidon.io.caches import Caches
from myrmidon.io.changes import Change, Source
from myrmidon.io.client import Client
from myrmidon.io.shared import Subscription
from myrmidon.runtime.backoff import Backoff
from myrmidon.runtime.crew import Crew
from myrmidon.runtime.echoes import Echoes
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics import Metrics
from myrmidon.runtime.observing import Observing
from myrmidon.runtime.queue import Urgency, WorkQueue
from myrmidon.runtime.reconciler import Reconciler
from myrmidon.runtime.trace import TracedApplicator, Tracer
from myrmidon.runtime.triggers import Trigger, Triggers, key_of
from myrmidon.runtime.worker import Reconcile, Shift, work
from myrmidon.runtime.world import World

RecordEvent = Callable[[Json, str, str, str], None]


class ControllerLoop:
    """Runs one controller.  ``feed`` keeps its queue filled, ``work`` empties it."""

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
        trace: bool = False,
    ) -> None:
        self.controller = controller
        self._echoes = Echoes(controller.name)
        self.world = World(type(controller), caches, self._echoes, namespaces)
        self._triggers = Triggers(type(controller))
        self._subscription = Subscription()
        self._rng = rng
        self._events = asyncio.get_running_loop()
        options = controller.options
        observing = Observing(type(controller), metrics)
        self.tracer = Tracer(clock) if trace else None
        crew = Crew(
            controller,
            client,
            self._applicator(client),
            self.world,
            clock,
            observing,
            record_event,
        )
        self.reconciler = Reconciler(crew, log, self._look_again)
        reconcile: Reconcile = self.reconciler.reconcile
        if self.tracer is not None:
            reconcile = self.tracer.around(reconcile, self.world.look)
        self.shift = Shift(
            queue=WorkQueue(),
            backoff=Backoff(options.retry_min, options.retry_max, rng.random),
            reconcile=reconcile,
            observing=observing,
            clock=clock,
            log=log.having(controller=controller.name),
            resync=self._resync_seconds,
            generation=self._generation,
            began=self._echoes.begin,
            ended=self._pass_ended,
        )
        self._unsubscribe = self._listen_to_channels()

    async def feed(self) -> None:
        """Turn changes into keys, until cancelled."""
        self.world.subscribe(self._subscription)
        async for change in self._subscription:
            self.take(change)

    async def work(self) -> None:
        """Empty the queue with as many workers as the controller asks for, until stopped."""
        async with asyncio.TaskGroup() as group:
            for number in range(self.controller.options.workers):
                group.create_task(work(self.shift), name=f"{self.controller.name} worker {number}")

    def take(self, change: Change, remote: str | None = None) -> None:
        """Add the keys that one change concerns."""
        for trigger in self._triggers.of(change, remote):
            version = change.version
            if version and trigger.key in self.shift.queue.working:
                self._echoes.hold(trigger, version)
            elif not self._echoes.is_echo(trigger, version):
                # What the first list finds is old; a live change should not wait behind it.
                listed = change.source is Source.LIST
                self._add(trigger, Urgency.BACKGROUND if listed else Urgency.LIVE)

    def _pass_ended(self, key: ObjectRef) -> None:
        """Add what came during a pass and was not its own echo."""
        for trigger in self._echoes.news(key):
            self._add(trigger, Urgency.LIVE)

    def close(self) -> None:
        """Let go of caches and channels."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self.world.close()

    @property
    def is_idle(self) -> bool:
        """Whether no change waits to be looked at and no key is due or in work."""
        queue = self.shift.queue
        busy = len(self._subscription) or queue.working
        return not busy and not any(queue.depth(urgency) for urgency in Urgency)

    # --------------------------------------------------------------------------- inside

    def _applicator(self, client: Client) -> Applicator:
        writes_max = self.controller.options.writes_max
        if self.tracer is None:
            return Applicator(client, self.world, writes_max=writes_max)
        traced = TracedApplicator(client, self.world, writes_max=writes_max)
        traced.tracer = self.tracer
        return traced

    def _add(self, trigger: Trigger, urgency: Urgency) -> None:
        if not self.world.concerns(trigger.key):
            return
        self.shift.observing.triggered(trigger.key, trigger.cause)
        self.shift.add(trigger.key, cause=trigger.cause, urgency=urgency)

    def _look_again(self, key: ObjectRef) -> None:
        self.shift.add(key, cause=Cause("again", ref=key))

    def _resync_seconds(self) -> float | None:
        period = self.controller.options.sync_period
        return None if period is None else period.total_seconds() * self._rng.uniform(0.9, 1.1)

    def _generation(self, ref: ObjectRef) -> int:
        return generation_of(self.world.look(ref) or {})

    def _listen_to_channels(self) -> list[Callable[[], None]]:
        return [channel.subscribe(self._from_channel) for channel in self.controller.channels]

    def _from_channel(self, key: Key, debounce: timedelta) -> None:
        """An event from outside of the cluster, perhaps from another thread."""
        ref = key_of(self.controller.kind(), key)
        if not self.world.concerns(ref):
            return
        delay = debounce.total_seconds()
        self._events.call_soon_threadsafe(
            lambda: self.shift.add(ref, cause=Cause("channel"), delay=delay)
        )
