"""Set the gauges that are computed when the metrics are scraped."""

from collections.abc import Iterable

from myrmidon.io.watch.subscriptions import Health
from myrmidon.runtime.controller.loop import ControllerLoop
from myrmidon.runtime.metrics.families import Metrics


def set_gauges(
    metrics: Metrics,
    loops: Iterable[ControllerLoop],
    healths: Iterable[Health],
    lag: float,
    now: float,
) -> None:
    """Set the gauges of the event loop, the queues and the caches."""
    metrics.loop_lag.set(lag)
    for loop in loops:
        loop.pool.observing.queue_looked_at(loop.pool.queue, now)
        metrics.stalled.labels(loop.controller.name).set(loop.stalled())
    for health in healths:
        kind = health.scope.kind
        metrics.cache_objects.labels(*kind[:3]).set(health.objects)
        metrics.unreadable.labels(*kind[:3]).set(health.unreadable)
        metrics.cache_staleness.labels(*kind[:3]).set(health.staleness_seconds)
