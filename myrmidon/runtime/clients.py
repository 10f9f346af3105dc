"""Clients: the connections of a process to its API server, and who may write over them.

The layers of a request, from the controllers down to the socket:

    client           turns answers into objects and errors, retries what the server postponed
    tracing          opens a span for each request of a pass; off by default
    rate limit       ``client_qps``; off by default
    fence            refuses writes while this process does not lead; only with leader election
    unanswered       knows which writes may still take effect, for the release of the Lease
    transport        HTTP, or the transport of a test

Two clients of their own use the bare transport.  That of the leader election, because a renewal must
be neither fenced nor delayed by the rate limit.  That of ``metrics_auth``, because a replica that
does not lead is scraped, too, and its reviews are POST requests.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
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
from myrmidon.io.http.fence import FencedTransport
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.http.unanswered import UnansweredWrites
from myrmidon.io.throttle import ThrottledTransport, TokenBucket
from myrmidon.runtime.leader.election import Election
from myrmidon.runtime.leader.elector import Elector
from myrmidon.runtime.leader.lease import default_lease_name
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.client import RequestCounter
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.metrics.scrape_access import ScrapeAccess
from myrmidon.runtime.options import ManagerOptions
from myrmidon.runtime.tracing import Tracing


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients of one process."""

    client: Client
    """The client of all controllers."""
    elector: Elector | None
    """Takes part in the leader election; None without one."""
    writes: UnansweredWrites | None
    """The writes that may still take effect; None without leader election."""
    access: ScrapeAccess | None
    """Decides who may read the metrics; None for everyone."""


@dataclass(frozen=True, slots=True)
class Connector:
    """Connects a manager."""

    options: ManagerOptions
    controllers: Sequence[Controller[Any]]
    clock: Clock
    rng: Random
    log: Logger
    metrics: Metrics
    tracing: Tracing | None = None

    async def connect(
        self, stack: AsyncExitStack, transport: Transport | None, configuration: Any
    ) -> Clients:
        """Return the clients; ``stack`` closes the connections that were opened."""
        options = self.options
        namespace, host = options.leader_election_namespace, "local"
        if transport is None:
            if configuration is not None:
                endpoint = endpoint_of(configuration)
            else:
                endpoint = await load_endpoint(options.kubeconfig, options.context)
            http = HttpTransport(endpoint)
            transport, host = http, endpoint.host
            stack.push_async_callback(http.close)
            namespace = namespace or endpoint.namespace
        counter = RequestCounter(self.metrics, host)
        access: ScrapeAccess | None = None
        elector: Elector | None = None
        writes: UnansweredWrites | None = None
        if options.metrics_auth:
            reviews = self._client(transport, counter, options.request_timeout.total_seconds())
            access = ScrapeAccess(reviews, self.clock)
        if options.leader_election:
            elector = self._elector(transport, namespace or "default", counter)
            writes = UnansweredWrites(transport, self.clock)
            transport = FencedTransport(writes, elector.permit)
        if options.client_qps:
            burst = options.client_burst or int(options.client_qps * 2) or 1
            bucket = TokenBucket(options.client_qps, burst)
            transport = ThrottledTransport(transport, bucket, self.clock, counter.on_throttle)
        if self.tracing is not None:
            transport = self.tracing.transport(transport)
        client = self._client(transport, counter, options.request_timeout.total_seconds())
        return Clients(client, elector, writes, access)

    def _client(self, transport: Transport, counter: RequestCounter, seconds: float) -> Client:
        return Client(
            transport,
            clock=self.clock,
            observer=counter,
            rng=self.rng,
            deadline_seconds=seconds,
        )

    def _elector(self, transport: Transport, namespace: str, counter: RequestCounter) -> Elector:
        options = self.options
        identity = options.identity or f"{gethostname()}_{self.rng.getrandbits(40):010x}"
        # A request that hangs must leave time for another attempt before the renew deadline.
        client = self._client(transport, counter, options.terms.renew_seconds / 2)
        named = [(each.name, each.kind().group) for each in self.controllers]
        name = options.leader_election_id or default_lease_name(named)
        lease = ObjectRef(kinds.LEASE, name, namespace)
        election = Election(identity, options.terms)
        return Elector(
            client, lease, election, clock=self.clock, log=self.log, metrics=self.metrics
        )
