"""ManagerOptions: the settings of one process.

They concern everything that the controllers of a process share: the connection, leader election,
the servers for probes and metrics, and the shutdown.  Settings of a single controller, such as its
number of workers, are in ``Controller.options``.  ``myrmidon run`` sets these from its flags.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from prometheus_client import CollectorRegistry

from myrmidon.api.requests.selectors import parse_selector
from myrmidon.errors import UsageError
from myrmidon.fsm.declaration.option_types import mistyped
from myrmidon.io.watch.protocol import Timing
from myrmidon.runtime.leader.election import Terms
from myrmidon.runtime.observability.change_log import OnWrite
from myrmidon.runtime.observability.recorder import BYTES_MAX, PASSES_MAX, PERIOD
from myrmidon.runtime.reconcile.error_reports import OnError
from myrmidon.runtime.webhooks.options import WebhookOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerOptions:
    """Settings of one process.  The defaults suit a single replica and a small cluster."""

    leader_election: bool = False
    """Run passes in only one of several replicas; the others stand by with their caches in sync.
    Off by default.  The ``leader_election_*`` options, ``terms`` and ``identity`` have no effect
    without it, or ``shards``."""
    leader_election_id: str = ""
    """The name of the Lease; by default ``myrmidon-`` with the name and the API group of the first
    controller.  Set it if that controller may be renamed or replaced: two versions of a program
    with different Lease names would both lead during a roll-out."""
    leader_election_namespace: str = ""
    """The namespace of the Lease; by default that of the pod or of the kubeconfig's context, and
    ``default`` if neither names one."""
    terms: Terms = field(default_factory=Terms)
    """The lease duration, renew deadline and retry period: 15, 10 and 2 seconds by default.  All
    replicas of a program should use the same."""
    identity: str = ""
    """The holder identity of this replica in the Lease; by default the host name with a random
    suffix.  It must differ between replicas."""

    shards: Literal["auto"] | None = None
    """``auto``: let all replicas work at the same time, each on its share of the objects, which moves
    when replicas come and go.  None, the default: a process works on all objects.  Not together with
    ``leader_election``; what only one replica may do (``install_crds``, ``migrate_storage``,
    certificates of webhooks) is done by a leader all the same.  ``leader_election_id`` and
    ``leader_election_namespace`` name the Leases, ``terms`` has their durations."""
    shard_by: Literal["uid", "namespace"] = "uid"
    """How objects are divided among replicas: by their ``uid``, the default, which spreads them
    evenly, or by their ``namespace``, so that all objects of a namespace have the same replica.
    Cluster-scoped objects are always divided by uid.  All replicas must use the same.  No effect
    without ``shards``."""

    metrics_addr: str = ""
    """Where ``/metrics`` is served, as ``host:port`` or ``:port``; not at all by default.  May be
    the same address as ``health_addr``."""
    metrics_auth: bool = False
    """Let only those read ``/metrics`` whose bearer token the API server accepts, and who may
    ``get`` the path ``/metrics``; ``myrmidon generate rbac --metrics-auth`` writes the roles.  Off
    by default.  The tokens are not encrypted on the way, unless a proxy or a mesh does that."""
    health_addr: str = ""
    """Where ``/healthz``, ``/livez`` and ``/readyz`` are served, as ``host:port`` or ``:port``; not
    at all by default.  With ``trace`` also ``/passes``."""
    per_object_metrics: bool = True
    """Export series that carry the name of an object, such as ``achilles_resource_readiness``.  On
    by default; switch it off if there are many thousand objects.  Counters then have an empty name.
    No effect if the manager is given its ``Metrics``."""

    registry: CollectorRegistry | Literal["default"] | None = "default"
    """The registry with the metrics of the program, which ``/metrics`` serves after ours; by default
    the default registry of prometheus_client, in which ``Counter("orders_total", ...)`` is.  A metric
    whose name we have as well, such as ``process_cpu_seconds``, is left out.  None for none."""

    webhooks: WebhookOptions | None = None
    """How the validators and defaults of the program (``@validates``, ``@defaults``) are served to
    the API server; None, the default, for not at all."""

    kubeconfig: str | None = None
    """The kubeconfig file; by default ``$KUBECONFIG``, then the service account of the pod, then
    ``~/.kube/config``."""
    context: str | None = None
    """The context of the kubeconfig; by default its current context."""
    namespaces: tuple[str, ...] = ()
    """The namespaces to watch; all of them by default.  A controller with ``namespaces`` in its own
    options uses those instead."""
    namespace_selector: str = ""
    """A label selector: watch the namespaces whose labels match it, and follow when they change.
    Not together with ``namespaces``.  A controller with ``namespaces`` or ``namespace_selector`` in
    its own options uses those instead.  Default: empty, no namespaces are chosen by labels."""
    client_qps: float = 0.0
    """The most requests per second that this process sends; 0, the default, for no limit.  Requests
    of the leader election are not counted."""
    client_burst: int = 0
    """The number of requests that may exceed ``client_qps`` at once; 0, the default, for twice
    ``client_qps``.  No effect if ``client_qps`` is 0."""
    request_timeout: timedelta = timedelta(seconds=30)
    """How long one attempt of a request may take; 30 seconds by default.  Retries have the same
    limit each.  Lease requests use half the renew deadline of ``terms`` instead."""
    start_timeout: timedelta = timedelta(seconds=30)
    """How long an API server that cannot be reached, or answers 429 or 5xx, is asked again at the
    start before the process gives up with an error; 30 seconds by default, 0 to give up at once.
    Refused credentials and missing rights are errors at once.  Once the process runs, it retries
    for ever."""
    wait_for_kinds: bool = True
    """Wait for a declared kind that the cluster does not serve, because its CRD is not installed
    yet: the controllers that need it start when it appears, the others at once.  On by default;
    switched off, a missing kind ends the process with an error at its start."""
    install_crds: bool = False
    """Install the manager's ``definitions`` at the start, by server-side apply, and overwrite those
    that are there; needs the rights of ``myrmidon generate rbac --install-crds``.  With leader
    election only the leader does it.  Off by default: the definitions are compared with the schema
    that the cluster serves, and a warning in the log names the fields that are missing there."""
    migrate_storage: bool = False
    """Write all objects of the program's kinds in their storage version, in the background, as soon as
    this process leads; see `myrmidon migrate-storage`.  Needs ``definitions`` of the manager, and the
    rights to patch these definitions and their status.  Off by default."""
    watching: Timing = field(default_factory=Timing)
    """The timeouts and backoff of lists and watches."""
    stale_after: timedelta = timedelta(seconds=120)
    """The age from which readyz reports a cache as stale: for so long neither a watch event nor any
    other answer came from the server.  2 minutes by default.  It must be longer than
    ``watching.idle_seconds``, after which a cache without watch events sends a request to test the
    connection."""

    shutdown_timeout: timedelta = timedelta(seconds=15)
    """How long passes under way may go on when the process stops; 15 seconds by default.  Then they
    are cancelled.  Keep it below the pod's ``terminationGracePeriodSeconds``."""
    freeze_garbage: bool = False
    """Exclude the caches from Python's garbage collection (``gc.freeze``), which would block the
    process for up to 200 ms with 50,000 objects.  Reference cycles that exist while the caches fill,
    or during the first pass of each object (each for a minute at most), are then never collected.
    Off by default; ``myrmidon run`` switches it on."""
    seed: int | None = None
    """The seed of all jitter, for repeatable tests; by default a random one."""
    trace: bool = False
    """Record passes: for ``Manager.snapshot``, for ``/passes`` on the health address, which
    ``myrmidon explain --process`` reads, and for the live page.  Off by default.  The ``trace_*``
    options have no effect without it."""
    trace_bytes: int = BYTES_MAX
    """The most memory for recorded passes, about; 32 MiB by default.  Beyond it the oldest passes
    are dropped."""
    trace_passes: int = PASSES_MAX
    """How many passes of each object are recorded; 50 by default."""
    trace_period: timedelta = PERIOD
    """For how long all passes of the process are recorded; 15 minutes by default."""
    change_log: str = ""
    """Append one line of JSON for each write that changed an object to this file; ``-`` for standard
    output.  A line says which controller, object and state wrote, which fields changed (never their
    values) and what caused the pass.  Off by default.  A thread writes the lines; if it is too slow,
    lines are dropped and that is logged."""
    on_write: OnWrite | None = None
    """A function that is called with a ``WriteRecord`` for each write that changed an object, in the
    thread of the event loop; it must not block.  None by default.  An exception is logged."""
    on_error: OnError | None = None
    """A function that is called with an ``ErrorReport`` for each unexpected exception of a state, for
    example to send it to an error tracker; it must not block.  None by default.  An exception of the
    function is logged.  Without it, the log has each such exception once per object at ERROR, with
    its traceback, where logging integrations of error trackers find it."""
    tracer: Any = None
    """A tracer of OpenTelemetry, for a span per pass, per state and per request of a pass; None, the
    default, for none.  ``myrmidon run --tracing`` uses the global tracer provider.  Needs
    ``myrmidon[otel]``; the exporter is set up by the program."""
    planning: bool = False
    """Run states without an effect outside the API server: ``ctx.planning`` is True, and
    ``ctx.ensure`` and ``ctx.remove`` only look.  ``myrmidon plan`` sets it.  Off by default."""

    def __post_init__(self) -> None:
        for name, fix in mistyped(self):
            raise UsageError(f"ManagerOptions.{name} is {getattr(self, name)!r}.\n  fix: {fix}")
        if self.shards and self.leader_election:
            raise UsageError(
                "ManagerOptions has both shards and leader_election: with shards all replicas work.\n"
                "  fix: drop leader_election"
            )
        for name in ("client_qps", "client_burst"):
            if getattr(self, name) < 0:
                raise UsageError(
                    f"ManagerOptions.{name} is {getattr(self, name)}.\n"
                    "  fix: use a positive number, or 0 for no limit"
                )
        for name in ("trace_bytes", "trace_passes"):
            if getattr(self, name) < 1:
                raise UsageError(
                    f"ManagerOptions.{name} is {getattr(self, name)}.\n"
                    "  fix: use a positive number; without `trace` nothing is recorded"
                )
        if self.namespaces and self.namespace_selector:
            raise UsageError(
                "ManagerOptions has both namespaces and namespace_selector.\n  fix: drop one of them"
            )
        parse_selector(self.namespace_selector)
        stale, idle = self.stale_after.total_seconds(), self.watching.idle_seconds
        if stale <= idle:
            raise UsageError(
                f"stale_after is {stale:g} s, but the cache of a kind that does not change may get "
                f"no message for {idle:g} s (watching.idle_seconds): readyz would fail without a "
                "reason.\n"
                "  fix: make stale_after longer, or idle_seconds shorter"
            )
