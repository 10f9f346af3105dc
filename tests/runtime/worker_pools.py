"""Worker pools in virtual time, with passes that a test writes itself."""

from collections.abc import Callable
from datetime import timedelta

from prometheus_client import CollectorRegistry

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.controller import Observing
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.queue.backoff import Backoff
from myrmidon.runtime.queue.queue import WorkQueue
from myrmidon.runtime.reconcile.worker import Reconcile, WorkerPool
from myrmidon.testing import VirtualClock, VirtualTimeLoop
from tests.runtime.things import Things


def worker_pool(
    loop: VirtualTimeLoop,
    reconcile: Reconcile,
    *,
    ended: Callable[[ObjectRef], None],
    resync: float | None = None,
) -> WorkerPool:
    """A pool without jitter, whose objects never get another revision."""
    return WorkerPool(
        queue=WorkQueue(),
        backoff=Backoff(timedelta(seconds=1), timedelta(seconds=300), lambda: 1.0),
        reconcile=reconcile,
        observing=Observing(Things, Metrics(CollectorRegistry())),
        clock=VirtualClock(loop),
        log=Logger(),
        resync=lambda: resync,
        revision=lambda _key: 1,
        ended=ended,
    )
