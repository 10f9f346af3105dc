"""Counters and histograms that cost a pass next to nothing.

The classes of the client library take a lock and check their labels with every count, which is a
tenth of a pass that has nothing to do.  Here a count is an addition, on the one thread that counts;
the library still says how it is printed.
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
        """One more."""
        self.count += 1.0


class Spread:
    """One series of a histogram."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)  # the last: beyond every bound
        self.sum = 0.0

    def observe(self, amount: float) -> None:
        """One more of this size."""
        self.counts[bisect_left(self.bounds, amount)] += 1
        self.sum += amount


class _Family(Collector, Generic[SeriesT]):
    """Series of one name, by the values of their labels."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._name, self._documentation, self._labels = name, documentation, tuple(labels)
        self._series: dict[tuple[str, ...], SeriesT] = {}
        registry.register(self)

    def labels(self, *values: str) -> SeriesT:
        """The series of these labels, made where there is none; to be kept by whoever counts often."""
        assert len(values) == len(self._labels), f"{self._name} has the labels {self._labels}"
        series = self._series.get(values)
        if series is None:
            series = self._series[values] = self._made()
        return series

    def _made(self) -> SeriesT:
        raise NotImplementedError


class Counter(_Family[Tally]):
    """How often something happened."""

    def collect(self) -> Iterable[Metric]:
        """The series as they are now."""
        family = CounterMetricFamily(self._name, self._documentation, labels=self._labels)
        for values, tally in self._series.items():
            family.add_metric(values, tally.count)
        return [family]

    def describe(self) -> Iterable[Metric]:
        """Let the registry know the name without collecting."""
        return [CounterMetricFamily(self._name, self._documentation, labels=self._labels)]

    def _made(self) -> Tally:
        return Tally()


class Histogram(_Family[Spread]):
    """How long, or how much, something was."""

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
        self._names = [*map(floatToGoString, self._bounds), "+Inf"]
        super().__init__(name, documentation, labels, registry)

    def collect(self) -> Iterable[Metric]:
        """The series as they are now."""
        family = HistogramMetricFamily(self._name, self._documentation, labels=self._labels)
        for values, spread in self._series.items():
            upto = zip(self._names, accumulate(spread.counts), strict=True)
            family.add_metric(values, list(upto), spread.sum)
        return [family]

    def describe(self) -> Iterable[Metric]:
        """Let the registry know the name without collecting."""
        return [HistogramMetricFamily(self._name, self._documentation, labels=self._labels)]

    def _made(self) -> Spread:
        return Spread(self._bounds)
