"""Print the metrics for a scrape, in portions.

There are six or more series per object, and the Prometheus library needs about ten microseconds to
print one.  Printing 50,000 objects in one go would block the event loop for seconds.  So the
collectors of these series return ``PORTION`` objects at a time, the library prints each portion,
and the event loop turns in between.  All other series are few and are printed at once.
"""

from collections.abc import AsyncIterator, Iterable

from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from myrmidon.io.timers.pacing import pacer
from myrmidon.runtime.metrics.families import Metrics

_HEADER_LINES = 2  # HELP and TYPE


class _Portion(Collector):
    """A collector with one family, in the form that the library prints."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return [self._family]


async def exposition(metrics: Metrics) -> AsyncIterator[bytes]:
    """Yield the text of all metrics, as ``generate_latest`` prints it, in portions."""
    pace = pacer()
    with metrics.objects_apart():
        yield generate_latest(metrics.registry)
    for collector in metrics.of_objects:
        lines_to_skip = 0  # only the first portion keeps the header
        for family in collector.portions():
            text = generate_latest(_Portion(family))
            yield text.split(b"\n", lines_to_skip)[-1]
            lines_to_skip = _HEADER_LINES
            await pace.give_way()
