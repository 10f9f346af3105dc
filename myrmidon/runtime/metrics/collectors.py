"""Metrics that the client library has no class for: series that belong to an object.

``collect`` gives all of them at once, for the library; ``portions`` a few hundred objects at a time, for
a scrape that must not hold up the event loop (see ``exposition``).
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from myrmidon.api.conditions import READY
from myrmidon.api.refs import ObjectRef

PORTION = 100
"""Objects in one portion: with their series about five milliseconds of printing."""
_STATUSES = ("True", "False", "Unknown", "Deleted")


class _AsItIs(str):
    """A type that is printed and not acted upon: the library renames everything it calls a counter."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


class OfObjects(Collector):
    """Series that belong to objects and go with them."""

    apart = False
    """While True, ``collect`` gives nothing: ``portions`` is used instead."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._name, self._documentation, self._labels = name, documentation, tuple(labels)
        registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """All series as they are now."""
        return [] if self.apart else [self._family(self._objects())]

    def portions(self) -> Iterator[Metric]:
        """The series of some objects at a time; the first portion may be empty."""
        objects = self._objects()
        for start in range(0, len(objects) or 1, PORTION):
            yield self._family(objects[start : start + PORTION])

    @abstractmethod
    def _objects(self) -> Sequence[tuple[ObjectRef, Any]]:
        """Every object with what is known of it, as a copy."""

    @abstractmethod
    def _family(self, objects: Sequence[tuple[ObjectRef, Any]]) -> Metric:
        """The series of these objects."""


class PlainCounter(OfObjects):
    """A counter exported under its bare name; the client library would add ``_total``."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._counts: dict[ObjectRef, dict[tuple[str, ...], float]] = {}
        super().__init__(name, documentation, labels, registry)

    def inc(self, of: ObjectRef, *values: str) -> None:
        """Count one for an object."""
        counts = self._counts.setdefault(of, {})
        counts[values] = counts.get(values, 0.0) + 1.0

    def forget(self, of: ObjectRef) -> None:
        """Remove every series of an object."""
        self._counts.pop(of, None)

    def describe(self) -> Iterable[Metric]:
        """Let the registry know the name without collecting."""
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
    """Four series per object, one of which is 1.

    They are made for a scrape: a pass only notes the status, and thousands of objects cost a
    dictionary.
    """

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._statuses: dict[ObjectRef, str] = {}
        super().__init__(name, documentation, labels, registry)

    def set(self, of: ObjectRef, status: str) -> None:
        """An object's Ready is this now."""
        self._statuses[of] = status

    def forget(self, of: ObjectRef) -> None:
        """Remove every series of an object."""
        self._statuses.pop(of, None)

    def describe(self) -> Iterable[Metric]:
        """Let the registry know the name without collecting."""
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
