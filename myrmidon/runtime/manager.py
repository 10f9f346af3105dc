"""Manager: many controllers in one process: start, lead, stop, fail together."""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from itertools import chain
from random import Random
from socket import gethostname
from typing import Any

from aiohttp import web

from myrmidon.api import kinds
from myrmidon.api.clock import Clock
from myrmidon.api.objects import Json
from myrmidon.api.refs import ObjectRef
from myrmidon.api.wire import Transport
from myrmidon.errors import DefinitionError, MyrmidonError
from myrmidon.fsm.controller import Controller
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.events import EventRecorder
from myrmidon.io.http.fence import FencedTransport
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.http.unanswered import UnansweredWrites
from myrmidon.io.throttle import ThrottledTransport, TokenBucket
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.caches import Caches
from myrmidon.runtime.garbage import freeze_until
from myrmidon.runtime.health import health_routes, metrics_routes, serving, trace_routes
from myrmidon.runtime.lag import LoopLag
from myrmidon.runtime.leader.election import Election
from myrmidon.runtime.leader.elector import Elector
from myrmidon.runtime.leader.lease import default_lease_name
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.loop import ControllerLoop
from myrmidon.runtime.metrics.client import RequestCounter
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.options import ManagerOptions
from myrmidon.runtime.preflight import preflight
from myrmidon.runtime.remotes import check_remotes, watch_remote
from myrmidon.runtime.snapshot import ObjectView, Snapshot
from myrmidon.runtime.supervision import Supervisor, Tasks, first_of

_CANCEL_SECONDS_MAX = 2.0  # for what a state does when it is cancelled


class Manager:
    """Runs controllers against one cluster.

    ``transport`` and ``clock`` are seams: by default the cluster of the options and the real time.
    """

    def __init__(
        self,
        options: ManagerOptions | None = None,
        *,
        transport: Transport | None = None,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.options = options or ManagerOptions()
        self.metrics = metrics or Metrics(per_object=self.options.per_object_metrics)
        self.loops: list[ControllerLoop] = []
        self._controllers: list[Controller[Any]] = []
        self._remotes: dict[str, Transport] = {}
        self._transport, self._clock = transport, clock or LoopClock()
        self._rng = Random(self.options.seed)  # noqa: S311 - spreads load; keeps no secret
        self._log = Logger("myrmidon.manager")
        self._stopping = asyncio.Event()
        self._caches: Caches | None = None
        self._elector: Elector | None = None
        self._writes: UnansweredWrites | None = None
        self._working = asyncio.Event()
        self._workers: Tasks = []
        self._supervisor: Supervisor | None = None
        self._lag = LoopLag(self._clock, self._log)
        self.addresses: dict[str, str] = {}
        """Where probes and metrics are served, by the address that was asked for."""

    def add(self, controller: Controller[Any]) -> None:
        """Let this manager run a controller."""
        for other in self._controllers:
            if other.kind() == controller.kind():
                raise DefinitionError(
                    f"{type(controller).__name__} and {type(other).__name__} both control "
                    f"{controller.kind()}; they would overwrite each other's status.\n"
                    "  fix: merge their states into one controller, or give one a kind of its own"
                )
        self._controllers.append(controller)

    def add_remote(self, name: str, transport: Transport) -> None:
        """Tell of another cluster, for ``Watch(..., remote=name)``."""
        self._remotes[name] = transport

    async def run(self) -> None:
        """Run until ``stop`` is called or something breaks; a crash of one part stops the whole."""
        try:
            async with AsyncExitStack() as stack:
                await self._run(stack)
        except BaseExceptionGroup as group:
            expected, surprises = group.split(MyrmidonError)
            if surprises is not None or expected is None:
                raise
            raise first_of(expected) from None

    def stop(self) -> None:
        """Ask for the end: no new passes, running ones finish, the lease is given back."""
        self._stopping.set()

    async def wait_working(self) -> None:
        """Wait until the caches are in sync, this process leads, and workers run."""
        await self._working.wait()

    @property
    def is_idle(self) -> bool:
        """Whether workers run and none has anything to do."""
        return self._working.is_set() and all(loop.is_idle for loop in self.loops)

    def snapshot(self) -> Snapshot:
        """A frozen picture of every object; needs ``ManagerOptions.trace``."""
        views = (loop.tracer.views(loop.traced) for loop in self.loops if loop.tracer is not None)
        return Snapshot(self._clock.now(), self._working.is_set(), tuple(chain(*views)))

    def view(self, kind: str, key: str) -> ObjectView | None:
        """One object in that picture: ``view("WebApp", "default/shop")``."""
        for loop in self.loops:
            if loop.tracer is not None and loop.controller.kind().kind == kind:
                return loop.tracer.view(loop.traced, key)
        return None

    # ------------------------------------------------------------------------- life cycle

    async def _run(self, stack: AsyncExitStack) -> None:
        client = await self._connect(stack)
        await preflight(client, self._controllers, self.options.namespaces)
        self._caches = Caches(
            client, clock=self._clock, rng=self._rng, timing=self.options.watching
        )
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
        """Start what only reads: caches, feeds, channels, remote clusters."""
        assert self._caches is not None
        tasks = supervisor.start("caches", self._caches.run)
        tasks += supervisor.start("lead", partial(self._lead, supervisor), may_end=lambda: True)
        if isinstance(self._clock, LoopClock):
            tasks += supervisor.start("lag", self._lag.run)
        if self.options.freeze_garbage:
            freeze = partial(freeze_until, self._working.is_set, self._clock)
            tasks += supervisor.start("garbage", freeze, may_end=self._working.is_set)
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
        """Start what writes beside the workers: Event recorders, and the election of a leader."""
        tasks: Tasks = []
        for loop, events in zip(self.loops, recorders, strict=True):
            tasks += supervisor.start(f"events of {loop.controller.name}", events.run)
        if self._elector is not None:
            tasks += supervisor.start("election", self._elector.run)
        return tasks

    async def _lead(self, supervisor: Supervisor) -> None:
        """Start the workers as soon as they may work; a standby has everything but them."""
        for loop in self.loops:
            await loop.view.wait_synced()
        self._log.info("caches in sync")
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
        """Let passes under way finish, as long as the options allow; then give the lease back.

        In that order: a replica that gives the lease back must have stopped writing, and must not
        renew it.  A write that was cancelled or lost its answer may still take effect; the lease is
        then left to run out.
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
        """The client of all controllers, and the elector that guards its writes."""
        options = self.options
        namespace = options.leader_election_namespace
        transport, host = self._transport, "local"
        if transport is None:
            endpoint = await load_endpoint(options.kubeconfig, options.context)
            transport, host = HttpTransport(endpoint), endpoint.host
            stack.push_async_callback(transport.close)
            namespace = namespace or endpoint.namespace
        counter = RequestCounter(self.metrics, host)
        if options.leader_election:
            # Renewing the lease waits for no rate limit; the fence stands behind it.
            self._elector = self._candidate(transport, namespace or "default", counter)
            self._writes = UnansweredWrites(transport, self._clock)
            transport = FencedTransport(self._writes, self._elector.permit)
        if options.client_qps:
            burst = options.client_burst or int(options.client_qps * 2) or 1
            bucket = TokenBucket(options.client_qps, burst)
            transport = ThrottledTransport(transport, bucket, self._clock, counter.on_throttle)
        return Client(
            transport,
            clock=self._clock,
            observer=counter,
            rng=self._rng,
            deadline_seconds=options.request_timeout.total_seconds(),
        )

    def _candidate(self, transport: Transport, namespace: str, counter: RequestCounter) -> Elector:
        options = self.options
        identity = options.identity or f"{gethostname()}_{self._rng.getrandbits(40):010x}"
        # A request that hangs must not use up the time in which the lease can be renewed.
        patience = options.terms.renew_seconds / 2
        client = Client(
            transport,
            clock=self._clock,
            observer=counter,
            rng=self._rng,
            deadline_seconds=patience,
        )
        named = [(each.name, each.kind().group) for each in self._controllers]
        name = options.leader_election_id or default_lease_name(named)
        lease = ObjectRef(kinds.LEASE, name, namespace)
        election = Election(identity, options.terms)
        return Elector(
            client, lease, election, clock=self._clock, log=self._log, metrics=self.metrics
        )

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
        )
        return loop

    async def _serve(self, stack: AsyncExitStack) -> None:
        """Probes and metrics: on two addresses, or on one if they are the same."""
        probes, metrics = self.options.health_addr, self.options.metrics_addr
        tables: dict[str, list[web.RouteTableDef]] = {}
        if probes:
            tables.setdefault(probes, []).append(health_routes(self.checks))
        if probes and self.options.trace:
            tables[probes].append(trace_routes(self.view))
        if metrics:
            routes = metrics_routes(self.metrics, self._refresh)
            tables.setdefault(metrics, []).append(routes)
        for address, routes_of in tables.items():
            bound = await stack.enter_async_context(serving(address, *routes_of))
            self.addresses[address] = bound
            self._log.info("serving", address=bound)

    def checks(self) -> dict[str, str | None]:
        """Everything that readyz asks, each with what is wrong with it, None if nothing is."""
        found: dict[str, str | None] = {}
        for health in self._caches.health() if self._caches else ():
            problem = None
            if not health.is_synced:
                problem = "not in sync"
            elif health.staleness_seconds > self.options.stale_after.total_seconds():
                problem = f"heard nothing for {health.staleness_seconds:.0f} s"
            if problem is not None and health.fault is not None:
                problem = f"{problem}: {health.fault}"
            found[f"cache {health.scope}"] = problem
        if self._supervisor is not None:
            found.update(self._supervisor.checks())
        if self._elector is not None:
            found["leading" if self._elector.leads else "standby"] = None
        return found

    def _refresh(self) -> None:
        """Set the gauges that are only known at the moment of asking."""
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
