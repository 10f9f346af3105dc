"""ManagerOptions: how one process runs, every limit with its unit."""

from dataclasses import dataclass, field
from datetime import timedelta

from myrmidon.errors import UsageError
from myrmidon.io.watch.protocol import Timing
from myrmidon.runtime.leader.election import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerOptions:
    """Choices of one process.  Addresses are ``host:port`` or ``:port``; "" switches a server off."""

    leader_election: bool = False
    """Only one replica of several runs passes, the others stand by with warm caches."""
    leader_election_id: str = ""
    """The name of the Lease; by default ``myrmidon-`` with the name and the API group of the first
    controller.  Choose one if that controller may be renamed or replaced: two versions of a program
    with different names would both lead during a roll-out."""
    leader_election_namespace: str = ""
    """Where the Lease is; by default the namespace of the pod or of the kubeconfig's context."""
    terms: Terms = field(default_factory=Terms)
    """The times of the election."""
    identity: str = ""
    """Who this replica is; by default the host name with a random end."""

    metrics_addr: str = ""
    health_addr: str = ""
    per_object_metrics: bool = True
    """Series that name an object; switch them off for many thousand objects."""

    kubeconfig: str | None = None
    context: str | None = None
    namespaces: tuple[str, ...] = ()
    """Only these namespaces; empty for all of them."""
    client_qps: float = 0.0
    """Requests per second that this process allows itself; 0 for no limit of its own."""
    client_burst: int = 0
    request_timeout: timedelta = timedelta(seconds=30)
    watching: Timing = field(default_factory=Timing)
    """The times of every watch."""
    stale_after: timedelta = timedelta(seconds=120)
    """A cache that heard nothing for so long, not even an answer when it asked, may be wrong; readyz
    says so.  Longer than ``watching.idle_seconds``, after which it asks."""

    shutdown_timeout: timedelta = timedelta(seconds=15)
    """How long passes under way may finish when the process stops."""
    freeze_garbage: bool = False
    """Keep the caches out of Python's garbage collections, which would hold up the process for up to
    200 ms with 50,000 objects (``gc.freeze``).  Reference cycles that exist before the workers start
    are then never collected.  ``myrmidon run`` switches it on."""
    seed: int | None = None
    """Makes jitter repeatable."""
    trace: bool = False
    """Remember the last pass of every object, for ``Manager.snapshot`` and for ``/passes`` on the
    health address, which ``myrmidon explain --process`` reads."""

    def __post_init__(self) -> None:
        for name in ("client_qps", "client_burst"):
            if getattr(self, name) < 0:
                raise UsageError(
                    f"ManagerOptions.{name} is {getattr(self, name)}.\n"
                    "  fix: use a positive number, or 0 for no limit"
                )
        stale, idle = self.stale_after.total_seconds(), self.watching.idle_seconds
        if stale <= idle:
            raise UsageError(
                f"stale_after is {stale:g} s, but a cache of a quiet kind hears nothing for "
                f"{idle:g} s (watching.idle_seconds): readyz would fail without a reason.\n"
                "  fix: make stale_after longer, or idle_seconds shorter"
            )
