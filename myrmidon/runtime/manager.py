"""Manager: runs several controllers in one process, from the first connection to the shutdown.

Start-up, in this order:

1. connect: transport, leader election fence, rate limit, client;
2. serve probes and metrics;
3. preflight: list every declared kind once, so that wrong credentials or a missing role stop the
   program with one sentence and not with a log full of retries;
4. start the caches, which the controllers share, and the leader election;
5. start the controllers, each by itself (``controller.run``): one whose kinds are not served waits
   for them, and the others work.

A replica that does not lead runs everything except the workers: its caches are warm when it takes
over.  Controllers can be added and removed while the process runs (``add``, ``remove``).

Shutdown (``stop``): workers finish the passes under way within ``shutdown_timeout``, the remaining
tasks are cancelled, and then the Lease is released (``_wind_down`` says why in that order).

All tasks run under one ``Supervisor``.  If one of them fails or ends unexpectedly, ``run`` raises
and the process should exit: a controller without its watch or its workers would look healthy and do
nothing.  Restarting is left to the kubelet.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import Transport
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.misuse.instances import check_is_controller
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.subscriptions import Health
from myrmidon.runtime.controller.gauges import set_gauges
from myrmidon.runtime.controller.loop import ControllerLoop
from myrmidon.runtime.controller.run import CANCEL_SECONDS_MAX, ControllerRun, Process, finish
from myrmidon.runtime.controller.traced_objects import all_views, views_of
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.observability.recorder import Recorder
from myrmidon.runtime.observability.snapshot import ObjectView, Snapshot
from myrmidon.runtime.observability.tracing import Tracing
from myrmidon.runtime.observability.vitals import Vitals
from myrmidon.runtime.options import ManagerOptions
from myrmidon.runtime.process import health
from myrmidon.runtime.process.garbage import freeze_at_start
from myrmidon.runtime.process.lag import LoopLag
from myrmidon.runtime.process.supervision import Supervisor, Tasks, ungrouped
from myrmidon.runtime.startup.clients import Clients
from myrmidon.runtime.startup.installation import Installation
from myrmidon.runtime.startup.preflight import not_served, patiently
from myrmidon.runtime.startup.records import open_change_log, recorder_for
from myrmidon.runtime.startup.remotes import RemoteCluster
from myrmidon.runtime.startup.same_kind import check_apart, check_together, unknown_controller
from myrmidon.runtime.startup.storage_migration import keep_migrated
from myrmidon.runtime.webhooks.dispatch import Handler
from myrmidon.runtime.webhooks.process_webhooks import ProcessWebhooks, handlers_of
from myrmidon.webhooks.admission.rules import Admission
from myrmidon.webhooks.admission.webhooks import declared_subjects


class Manager:
    """Runs controllers against one cluster.

    ``transport`` and ``clock`` replace the connection and the time, for tests.  By default the
    manager connects to the cluster that the options name, and uses the clock of the event loop.
    ``configuration``, a ``Configuration`` of kubernetes-asyncio, names the cluster instead of
    ``ManagerOptions.kubeconfig`` and ``context``: host, CA, client certificate, token and its
    refresh hook, proxy.  ``metrics`` is where the manager counts; by default it creates its own.
    ``definitions`` are the CRDs of the program: compared with the cluster's, or installed with
    ``ManagerOptions.install_crds``.  ``recorder`` has the passes of a manager that this one follows.
    """

    def __init__(
        self,
        options: ManagerOptions | None = None,
        *,
        transport: Transport | None = None,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        configuration: Any = None,
        definitions: Iterable[Json] = (),
        recorder: Recorder | None = None,
    ) -> None:
        self._definitions = tuple(definitions)
        self.options = options or ManagerOptions()
        self.recorder = recorder_for(self.options, recorder)
        self._runs: list[ControllerRun] = []
        self._process: Process | None = None
        self._controllers: list[Controller[Any]] = []
        self._admissions: list[Admission[Any]] = []
        self.handlers: dict[str, Handler] = {}
        """Further webhooks by path, set before ``run``: async functions from JSON to JSON."""
        self.webhooks: ProcessWebhooks | None = None
        """The webhooks of the program; None if it declares none, and before ``run``."""
        self._transports: dict[str, Transport] = {}  # of remote clusters
        self._transport, self._clock = transport, clock or LoopClock()
        self._configuration = configuration
        self._rng = Random(self.options.seed)  # noqa: S311 - spreads load; keeps no secret
        self._log = Logger("myrmidon.manager")
        self._stopping = asyncio.Event()
        self._caches: Caches | None = None
        tracer = self.options.tracer
        self._tracing = None if tracer is None else Tracing(tracer, self._clock)
        self.metrics = metrics or Metrics(
            per_object=self.options.per_object_metrics,
            exemplar=None if self._tracing is None else self._tracing.exemplar,
        )
        self._synced = asyncio.Event()
        self._working = asyncio.Event()
        self._supervisor: Supervisor | None = None
        self._clients = Clients(
            self.options, self._clock, self._rng, self.metrics, self._log, tracing=self._tracing
        )
        self._lag = LoopLag(self._clock, self._log)
        self.addresses: dict[str, str] = {}
        """The bound address of each server, by the address in the options: ``:0`` picks a port."""

    def add(self, controller: Controller[Any] | Admission[Any]) -> None:
        """Add a controller, or, before ``run``, an ``Admission`` with validators and defaults.

        Controllers differ in name.  Those of the same kind must not share a type of condition in the
        status of their objects, ``Ready`` included.

        While the manager runs, the controller starts at once: it lists its kinds, and on a process
        that leads its workers start as soon as its caches are in sync.  Problems that would stop the
        process at its start (a missing role) are then reported in the log and in ``readyz``, and the
        check is repeated.  Controllers of the same kind must be added before ``run``.
        """
        if isinstance(controller, Admission):
            self._admissions.append(controller)
            return
        check_is_controller(controller, "Manager.add")
        for other in self._controllers:
            check_together(controller, other)
        if self._process is None:
            self._controllers.append(controller)
            return
        check_apart(controller, [run.controller for run in self._runs])
        run = ControllerRun(controller, self._process)
        self._controllers.append(controller)
        self._runs.append(run)
        if self._supervisor is not None:
            run.start(self._supervisor)

    async def remove(self, name: str) -> None:
        """Stop the controller of that name, and forget it; the others go on.

        Passes under way finish within ``shutdown_timeout``, and watches that no other controller needs
        end.  Objects and children stay; an object with our finalizer that is deleted later waits.
        """
        found = [one for one in self._controllers if one.name == name]
        if not found:
            raise unknown_controller(name, self._controllers)
        self._controllers.remove(found[0])
        for run in [one for one in self._runs if one.controller is found[0]]:
            await finish([run], self.options.shutdown_timeout.total_seconds())
            if self._supervisor is not None:
                self._supervisor.forget(run.tasks)
            run.close()
            if run in self._runs:
                self._runs.remove(run)

    def add_remote(self, name: str, transport: Transport) -> None:
        """Register a remote cluster, before ``run``.

        Controllers use it by that name: ``kinds.CONFIG_MAP.at(name)`` in ``manages`` and ``reads``,
        ``Watch(remote=name)``, ``out.apply(..., cluster=name)``, ``ctx.get(..., cluster=name)``.
        """
        self._transports[name] = transport

    @property
    def loops(self) -> list[ControllerLoop]:
        """The loops of the controllers whose kinds are all served."""
        return [run.loop for run in self._runs if run.loop is not None]

    async def run(self) -> None:
        """Run until ``stop`` is called or a task fails; one failed task stops the whole manager.

        Raises the first error of the framework alone, without the ``ExceptionGroup`` around it.
        """
        with ungrouped():
            async with AsyncExitStack() as stack:
                await self._run(stack)

    def stop(self) -> None:
        """Begin the shutdown: start no new passes, finish those under way, release the Lease."""
        self._stopping.set()

    @property
    def client(self) -> Client | None:
        """The client of the cluster; None before ``run`` has connected."""
        return self._process.client if self._process is not None else None

    async def wait_working(self) -> None:
        """Wait until the caches are in sync, this process leads, and the workers run."""
        await self._working.wait()

    @property
    def is_idle(self) -> bool:
        """Whether the workers run and no pass is under way or due."""
        idle = self._working.is_set() and all(run.is_idle for run in self._runs)
        return idle and ((member := self._clients.member) is None or member.is_settled)

    def snapshot(self) -> Snapshot:
        """Return the state of every object now; empty without ``ManagerOptions.trace``."""
        return Snapshot(self._clock.now(), self._working.is_set(), all_views(self.loops))

    def view(self, kind: str, key: str) -> ObjectView | None:
        """Return an object of the snapshot, ``view("WebApp", "default/shop")``; None, or see ``views``."""
        return next(iter(self.views(kind, key)), None)

    def views(self, kind: str, key: str) -> list[ObjectView]:
        """Return one object of the snapshot as each controller of its kind sees it."""
        return views_of(self.loops, kind, key)

    # ------------------------------------------------------------------------- life cycle

    async def _run(self, stack: AsyncExitStack) -> None:
        clients = self._clients
        await clients.open(stack, self._controllers, self._transport, self._configuration)
        await self._serve(stack)
        remotes = {name: self._remote_cluster(name, at) for name, at in self._transports.items()}
        caches = self._caches = self._caches_of(clients.home)
        clients.home.remotes = {name: remote.client for name, remote in remotes.items()}
        caches.remotes = {name: remote.caches for name, remote in remotes.items()}
        await self._open_webhooks(stack, caches)
        self._process = Process(
            options=self.options,
            client=clients.home,
            caches=caches,
            clock=self._clock,
            metrics=self.metrics,
            rng=self._rng,
            log=self._log,
            controllers=self._controllers,
            elected=clients.joined,
            ownership=clients.member,
            remotes=remotes,
            definitions=() if self.options.install_crds else self._definitions,
            changes=open_change_log(self.options, self._log, stack),
            recorder=self.recorder,
            tracing=self._tracing,
        )
        self._runs = [ControllerRun(each, self._process) for each in self._controllers]
        stack.callback(self._close)
        wanted = self._definitions if self.options.install_crds else ()
        installation = Installation(clients.leading, wanted, self._clock, self._log)
        if clients.elector is None:
            await self._when_leading(installation.attempt)
        seconds = self.options.start_timeout.total_seconds()
        for run in self._runs:
            await patiently(run.check, self._clock, seconds, self._log)
            if run.missing and not self.options.wait_for_kinds:
                raise not_served(run.controller, run.missing[0])
        async with asyncio.TaskGroup() as group:
            self._supervisor = supervisor = Supervisor(group, self._log)
            background = self._start(supervisor, remotes)
            election = clients.take_part(supervisor, caches, self._synced, lambda: self.loops)
            if wanted:
                install = partial(self._when_leading, installation.complete)
                background += supervisor.start("install", install, may_end=lambda: True)
            await self._stopping.wait()
            await self._wind_down(election)
            for task in background:
                task.cancel()

    async def _open_webhooks(self, stack: AsyncExitStack, caches: Caches) -> None:
        """Answer webhooks from here on: before this process leads, and before it writes anything."""
        subjects = [*declared_subjects(map(type, self._controllers)), *self._admissions]
        handlers = handlers_of(self._controllers, self.handlers, self.metrics.webhooks, self._log)
        if not subjects and not handlers:
            return
        self.webhooks = ProcessWebhooks(
            subjects,
            handlers,
            options=self.options.webhooks,
            connection=self._clients.unfenced,
            caches=caches,
            namespaces=self.options.namespaces,
            definitions=self._definitions,
            clock=self._clock,
            metrics=self.metrics.webhooks,
            log=self._log,
        )
        self.addresses |= await self.webhooks.open(stack)

    def _remote_cluster(self, name: str, transport: Transport) -> RemoteCluster:
        client = self._clients.remote(name, transport)
        return RemoteCluster(name, client, self._caches_of(client, name))

    def _caches_of(self, client: Client, cluster: str = "") -> Caches:
        timing = self.options.watching
        return Caches(client, clock=self._clock, rng=self._rng, timing=timing, cluster=cluster)

    async def _when_leading(self, install: Callable[[], Awaitable[None]]) -> None:
        """Install the definitions of the program, as soon as this process leads."""
        await self._clients.elected()
        seconds = self.options.start_timeout.total_seconds()
        await patiently(install, self._clock, seconds, self._log)

    def _close(self) -> None:
        for run in self._runs:
            run.close()

    def _start(self, supervisor: Supervisor, remotes: Mapping[str, RemoteCluster]) -> Tasks:
        """Start the controllers, and the caches that they share; return the tasks of the latter."""
        assert self._caches is not None
        tasks = supervisor.start("caches", self._caches.run)
        tasks += supervisor.start("lead", self._lead, may_end=lambda: True)
        if isinstance(self._clock, LoopClock):
            tasks += supervisor.start("lag", self._lag.run)
        if self.options.freeze_garbage:
            waits = (self._synced, self._working, lambda: self.is_idle)
            freeze = partial(freeze_at_start, *waits, self._clock)
            tasks += supervisor.start("garbage", freeze, may_end=lambda: True)
        for name, remote in remotes.items():
            tasks += supervisor.start(f"remote {name}", remote.caches.run)
        if self.webhooks is not None:
            tasks += self.webhooks.start(supervisor)
        for run in self._runs:
            run.start(supervisor)
        return tasks

    async def _lead(self) -> None:
        """Note when all controllers whose kinds are served are in sync, and when they work."""
        starting = [run for run in self._runs if not run.missing]
        for run in starting:
            await run.synced.wait()
        self._log.info("caches in sync")
        self._synced.set()
        await self._clients.joined()
        for run in starting:
            await run.working.wait()
        self._working.set()
        if self.options.migrate_storage:
            await self._clients.elected()
            await keep_migrated(self._clients.leading, self._definitions, self._clock, self._log)

    async def _wind_down(self, election: Tasks) -> None:
        """Let passes under way finish within ``shutdown_timeout``, then release the Lease.

        In that order: a replica that releases the Lease must have stopped writing, and must not
        renew it afterwards.  A write that was cancelled, or whose answer was lost, may still take
        effect on the server; then the Lease is not released but left to expire.
        """
        self._log.info("stopping")
        await finish(self._runs, self.options.shutdown_timeout.total_seconds())
        for task in election:
            task.cancel()
        if election:
            await asyncio.wait(election, timeout=CANCEL_SECONDS_MAX)
        await self._clients.resign()

    # ------------------------------------------------------------------------------ parts

    async def _serve(self, stack: AsyncExitStack) -> None:
        """Serve probes and metrics; one server does both if the two addresses are equal."""
        options, access = self.options, self._clients.access
        scrapes = health.metrics_routes(self.metrics, self._refresh, access, options.registry)
        probes = [health.health_routes(self.checks)]
        probes += [health.trace_routes(self.views)] if options.trace else []
        tables = health.endpoints(options.health_addr, options.metrics_addr, probes, scrapes)
        for address, routes_of in tables.items():
            opened = stack.enter_async_context(health.serving(address, *routes_of))
            self.addresses[address] = bound = await opened
            self._log.info("serving", address=bound)

    def checks(self) -> dict[str, str | None]:
        """Return the checks of readyz: a name and the problem, None if the check passes."""
        found = health.cache_checks(self._healths(), self.options.stale_after.total_seconds())
        for run in self._runs:
            found.update(run.checks())
        if self.webhooks is not None:
            found.update(self.webhooks.checks())
        if self._supervisor is not None:
            found.update(self._supervisor.checks())
        return found | self._clients.checks()

    def vitals(self) -> Vitals:
        """Return how the process is: its leadership, event loop, caches, queues and problems."""
        elector, lag = self._clients.elector, self._lag.longest(self._clock.monotonic())
        leads, names = (None, ()) if elector is None else (elector.leads, elector.names)
        problems = {name: said for name, said in self.checks().items() if said is not None}
        queues = tuple(loop.vitals() for loop in self.loops)
        caches = tuple(self._healths())
        return Vitals(leads, self._working.is_set(), lag, caches, queues, problems, *names)

    def _refresh(self) -> None:
        now = self._clock.monotonic()
        set_gauges(self.metrics, self.loops, self._healths(), self._lag.longest(now), now)

    def _healths(self) -> Iterable[Health]:
        return self._caches.health() if self._caches else ()
