"""Print the metrics for a scrape, in portions.

There are six or more series per object, and the Prometheus library needs about ten microseconds to
print one.  Printing 50,000 objects in one go would block the event loop for seconds.  So the
collectors of these series return ``PORTION`` objects at a time, the library prints each portion,
and the event loop turns in between.  All other series are few and are printed at once.

The metrics of the user's program are printed after ours, from the registry of
``ManagerOptions.registry``.  A family that both have, such as ``process_cpu_seconds``, is printed once:
a scrape in which a name appears twice is refused by Prometheus.  A collector of the user that raises
loses the user's metrics for that scrape, not ours.

The format is the text format of Prometheus or OpenMetrics, as the ``Accept`` header asks.  OpenMetrics
ends with one ``# EOF``, and its counters end in ``_total``; the two of ours that do not are ``unknown``
there.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Literal, NamedTuple

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from myrmidon.io.timers.pacing import pacer
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.families import Metrics

_HEADER_LINES = 2  # HELP and TYPE
_EOF = b"# EOF\n"
_OPEN_METRICS = "application/openmetrics-text"


class Format(NamedTuple):
    """How a scrape is printed."""

    content_type: str
    print: Callable[[Any], bytes]

    @property
    def is_open_metrics(self) -> bool:
        """Whether it is OpenMetrics, and not the text format of Prometheus."""
        return self.content_type.startswith(_OPEN_METRICS)


def format_of(accept: str) -> Format:
    """Return the format that an ``Accept`` header asks for; the text format by default."""
    encoder, content_type = choose_encoder(accept)
    return Format(content_type, encoder)


def registry_of(chosen: CollectorRegistry | Literal["default"] | None) -> CollectorRegistry | None:
    """Return the registry of ``ManagerOptions.registry``."""
    return REGISTRY if chosen == "default" else chosen


class _Families(Collector):
    """A collector of given families, in the form that the library prints."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


async def exposition(
    metrics: Metrics, form: Format | None = None, others: CollectorRegistry | None = None
) -> AsyncIterator[bytes]:
    """Yield the text of all metrics in portions: ours, then those of ``others`` that are not ours."""
    form, pace = form or format_of(""), pacer()
    with metrics.objects_apart():
        ours = list(metrics.registry.collect())
    yield _printed(form, ours)
    names = {family.name for family in ours}
    for collector in metrics.of_objects:
        lines_to_skip = 0  # only the first portion keeps the header
        for family in collector.portions():
            names.add(family.name)
            text = _printed(form, [family])
            yield text.split(b"\n", lines_to_skip)[-1]
            lines_to_skip = _HEADER_LINES
            await pace.give_way()
    if others is not None and others is not metrics.registry:
        yield _printed_others(form, others, names)
    if form.is_open_metrics:
        yield _EOF


def _printed(form: Format, families: Iterable[Metric]) -> bytes:
    if form.is_open_metrics:
        families = [_as_open_metrics(family) for family in families]
    return form.print(_Families(families)).removesuffix(_EOF)


def _printed_others(form: Format, others: CollectorRegistry, ours: set[str]) -> bytes:
    try:
        return _printed(form, [family for family in others.collect() if family.name not in ours])
    except Exception as error:  # noqa: BLE001 - a collector of the user may raise anything
        Logger("myrmidon.metrics").crash("a metric of the program cannot be collected", error)
        return b""


def _as_open_metrics(family: Metric) -> Metric:
    """Return a counter without ``_total`` as of unknown type, which is what OpenMetrics allows."""
    is_plain = str(family.type) == "counter" and any(s.name == family.name for s in family.samples)
    if not is_plain:
        return family
    changed = Metric(family.name, family.documentation, "unknown")
    changed.samples = family.samples
    return changed
