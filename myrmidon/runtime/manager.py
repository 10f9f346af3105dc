"""Manager: runs several controllers in one process, from the first connection to the shutdown.

Start-up, in this order:

1. connect: transport, leader election fence, rate limit, client;
2. preflight: list every declared kind once, so that a missing CRD or role stops the program with
   one sentence and not with a log full of retries;
3. serve probes and metrics;
4. start the caches, which the controllers share, the Event recorders and the leader election;
5. when the caches are in sync and this process leads, start the workers.

A replica that does not lead runs everything except the workers: its caches are warm when it takes
over.

Shutdown (``stop``): workers finish the passes under way within ``shutdown_timeout``, the remaining
tasks are cancelled, and then the Lease is released (``_wind_down`` says why in that order).

All tasks run under one ``Supervisor``.  If one of them fails or ends unexpectedly, ``run`` raises
and the process should exit: a controller without its watch or its workers would look healthy and do
nothing.  Restarting is left to the kubelet.
"""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from itertools import chain
from random import Random
from typing import Any

from aiohttp import web

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import Transport
from myrmidon.errors import MyrmidonError
from myrmidon.fsm.controller import Controller
from myrmidon.io.client import Client
from myrmidon.io.events import EventRecorder
from myrmidon.io.http.unanswered import UnansweredWrites
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.caches import Caches
from myrmidon.runtime.change_log import ChangeLog
from myrmidon.runtime.clients import Connector
from myrmidon.runtime.garbage import freeze_until
from myrmidon.runtime.health import health_routes, metrics_routes, serving, trace_routes
from myrmidon.runtime.lag import LoopLag
from myrmidon.runtime.leader.elector import Elector
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.loop import ControllerLoop
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.metrics.scrape_access import ScrapeAccess
from myrmidon.runtime.options import ManagerOptions
from myrmidon.runtime.preflight import preflight
from myrmidon.runtime.remotes import check_remotes, watch_remote
from myrmidon.runtime.same_kind import check_together, is_shared, shares_status
from myrmidon.runtime.snapshot import ObjectView, Snapshot
from myrmidon.runtime.supervision import Supervisor, Tasks, first_of
from myrmidon.runtime.tracing import Tracing

_CANCEL_SECONDS_MAX = 2.0  # time for cancelled states to clean up


class Manager:
    """Runs controllers against one cluster.

    ``transport`` and ``clock`` replace the connection and the time, for tests.  By default the
    manager connects to the cluster that the options name, and uses the clock of the event loop.
    ``configuration``, a ``Configuration`` of kubernetes-asyncio, names the cluster instead of
    ``ManagerOptions.kubeconfig`` and ``context``: host, CA, client certificate, token and its
    refresh hook, proxy.  ``metrics`` is where the manager counts; by default it creates its own.
    """

    def __init__(
        self,
        options: ManagerOptions | None = None,
        *,
        transport: Transport | None = None,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        configuration: Any = None,
    ) -> None:
        self.options = options or ManagerOptions()
        self.metrics = metrics or Metrics(per_object=self.options.per_object_metrics)
        self.loops: list[ControllerLoop] = []
        self._controllers: list[Controller[Any]] = []
        self._remotes: dict[str, Transport] = {}
        self._transport, self._clock = transport, clock or LoopClock()
        self._configuration = configuration
        self._rng = Random(self.options.seed)  # noqa: S311 - spreads load; keeps no secret
        self._log = Logger("myrmidon.manager")
        self._stopping = asyncio.Event()
        self._caches: Caches | None = None
        self._changes: ChangeLog | None = None
        tracer = self.options.tracer
        self._tracing = Tracing(tracer) if tracer is not None else None
        self._elector: Elector | None = None
        self._access: ScrapeAccess | None = None
        self._writes: UnansweredWrites | None = None
        self._synced = asyncio.Event()
        self._working = asyncio.Event()
        self._workers: Tasks = []
        self._supervisor: Supervisor | None = None
        self._lag = LoopLag(self._clock, self._log)
        self.addresses: dict[str, str] = {}
        """The bound address of each server, by the address in the options: ``:0`` picks a port."""

    def add(self, controller: Controller[Any]) -> None:
        """Add a controller, before ``run``.

        Its name must be its own.  Controllers of the same kind must not share a type of condition in
        the status of their objects, ``Ready`` included.
        """
        for other in self._controllers:
            check_together(controller, other)
        self._controllers.append(controller)

    def add_remote(self, name: str, transport: Transport) -> None:
        """Register another cluster under the name that ``Watch(..., remote=name)`` uses."""
        self._remotes[name] = transport

    async def run(self) -> None:
        """Run until ``stop`` is called or a task fails; one failed task stops the whole manager.

        Raises the first error of the framework alone, without the ``ExceptionGroup`` around it.
        """
        try:
            async with AsyncExitStack() as stack:
                await self._run(stack)
        except BaseExceptionGroup as group:
            expected, surprises = group.split(MyrmidonError)
            if surprises is not None or expected is None:
                raise
            raise first_of(expected) from None

    def stop(self) -> None:
        """Begin the shutdown: start no new passes, finish those under way, release the Lease."""
        self._stopping.set()

    async def wait_working(self) -> None:
        """Wait until the caches are in sync, this process leads, and the workers run."""
        await self._working.wait()

    @property
    def is_idle(self) -> bool:
        """Whether the workers run and no pass is under way or due."""
        return self._working.is_set() and all(loop.is_idle for loop in self.loops)

    def snapshot(self) -> Snapshot:
        """Return the state of every object now; empty without ``ManagerOptions.trace``."""
        views = (loop.tracer.views(loop.traced) for loop in self.loops if loop.tracer is not None)
        return Snapshot(self._clock.now(), self._working.is_set(), tuple(chain(*views)))

    def view(self, kind: str, key: str) -> ObjectView | None:
        """Return one object of the snapshot, as in ``view("WebApp", "default/shop")``, or None.

        If several controllers reconcile the kind, the first that knows the object; ``views`` has all.
        """
        return next(iter(self.views(kind, key)), None)

    def views(self, kind: str, key: str) -> list[ObjectView]:
        """Return one object of the snapshot as each controller of its kind sees it."""
        found = [
            loop.tracer.view(loop.traced, key)
            for loop in self.loops
            if loop.tracer is not None and loop.controller.kind().kind == kind
        ]
        return [view for view in found if view is not None]

    # ------------------------------------------------------------------------- life cycle

    async def _run(self, stack: AsyncExitStack) -> None:
        client = await self._connect(stack)
        await preflight(client, self._controllers, self.options.namespaces)
        self._caches = Caches(
            client, clock=self._clock, rng=self._rng, timing=self.options.watching
        )
        if self.options.change_log or self.options.on_write is not None:
            log = self._log
            self._changes = ChangeLog(self.options.change_log, self.options.on_write, log)
            stack.callback(self._changes.close)
        recorders = [
            EventRecorder(client, controller.name, clock=self._clock)
            for controller in self._controllers
        ]
        self.loops = [
            self._loop(controller, client, events)
            for controller, events in zip(self._controllers, recorders, strict=True)
        ]
        check_remotes(self.loops, self._remotes)
        for loop in self.loops:
            stack.callback(loop.close)
        await self._serve(stack)
        async with asyncio.TaskGroup() as group:
            self._supervisor = supervisor = Supervisor(group, self._log)
            background = self._start(supervisor)
            writers = self._start_writers(supervisor, recorders)
            await self._stopping.wait()
            await self._wind_down(writers)
            for task in background:
                task.cancel()

    def _start(self, supervisor: Supervisor) -> Tasks:
        """Start the tasks that only read: caches, watch feeds, channels, remote clusters."""
        assert self._caches is not None
        tasks = supervisor.start("caches", self._caches.run)
        tasks += supervisor.start("lead", partial(self._lead, supervisor), may_end=lambda: True)
        if isinstance(self._clock, LoopClock):
            tasks += supervisor.start("lag", self._lag.run)
        if self.options.freeze_garbage:
            tasks += supervisor.start("garbage", self._freeze_garbage, may_end=lambda: True)
        for loop in self.loops:
            name = loop.controller.name
            tasks += supervisor.start(f"feed of {name}", loop.feed)
            if loop.controller.channels:
                tasks += supervisor.start(f"channels of {name}", loop.listen)
        for name, transport in self._remotes.items():
            watch = partial(watch_remote, name, transport, self.loops, self._clock)
            tasks += supervisor.start(f"remote {name}", watch)
        return tasks

    def _start_writers(self, supervisor: Supervisor, recorders: list[EventRecorder]) -> Tasks:
        """Start the tasks that write, apart from the workers: Event recorders, leader election."""
        tasks: Tasks = []
        for loop, events in zip(self.loops, recorders, strict=True):
            tasks += supervisor.start(f"events of {loop.controller.name}", events.run)
        if self._elector is not None:
            tasks += supervisor.start("election", self._elector.run)
        return tasks

    async def _freeze_garbage(self) -> None:
        """Exclude the caches, and what the first passes leave, from garbage collections."""
        await freeze_until(self._synced.is_set, self._clock)
        await self._working.wait()
        await freeze_until(lambda: self.is_idle, self._clock)

    async def _lead(self, supervisor: Supervisor) -> None:
        """Start the workers once the caches are in sync and this process leads."""
        for loop in self.loops:
            await loop.view.wait_synced()
        self._log.info("caches in sync")
        self._synced.set()
        if self._elector is not None:
            await self._elector.elected.wait()
        for loop in self.loops:
            self._workers += supervisor.start(
                f"workers of {loop.controller.name}",
                loop.work,
                count=loop.controller.options.workers,
                may_end=partial(getattr, loop.pool, "stopping"),
            )
        self._working.set()

    async def _wind_down(self, writers: Tasks) -> None:
        """Let passes under way finish within ``shutdown_timeout``, then release the Lease.

        In that order: a replica that releases the Lease must have stopped writing, and must not
        renew it afterwards.  A write that was cancelled, or whose answer was lost, may still take
        effect on the server; then the Lease is not released but left to expire.
        """
        self._log.info("stopping")
        for loop in self.loops:
            loop.pool.stop()
        if self._workers:
            await asyncio.wait(self._workers, timeout=self.options.shutdown_timeout.total_seconds())
        ending = [*self._workers, *writers]
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending, timeout=_CANCEL_SECONDS_MAX)
        if self._elector is not None and self._writes is not None:
            margin = self.options.terms.lease_seconds - self.options.terms.renew_seconds
            await self._elector.resign(release=self._writes.settled_since(margin))

    # ------------------------------------------------------------------------------ parts

    async def _connect(self, stack: AsyncExitStack) -> Client:
        """Return the client of all controllers; create the elector that fences its writes."""
        connector = Connector(
            self.options,
            self._controllers,
            self._clock,
            self._rng,
            self._log,
            self.metrics,
            self._tracing,
        )
        made = await connector.connect(stack, self._transport, self._configuration)
        self._elector, self._writes, self._access = made.elector, made.writes, made.access
        return made.client

    def _loop(
        self, controller: Controller[Any], client: Client, events: EventRecorder
    ) -> ControllerLoop:
        assert self._caches is not None

        def record_event(obj: Json, kind: str, reason: str, message: str) -> None:
            loop.pool.observing.recorded_event(obj, kind, reason)
            events.record(obj, kind, reason, message)

        loop = ControllerLoop(
            controller,
            client,
            self._caches,
            clock=self._clock,
            metrics=self.metrics,
            rng=self._rng,
            log=Logger("myrmidon.controller"),
            record_event=record_event,
            namespaces=self.options.namespaces,
            trace=self.options.trace,
            changes=self._changes,
            tracing=self._tracing,
            shared=is_shared(controller, self._controllers),
            shares_status=shares_status(controller, self._controllers),
            planning=self.options.planning,
        )
        return loop

    async def _serve(self, stack: AsyncExitStack) -> None:
        """Serve probes and metrics; one server does both if the two addresses are equal."""
        probes, metrics = self.options.health_addr, self.options.metrics_addr
        tables: dict[str, list[web.RouteTableDef]] = {}
        if probes:
            tables.setdefault(probes, []).append(health_routes(self.checks))
        if probes and self.options.trace:
            tables[probes].append(trace_routes(self.views))
        if metrics:
            routes = metrics_routes(self.metrics, self._refresh, self._access)
            tables.setdefault(metrics, []).append(routes)
        for address, routes_of in tables.items():
            bound = await stack.enter_async_context(serving(address, *routes_of))
            self.addresses[address] = bound
            self._log.info("serving", address=bound)

    def checks(self) -> dict[str, str | None]:
        """Return the checks of readyz: a name and the problem, None if the check passes."""
        found: dict[str, str | None] = {}
        for health in self._caches.health() if self._caches else ():
            problem = None
            if not health.is_synced:
                problem = "not in sync"
            elif health.staleness_seconds > self.options.stale_after.total_seconds():
                problem = f"no message from the server for {health.staleness_seconds:.0f} s"
            if problem is not None and health.fault is not None:
                problem = f"{problem}: {health.fault}"
            found[f"cache {health.scope}"] = problem
        if self._supervisor is not None:
            found.update(self._supervisor.checks())
        if self._elector is not None:
            found["leading" if self._elector.leads else "standby"] = None
        return found

    def _refresh(self) -> None:
        """Set the gauges that are computed when the metrics are scraped."""
        now = self._clock.monotonic()
        self.metrics.loop_lag.set(self._lag.longest(now))
        for loop in self.loops:
            loop.pool.observing.queue_looked_at(loop.pool.queue, now)
            self.metrics.stalled.labels(loop.controller.name).set(loop.stalled())
        for health in self._caches.health() if self._caches else ():
            kind = health.scope.kind
            self.metrics.cache_objects.labels(*kind[:3]).set(health.objects)
            self.metrics.unreadable.labels(*kind[:3]).set(health.unreadable)
            self.metrics.cache_staleness.labels(*kind[:3]).set(health.staleness_seconds)
