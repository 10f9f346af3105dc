"""Counters and histograms without locks.

The classes of the Prometheus library take a lock and check the labels on each call, which is a
tenth of the cost of a pass over a converged object.  Here a count is one addition.  That is safe
because only the thread of the event loop counts.  The library still prints the series.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

SeriesT = TypeVar("SeriesT")


class Tally:
    """One series of a counter."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0.0

    def inc(self) -> None:
        """Add one."""
        self.count += 1.0


class Spread:
    """One series of a histogram."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)  # the last: beyond every bound
        self.sum = 0.0

    def observe(self, amount: float) -> None:
        """Add one observation."""
        self.counts[bisect_left(self.bounds, amount)] += 1
        self.sum += amount


class _Family(Collector, Generic[SeriesT]):
    """All series of one metric, by the values of their labels."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._name, self._documentation, self._labels = name, documentation, tuple(labels)
        self._series: dict[tuple[str, ...], SeriesT] = {}
        registry.register(self)

    def labels(self, *values: str) -> SeriesT:
        """Return the series of these labels; created if needed.  Keep it if you count often."""
        assert len(values) == len(self._labels), f"{self._name} has the labels {self._labels}"
        series = self._series.get(values)
        if series is None:
            series = self._series[values] = self._made()
        return series

    def _made(self) -> SeriesT:
        raise NotImplementedError


class Counter(_Family[Tally]):
    """A counter: how often an event happened."""

    def collect(self) -> Iterable[Metric]:
        """Return all series."""
        family = CounterMetricFamily(self._name, self._documentation, labels=self._labels)
        for values, tally in self._series.items():
            family.add_metric(values, tally.count)
        return [family]

    def describe(self) -> Iterable[Metric]:
        """Return the name and type of the metric, without its series."""
        return [CounterMetricFamily(self._name, self._documentation, labels=self._labels)]

    def _made(self) -> Tally:
        return Tally()


class Histogram(_Family[Spread]):
    """A histogram: how observed values, such as durations, are distributed."""

    def __init__(
        self,
        name: str,
        documentation: str,
        labels: Sequence[str],
        registry: CollectorRegistry,
        *,
        buckets: Sequence[float],
    ) -> None:
        self._bounds = tuple(map(float, buckets))
        super().__init__(name, documentation, labels, registry)

    def collect(self) -> Iterable[Metric]:
        """Return all series."""
        family = HistogramMetricFamily(self._name, self._documentation, labels=self._labels)
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for values, spread in self._series.items():
            upto = zip(names, accumulate(spread.counts), strict=True)
            family.add_metric(values, list(upto), spread.sum)
        return [family]

    def describe(self) -> Iterable[Metric]:
        """Return the name and type of the metric, without its series."""
        return [HistogramMetricFamily(self._name, self._documentation, labels=self._labels)]

    def _made(self) -> Spread:
        return Spread(self._bounds)
