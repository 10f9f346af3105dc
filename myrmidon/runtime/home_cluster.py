"""HomeCluster: the layers between the controllers of a process and its API server.

From the outside inwards: retries and deadlines (``Client``), the rate limit, the fence of the leader
election, the memory of unanswered writes, and the transport.  The elector and the check of who
scrapes metrics use the bare transport: renewals are neither fenced nor rate-limited, and a replica
that does not lead is scraped, too.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from random import Random
from socket import gethostname

from myrmidon.api import kinds
from myrmidon.api.clock import Clock
from myrmidon.api.refs import ObjectRef
from myrmidon.api.wire import Transport
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

Named = Sequence[tuple[str, str]]


class HomeCluster:
    """Connects a process to its API server; ``open`` must be called first."""

    client: Client

    def __init__(
        self, options: ManagerOptions, clock: Clock, rng: Random, metrics: Metrics, log: Logger
    ) -> None:
        self._options, self._clock, self._rng = options, clock, rng
        self._metrics, self._log = metrics, log
        self._unanswered: list[UnansweredWrites] = []
        self.elector: Elector | None = None
        self.access: ScrapeAccess | None = None

    async def open(self, transport: Transport | None, named: Named, stack: AsyncExitStack) -> None:
        """Connect to the cluster of the options, or over ``transport``; create the elector.

        ``named`` are the (name, API group) of the controllers, for the default name of the Lease.
        """
        options, host = self._options, "local"
        namespace = options.leader_election_namespace
        if transport is None:
            endpoint = await load_endpoint(options.kubeconfig, options.context)
            transport, host = HttpTransport(endpoint), endpoint.host
            stack.push_async_callback(transport.close)
            namespace = namespace or endpoint.namespace
        counter = RequestCounter(self._metrics, host)
        if options.metrics_auth:
            reviews = Client(transport, clock=self._clock, observer=counter, rng=self._rng)
            self.access = ScrapeAccess(reviews, self._clock)
        if options.leader_election:
            name = options.leader_election_id or default_lease_name(named)
            lease = ObjectRef(kinds.LEASE, name, namespace or "default")
            self.elector = self._candidate(transport, lease, counter)
        self.client = self.client_of(transport, host)

    def client_of(self, transport: Transport, host: str) -> Client:
        """Return a client for the home cluster or a remote one; its writes need the Lease.

        The Lease is always that of the home cluster: only one replica writes, to whichever cluster.
        """
        options, counter = self._options, RequestCounter(self._metrics, host)
        if self.elector is not None:
            writes = UnansweredWrites(transport, self._clock)
            self._unanswered.append(writes)
            transport = FencedTransport(writes, self.elector.permit)
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

    async def elected(self) -> None:
        """Wait until this process leads; without leader election it always does."""
        if self.elector is not None:
            await self.elector.elected.wait()

    async def resign(self) -> None:
        """Release the Lease, if all writes were answered; otherwise leave it to expire."""
        if self.elector is not None:
            terms = self._options.terms
            margin = terms.lease_seconds - terms.renew_seconds
            settled = all(writes.settled_since(margin) for writes in self._unanswered)
            await self.elector.resign(release=settled)

    def _candidate(
        self, transport: Transport, lease: ObjectRef, counter: RequestCounter
    ) -> Elector:
        options = self._options
        identity = options.identity or f"{gethostname()}_{self._rng.getrandbits(40):010x}"
        # A request that hangs must leave time for another attempt before the renew deadline.
        patience = options.terms.renew_seconds / 2
        client = Client(
            transport,
            clock=self._clock,
            observer=counter,
            rng=self._rng,
            deadline_seconds=patience,
        )
        election = Election(identity, options.terms)
        return Elector(
            client, lease, election, clock=self._clock, log=self._log, metrics=self._metrics
        )
