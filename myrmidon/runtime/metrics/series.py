"""Counters and histograms without locks.

The classes of the Prometheus library take a lock and check the labels on each call, which is a
tenth of the cost of a pass over a converged object.  Here a count is one addition.  That is safe
because only the thread of the event loop counts.  The library still prints the series.

A histogram may have exemplars: for each bucket the last observation that a trace explains, printed in
OpenMetrics.  Only a histogram that was given a function which finds them pays for them.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeAlias, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

SeriesT = TypeVar("SeriesT")
FindExemplar: TypeAlias = Callable[[float], Exemplar | None]
"""Returns the exemplar of an observed value; None if there is no trace of it."""


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


class SpreadWithExemplars(Spread):
    """One series of a histogram that keeps the last exemplar of each bucket."""

    __slots__ = ("_exemplar", "exemplars")

    def __init__(self, bounds: Sequence[float], exemplar: FindExemplar) -> None:
        super().__init__(bounds)
        self._exemplar = exemplar
        self.exemplars: list[Exemplar | None] = [None] * len(self.counts)

    def observe(self, amount: float) -> None:
        """Add one observation, and remember which span it measured."""
        super().observe(amount)
        found = self._exemplar(amount)
        if found is not None:
            self.exemplars[bisect_left(self.bounds, amount)] = found


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
        exemplar: FindExemplar | None = None,
    ) -> None:
        self._bounds, self._exemplar = tuple(map(float, buckets)), exemplar
        super().__init__(name, documentation, labels, registry)

    def collect(self) -> Iterable[Metric]:
        """Return all series."""
        family = HistogramMetricFamily(self._name, self._documentation, labels=self._labels)
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for values, spread in self._series.items():
            rows: list[Any] = [*zip(names, accumulate(spread.counts), strict=True)]
            if isinstance(spread, SpreadWithExemplars):
                rows = [(*row, one) for row, one in zip(rows, spread.exemplars, strict=True)]
            family.add_metric(values, rows, spread.sum)
        return [family]

    def describe(self) -> Iterable[Metric]:
        """Return the name and type of the metric, without its series."""
        return [HistogramMetricFamily(self._name, self._documentation, labels=self._labels)]

    def _made(self) -> Spread:
        if self._exemplar is not None:
            return SpreadWithExemplars(self._bounds, self._exemplar)
        return Spread(self._bounds)
