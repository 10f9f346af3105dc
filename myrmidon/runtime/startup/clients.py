"""Clients: the connections of a process to its API servers, and who may write over them.

The layers of a request, from the controllers down to the socket:

    client           turns answers into objects and errors, retries what the server postponed
    tracing          opens a span for each request of a pass; off by default
    rate limit       ``client_qps``, for each cluster; off by default
    fence            refuses writes while this process does not lead, or does not own the slice of
                     the pass; only with leader election or shards
    unanswered       knows which writes may still take effect, for the release of the Lease
    transport        HTTP, or the transport of a test

Each remote cluster has these layers, too, with the fence of the same elector: only one replica
writes, to whichever cluster.

Two clients use the bare transport.  That of the leader election, because a renewal must be neither
fenced nor delayed by the rate limit.  And ``bare``: a replica that does not lead is scraped, and the
reviews of ``metrics_auth`` are POST requests; it serves webhooks, too, and may create their
certificate.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from socket import gethostname
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import Transport
from myrmidon.fsm.controller import Controller
from myrmidon.io.access.configuration import endpoint_of
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.events import EventRecorder
from myrmidon.io.http.fence import FencedTransport
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.http.unanswered import UnansweredWrites
from myrmidon.io.lists.slices import slices_of
from myrmidon.io.throttle import ThrottledTransport, TokenBucket
from myrmidon.io.watch.caches import Caches
from myrmidon.runtime.leader.election import Election
from myrmidon.runtime.leader.elector import Elector
from myrmidon.runtime.leader.lease_record import default_lease_name
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.client import RequestCounter
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.metrics.scrape_access import ScrapeAccess
from myrmidon.runtime.observability.tracing import Tracing
from myrmidon.runtime.options import ManagerOptions
from myrmidon.runtime.process.supervision import Supervisor, Tasks
from myrmidon.runtime.shards.fence import SliceFence
from myrmidon.runtime.shards.member import ShardMember
from myrmidon.runtime.shards.process_parts import Worked
from myrmidon.runtime.startup.sharding import make_member
from myrmidon.runtime.webhooks.process_webhooks import Unfenced


class Clients:
    """The clients of one process; ``open`` must be called first."""

    home: Client
    """The client of the home cluster; requests for kinds of remote clusters are passed on."""
    leading: Client
    """The client for what only one replica may do: definitions, the storage version.  The same as
    ``home``, unless all replicas work; then its writes need the Lease of the leader election."""
    bare: Client
    """A client of the home cluster whose writes need no lease."""

    def __init__(
        self,
        options: ManagerOptions,
        clock: Clock,
        rng: Random,
        metrics: Metrics,
        log: Logger,
        *,
        tracing: Tracing | None = None,
    ) -> None:
        self._options, self._clock, self._rng = options, clock, rng
        self._metrics, self._log, self._tracing = metrics, log, tracing
        self._unanswered: list[UnansweredWrites] = []
        self.namespace = "default"
        """The namespace of the process: of its pod, or of the kubeconfig's context."""
        self.elector: Elector | None = None
        """Takes part in the leader election; None without one."""
        self.member: ShardMember | None = None
        """Shares the objects with other replicas; None without ``shards``."""
        self.access: ScrapeAccess | None = None
        """Decides who may read the metrics; None for everyone."""

    async def open(
        self,
        stack: AsyncExitStack,
        controllers: Sequence[Controller[Any]],
        transport: Transport | None,
        configuration: Any,
    ) -> None:
        """Connect to the home cluster; ``stack`` closes the connections that were opened.

        ``controllers`` give the Lease its default name.  The cluster is that of ``transport``, else
        of ``configuration`` (kubernetes-asyncio), else of the options.
        """
        options, host = self._options, "local"
        namespace = options.leader_election_namespace
        if transport is None:
            if configuration is not None:
                endpoint = endpoint_of(configuration)
            else:
                endpoint = await load_endpoint(options.kubeconfig, options.context)
            http = HttpTransport(endpoint)
            transport, host = http, endpoint.host
            stack.push_async_callback(http.close)
            namespace = namespace or endpoint.namespace
            self.namespace = endpoint.namespace or self.namespace
        counter = RequestCounter(self._metrics, host)
        self.bare = self._client(transport, counter, options.request_timeout.total_seconds())
        if options.metrics_auth:
            self.access = ScrapeAccess(self.bare, self._clock)
        named = [(each.name, each.kind().group) for each in controllers]
        name = options.leader_election_id or default_lease_name(named)
        if options.leader_election or (options.shards and _needs_leader(options)):
            lease = ObjectRef(kinds.LEASE, name, namespace or "default")
            self.elector = self._elector(transport, lease, counter)
        if options.shards:
            self.member = make_member(
                self._lease_client(transport, counter),
                name,
                namespace or "default",
                options,
                clock=self._clock,
                rng=self._rng,
                log=self._log,
                metrics=self._metrics,
            )
        self.home = self.leading = self._writing(transport, counter, self.member)
        if self.member is not None:
            self.leading = self._writing(transport, counter)

    def remote(self, name: str, transport: Transport) -> Client:
        """Return a client for a remote cluster; its writes need the Lease of the home cluster."""
        counter = RequestCounter(self._metrics, name)
        return self._writing(transport, counter, self.member, is_home=False)

    @property
    def unfenced(self) -> Unfenced:
        """The connection of webhooks, which replicas that do not lead serve as well."""
        elector = self.elector
        return Unfenced(self.bare, lambda: elector is None or elector.leads, self.namespace)

    async def elected(self) -> None:
        """Wait until this process leads; without leader election it always does."""
        if self.elector is not None:
            await self.elector.elected.wait()

    async def joined(self) -> None:
        """Wait until this process may work: until it leads, or is a member of those who share."""
        await (self.elected() if self.member is None else self.member.joined.wait())

    def checks(self) -> dict[str, str | None]:
        """Return the checks of readyz that tell what this process works on; they always pass."""
        found: dict[str, str | None] = {}
        if self.elector is not None:
            found["leading" if self.elector.leads else "standby"] = None
        if self.member is not None:
            found[f"working on {len(self.member.slices)} slices"] = None
        return found

    def take_part(
        self,
        supervisor: Supervisor,
        caches: Caches,
        ready: asyncio.Event,
        controllers: Callable[[], Iterable[Worked]],
    ) -> Tasks:
        """Start the leader election, and the membership, which begins when ``ready`` is set.

        ``controllers`` are told of the slices that come and go.
        """
        tasks: Tasks = []
        if self.elector is not None:
            tasks += supervisor.start("election", self.elector.run)
        if (member := self.member) is not None:
            events = EventRecorder(self.bare, "shards", clock=self._clock)
            member.moved = lambda lease, said: events.record(lease, "Normal", "SlicesMoved", said)
            leases = caches.view(kinds.LEASE, namespaces=[member.namespace], labels=member.labels)
            member.controllers, member.has_reached = controllers, caches.has_reached
            member.wait_kept, by = caches.wait_slices, self._options.shard_by
            member.keep = lambda ranges: caches.set_slices(slices_of(by, ranges))
            member.keep([])  # it owns nothing yet
            tasks += supervisor.start("events of shards", events.run)
            tasks += supervisor.start("shards", partial(member.run, leases, ready))
        return tasks

    async def resign(self) -> None:
        """Release the Leases, if all writes were answered; otherwise leave them to expire."""
        terms = self._options.terms
        margin = terms.lease_seconds - terms.renew_seconds
        settled = all(writes.settled_since(margin) for writes in self._unanswered)
        if self.member is not None:
            await self.member.resign(release=settled)
        if self.elector is not None:
            await self.elector.resign(release=settled)

    def _writing(
        self,
        transport: Transport,
        counter: RequestCounter,
        member: ShardMember | None = None,
        *,
        is_home: bool = True,
    ) -> Client:
        """Return a client whose writes are fenced and whose requests are limited."""
        options = self._options
        if member is not None or self.elector is not None:
            writes = UnansweredWrites(transport, self._clock)
            self._unanswered.append(writes)
            if member is not None:
                transport = SliceFence(writes, member.permit, member.writes, is_home=is_home)
            elif self.elector is not None:
                transport = FencedTransport(writes, self.elector.permit)
        if options.client_qps:
            burst = options.client_burst or int(options.client_qps * 2) or 1
            bucket = TokenBucket(options.client_qps, burst)
            transport = ThrottledTransport(transport, bucket, self._clock, counter.on_throttle)
        if self._tracing is not None:
            transport = self._tracing.transport(transport)
        return self._client(transport, counter, options.request_timeout.total_seconds())

    def _client(self, transport: Transport, counter: RequestCounter, seconds: float) -> Client:
        return Client(
            transport,
            clock=self._clock,
            observer=counter,
            rng=self._rng,
            deadline_seconds=seconds,
        )

    def _lease_client(self, transport: Transport, counter: RequestCounter) -> Client:
        # A request that hangs must leave time for another attempt before the renew deadline.
        return self._client(transport, counter, self._options.terms.renew_seconds / 2)

    def _elector(self, transport: Transport, lease: ObjectRef, counter: RequestCounter) -> Elector:
        options = self._options
        identity = options.identity or f"{gethostname()}_{self._rng.getrandbits(40):010x}"
        client = self._lease_client(transport, counter)
        election = Election(identity, options.terms)
        return Elector(
            client, lease, election, clock=self._clock, log=self._log, metrics=self._metrics
        )


def _needs_leader(options: ManagerOptions) -> bool:
    """Whether the program does what only one replica may do, besides passes."""
    return options.install_crds or options.migrate_storage or options.webhooks is not None
