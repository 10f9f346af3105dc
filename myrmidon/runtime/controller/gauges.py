"""Gauges that are computed when the metrics are scraped."""

from collections.abc import Iterable

from myrmidon.io.watch.caches import Caches
from myrmidon.runtime.controller.loop import ControllerLoop
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.process.lag import LoopLag


def set_gauges(
    metrics: Metrics,
    loops: Iterable[ControllerLoop],
    caches: Caches | None,
    lag: LoopLag,
    now: float,
) -> None:
    """Set the gauges of queues, caches and the event loop; ``now`` is the monotonic time."""
    metrics.loop_lag.set(lag.longest(now))
    for loop in loops:
        loop.pool.observing.queue_looked_at(loop.pool.queue, now)
        metrics.stalled.labels(loop.controller.name).set(loop.stalled())
    for health in caches.health() if caches else ():
        kind = health.scope.kind
        metrics.cache_objects.labels(*kind[:3]).set(health.objects)
        metrics.unreadable.labels(*kind[:3]).set(health.unreadable)
        metrics.cache_staleness.labels(*kind[:3]).set(health.staleness_seconds)
