"""Metrics that the client library has no class for."""

from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from myrmidon.api.conditions import READY
from myrmidon.api.refs import ObjectRef

_STATUSES = ("True", "False", "Unknown", "Deleted")


class _AsItIs(str):
    """A type that is printed and not acted upon: the library renames everything it calls a counter."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


class PlainCounter(Collector):
    """A counter exported under its bare name; the client library would add ``_total``.

    Series belong to an object and go with it.
    """

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._name, self._documentation, self._labels = name, documentation, tuple(labels)
        self._counts: dict[ObjectRef, dict[tuple[str, ...], float]] = {}
        registry.register(self)

    def inc(self, of: ObjectRef, *values: str) -> None:
        """Count one for an object."""
        counts = self._counts.setdefault(of, {})
        counts[values] = counts.get(values, 0.0) + 1.0

    def forget(self, of: ObjectRef) -> None:
        """Remove every series of an object."""
        self._counts.pop(of, None)

    def collect(self) -> Iterable[Metric]:
        """The series as they are now; without names of objects, several may be one."""
        summed: dict[tuple[str, ...], float] = {}
        for counts in self._counts.values():
            for labels, count in counts.items():
                summed[labels] = summed.get(labels, 0.0) + count
        family = Metric(self._name, self._documentation, "unknown")
        family.type = _AsItIs("counter")
        for labels, count in summed.items():
            family.add_sample(self._name, dict(zip(self._labels, labels, strict=True)), count)
        return [family]

    def describe(self) -> Iterable[Metric]:
        """Let the registry know the name without collecting."""
        return [Metric(self._name, self._documentation, "unknown")]


class Readiness(Collector):
    """Four series per object, one of which is 1.

    They are made when somebody asks: a pass only notes the status, and thousands of objects cost a
    dictionary.
    """

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._name, self._documentation, self._labels = name, documentation, tuple(labels)
        self._statuses: dict[ObjectRef, str] = {}
        registry.register(self)

    def set(self, of: ObjectRef, status: str) -> None:
        """An object's Ready is this now."""
        self._statuses[of] = status

    def forget(self, of: ObjectRef) -> None:
        """Remove every series of an object."""
        self._statuses.pop(of, None)

    def collect(self) -> Iterable[Metric]:
        """The series as they are now."""
        family = GaugeMetricFamily(self._name, self._documentation, labels=self._labels)
        for ref, status in self._statuses.items():
            for known in _STATUSES:
                labels = (*ref.kind[:3], ref.name, ref.namespace, READY, known)
                family.add_metric(labels, 1.0 if known == status else 0.0)
        return [family]

    def describe(self) -> Iterable[Metric]:
        """Let the registry know the name without collecting."""
        return [GaugeMetricFamily(self._name, self._documentation, labels=self._labels)]
