"""ControllerRun: one controller in a running process, from its first check to its removal.

Each controller goes through these phases on its own, so that one which has to wait holds up no
other, and controllers can be added and removed while the process runs:

1. kinds: every declared kind must be served.  While one is missing, nothing is listed or watched
   for this controller; the server is asked again after 1, 2, 4, 8 and then every 15 seconds.
   ``readyz``, a metric and one log line name the kind and the fix.
2. caches: views, feed, channels and Event recorder start; the caches fill.
3. leadership: a replica that does not lead stays here, with its caches in sync.
4. work: the workers run, until ``finish`` (``Manager.remove``, or the end of the process).

Polling is deliberate: a watch on CustomResourceDefinitions would need rights that a controller
does not otherwise have, and a missing kind costs one small request in 15 seconds.

A kind that disappears later, because its CRD was deleted, does not go back to phase 1: its cache
retries by itself and has its own line in ``readyz``.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.errors import ApiError, TransportError, UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.io.client import Client
from myrmidon.io.events import EventRecorder
from myrmidon.io.lists.scope import Scope
from myrmidon.io.watch.caches import Caches
from myrmidon.runtime.controller.loop import ControllerLoop
from myrmidon.runtime.controller.namespace_follower import NamespaceFollower
from myrmidon.runtime.controller.sharded_passes import Ownership
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.observability.change_log import ChangeLog
from myrmidon.runtime.observability.recorder import Recorder
from myrmidon.runtime.observability.tracing import Tracing
from myrmidon.runtime.options import ManagerOptions
from myrmidon.runtime.process.supervision import Supervisor, Tasks
from myrmidon.runtime.startup.definitions import report_missing_fields
from myrmidon.runtime.startup.preflight import declared_scopes, install, missing_kinds
from myrmidon.runtime.startup.remotes import RemoteCluster, RemoteFeed, check_remotes, feeds_of
from myrmidon.runtime.startup.same_kind import is_shared, shares_status

_POLL_SECONDS, _POLL_SECONDS_MAX = 1.0, 15.0
CANCEL_SECONDS_MAX = 2.0  # time for cancelled states to clean up


@dataclass(slots=True)
class Process:
    """What the controllers of one process share."""

    options: ManagerOptions
    client: Client
    caches: Caches
    clock: Clock
    metrics: Metrics
    rng: Random
    log: Logger
    controllers: Sequence[Controller[Any]]
    """All controllers of the process at the moment."""
    elected: Callable[[], Awaitable[object]]
    """Wait until this process may write."""
    remotes: Mapping[str, RemoteCluster] = field(default_factory=dict)
    definitions: tuple[Json, ...] = ()
    """The CRDs of the program, to be compared with those of the cluster."""
    changes: ChangeLog | None = None
    """Records every write; None without the option."""
    recorder: Recorder | None = None
    """Records passes; None without the option."""
    tracing: Tracing | None = None
    """Opens OpenTelemetry spans; None without the option."""
    ownership: Ownership | None = None
    """Which slices this process works on; None if it works on all objects."""


class ControllerRun:
    """One controller in a process: its loop, its tasks, and the kinds that it waits for."""

    def __init__(self, controller: Controller[Any], process: Process) -> None:
        check_remotes(controller, process.remotes)
        self.controller, self._process = controller, process
        self.loop: ControllerLoop | None = None
        self.missing: tuple[Kind, ...] = ()
        """The kinds that the server did not serve when it was last asked."""
        self.synced, self.working = asyncio.Event(), asyncio.Event()
        self.workers: Tasks = []
        self._tasks: Tasks = []  # all but the workers
        self._problem: str | None = None  # why the server could not be asked
        self._checked = False
        self._feeds: list[RemoteFeed] = []
        self._follower: NamespaceFollower | None = None
        self._log = process.log.having(controller=controller.name)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the controller watches; empty if a selector chooses them, or for all."""
        options = self.controller.options
        if options.namespace_selector:
            return ()
        return options.namespaces or self._process.options.namespaces

    @property
    def selector(self) -> str:
        """The labels of the namespaces that the controller watches; empty if none are asked for."""
        own = self.controller.options
        limited = own.namespaces or own.namespace_selector
        return own.namespace_selector if limited else self._process.options.namespace_selector

    async def check(self) -> None:
        """Ask the server which declared kinds are missing; raise if it refuses to list one."""
        needed = declared_scopes(self.controller, self.namespaces)
        if self.selector:
            needed.append(Scope(kinds.NAMESPACE, labels=self.selector))
        self._set_missing(await missing_kinds(self._process.client, self.controller, needed))
        self._checked = True

    def start(self, supervisor: Supervisor) -> None:
        """Start the first phase; the others follow by themselves."""
        if self._checked and not self.missing:
            self._open(supervisor)
        name = f"start of {self.controller.name}"
        work = partial(self._proceed, supervisor)
        self._tasks += supervisor.start(name, work, may_end=lambda: True)

    @property
    def tasks(self) -> Tasks:
        """All tasks of the controller."""
        return [*self.workers, *self._tasks]

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a kind, or works and has no pass under way or due."""
        if self.loop is None:
            return bool(self.missing or self._problem)
        follows = self._follower is not None and not self._follower.is_idle
        return self.working.is_set() and self.loop.is_idle and not follows

    def checks(self) -> dict[str, str | None]:
        """Return the checks of readyz while the controller waits for its kinds."""
        name = type(self.controller).__name__
        found: dict[str, str | None] = {
            f"kind {_named(kind)}": (
                f"not served by the cluster, {name} waits for it; fix: "
                f"{install(self.controller, kind)}"
            )
            for kind in self.missing
        }
        if self._problem is not None:
            found[f"controller {self.controller.name}"] = self._problem
        return found

    def stop(self) -> None:
        """Start no new passes, and let no task wait for this controller."""
        if self.loop is not None:
            self.loop.pool.stop()
        self.synced.set()
        self.working.set()

    def close(self) -> None:
        """Close the views of the caches and unsubscribe from the channels."""
        self._set_missing(())
        for feed in self._feeds:
            feed.close()
        if self._follower is not None:
            self._follower.names.close()
        if self.loop is not None:
            self.loop.close()
        self._feeds, self._follower = [], None

    # ---------------------------------------------------------------------------- phases

    async def _proceed(self, supervisor: Supervisor) -> None:
        if self.loop is None:
            await self._wait_for_kinds()
            self._open(supervisor)
        assert self.loop is not None
        await self.loop.view.wait_synced()
        if self._follower is not None:
            await self._follower.names.wait_synced()
        self.synced.set()
        await self._process.elected()
        self.workers += supervisor.start(
            f"workers of {self.controller.name}",
            self.loop.work,
            count=self.controller.options.workers,
            may_end=partial(getattr, self.loop.pool, "stopping"),
        )
        self.working.set()

    async def _wait_for_kinds(self) -> None:
        delay, process = _POLL_SECONDS, self._process
        waits = bool(self.missing)
        while not self._checked or self.missing:
            if waits:
                await process.clock.sleep(delay * (0.75 + 0.25 * process.rng.random()))
                delay = min(2 * delay, _POLL_SECONDS_MAX)
            waits = True
            try:
                await self.check()
                self._problem = None
            except (UsageError, ApiError, TransportError) as error:
                if self._problem is None:
                    self._log.warning("the declared kinds cannot be listed", error=str(error))
                self._problem = str(error)
        self._log.info("all declared kinds are served")

    def _open(self, supervisor: Supervisor) -> None:
        """Create the loop and start the tasks that fill its queue, and the Event recorder."""
        process, name = self._process, self.controller.name
        events = EventRecorder(process.client, name, clock=process.clock)
        self.loop = loop = self._loop(events)
        self._tasks += supervisor.start(f"feed of {name}", loop.feed)
        if self.selector:
            self._follower = NamespaceFollower(loop, process.caches, self.selector, self._log)
            self._tasks += supervisor.start(f"namespaces of {name}", self._follower.run)
        if self.controller.channels:
            self._tasks += supervisor.start(f"channels of {name}", loop.listen)
        self._feeds = feeds_of(self.controller, process.remotes)
        for feed in self._feeds:
            take = partial(loop.take_all, feed.subscription, remote=feed.name)
            self._tasks += supervisor.start(f"feed of {name} from {feed.name}", take)
        self._tasks += supervisor.start(f"events of {name}", events.run)
        if process.definitions:
            declared = tuple(kind for kind in self.controller.shapes if not kind.cluster)
            compare = partial(
                report_missing_fields,
                process.client,
                process.definitions,
                declared,
                process.clock,
                self._log,
            )
            name = f"definitions of {name}"
            self._tasks += supervisor.start(name, compare, may_end=lambda: True)

    def _loop(self, events: EventRecorder) -> ControllerLoop:
        def record_event(obj: Json, kind: str, reason: str, message: str) -> None:
            loop.pool.observing.recorded_event(obj, kind, reason)
            events.record(obj, kind, reason, message)

        process, log = self._process, Logger("myrmidon.controller")
        loop = ControllerLoop(
            self.controller,
            process.client,
            process.caches,
            clock=process.clock,
            metrics=process.metrics,
            rng=process.rng,
            log=log if process.tracing is None else process.tracing.logger(log),
            record_event=record_event,
            namespaces=self.namespaces,
            recorder=process.recorder,
            changes=process.changes,
            tracing=process.tracing,
            follows=bool(self.selector),
            shared=is_shared(self.controller, process.controllers),
            shares_status=shares_status(self.controller, process.controllers),
            planning=process.options.planning,
            on_error=process.options.on_error,
            ownership=process.ownership,
        )
        return loop

    def _set_missing(self, missing: tuple[Kind, ...]) -> None:
        name, gauge = self.controller.name, self._process.metrics.missing_kinds
        for kind in missing:
            if kind not in self.missing:
                gauge.labels(name, *kind[:3]).set(1)
                self._log.warning(
                    "waiting for a kind that the cluster does not serve",
                    kind=_named(kind),
                    fix=install(self.controller, kind),
                )
        for kind in self.missing:
            if kind not in missing:
                gauge.remove(name, *kind[:3])
        self.missing = missing


async def finish(runs: Iterable[ControllerRun], seconds: float) -> None:
    """Let passes under way finish within ``seconds``, then cancel all tasks of these controllers.

    Their loops stay open: the caller closes them when no task can use them any more.
    """
    runs = list(runs)
    for run in runs:
        run.stop()
    workers = [task for run in runs for task in run.workers]
    if workers:
        await asyncio.wait(workers, timeout=seconds)
    ending = [task for run in runs for task in run.tasks]
    for task in ending:
        task.cancel()
    if ending:
        await asyncio.wait(ending, timeout=CANCEL_SECONDS_MAX)


def _named(kind: Kind) -> str:
    return f"{kind.kind}.{kind.group}" if kind.group else kind.kind
