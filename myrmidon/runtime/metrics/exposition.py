"""The text of a scrape, made in portions.

Series that name an object are many: six or more per object, and the library needs about ten microseconds
for each.  A scrape of 50,000 objects in one piece would hold up the event loop for seconds.  So the
collectors of such series hand out a few hundred objects at a time, each portion is printed by the
library, and between two of them the event loop turns.  All other series are few and are printed at once.
"""

from collections.abc import AsyncIterator, Iterable

from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from myrmidon.io.timers.pacing import pacer
from myrmidon.runtime.metrics.families import Metrics

_HEADER_LINES = 2  # HELP and TYPE


class _Portion(Collector):
    """One family, for the library to print."""

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
        lines_to_skip = 0  # the header stands on top of the first portion only
        for family in collector.portions():
            text = generate_latest(_Portion(family))
            yield text.split(b"\n", lines_to_skip)[-1]
            lines_to_skip = _HEADER_LINES
            await pace.give_way()
