"""Collectors of series that carry the name of an object, and are removed with it.

``collect`` returns all series at once, as the Prometheus library expects; ``portions`` returns them
for ``PORTION`` objects at a time, so that a scrape does not block the event loop (``exposition``).
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from myrmidon.api.objects.conditions import READY
from myrmidon.api.objects.refs import ObjectRef

PORTION = 100
"""Objects in one portion; printing their series takes about five milliseconds."""
_STATUSES = ("True", "False", "Unknown", "Deleted")


class _AsItIs(str):
    """A metric type that is printed as it is: the library would add ``_total`` to a counter."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


class OfObjects(Collector):
    """A collector of series that belong to objects."""

    apart = False
    """While True, ``collect`` returns nothing, because the caller uses ``portions``."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._name, self._documentation, self._labels = name, documentation, tuple(labels)
        registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """Return all series."""
        return [] if self.apart else [self._family(self._objects())]

    def portions(self) -> Iterator[Metric]:
        """Return the series of ``PORTION`` objects at a time; the first portion may be empty."""
        objects = self._objects()
        for start in range(0, len(objects) or 1, PORTION):
            yield self._family(objects[start : start + PORTION])

    @abstractmethod
    def _objects(self) -> Sequence[tuple[ObjectRef, Any]]:
        """Return a copy of all objects with their values."""

    @abstractmethod
    def _family(self, objects: Sequence[tuple[ObjectRef, Any]]) -> Metric:
        """Return the series of these objects."""


class PlainCounter(OfObjects):
    """A counter exported under its bare name; the client library would add ``_total``."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._counts: dict[ObjectRef, dict[tuple[str, ...], float]] = {}
        super().__init__(name, documentation, labels, registry)

    def inc(self, of: ObjectRef, *values: str) -> None:
        """Add one to the series of an object."""
        counts = self._counts.setdefault(of, {})
        counts[values] = counts.get(values, 0.0) + 1.0

    def forget(self, of: ObjectRef) -> None:
        """Remove every series of an object."""
        self._counts.pop(of, None)

    def describe(self) -> Iterable[Metric]:
        """Return the name and type of the metric, without its series."""
        return [Metric(self._name, self._documentation, "unknown")]

    def _objects(self) -> Sequence[tuple[ObjectRef, Any]]:
        return list(self._counts.items())

    def _family(self, objects: Sequence[tuple[ObjectRef, Any]]) -> Metric:
        family = Metric(self._name, self._documentation, "unknown")
        family.type = _AsItIs("counter")
        for _, counts in objects:
            for labels, count in counts.items():
                family.add_sample(self._name, dict(zip(self._labels, labels, strict=True)), count)
        return family


class Readiness(OfObjects):
    """Four series per object, one for each status of Ready; one of them is 1.

    The series are created for each scrape.  A pass only stores the status in a dictionary.
    """

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._statuses: dict[ObjectRef, str] = {}
        super().__init__(name, documentation, labels, registry)

    def set(self, of: ObjectRef, status: str) -> None:
        """Set the status of an object's Ready."""
        self._statuses[of] = status

    def forget(self, of: ObjectRef) -> None:
        """Remove every series of an object."""
        self._statuses.pop(of, None)

    def describe(self) -> Iterable[Metric]:
        """Return the name and type of the metric, without its series."""
        return [GaugeMetricFamily(self._name, self._documentation, labels=self._labels)]

    def _objects(self) -> Sequence[tuple[ObjectRef, Any]]:
        return list(self._statuses.items())

    def _family(self, objects: Sequence[tuple[ObjectRef, Any]]) -> Metric:
        family = GaugeMetricFamily(self._name, self._documentation, labels=self._labels)
        for ref, status in objects:
            for known in _STATUSES:
                labels = (*ref.kind[:3], ref.name, ref.namespace, READY, known)
                family.add_metric(labels, 1.0 if known == status else 0.0)
        return family
