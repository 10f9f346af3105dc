"""Our counters and histograms print the same text as those of the client library."""

from typing import Any

import prometheus_client
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from myrmidon.runtime.metrics.series import Counter, Histogram

LABELS = ("who", "what")
SERIES = st.tuples(st.sampled_from("ab"), st.sampled_from(["", 'x"y\n', "z"]))
AMOUNTS = st.sampled_from([-1.0, 0.0, 0.005, 0.01, 0.0100001, 1.0, 2.5, 1e9, float("inf")])


def printed(registry: CollectorRegistry) -> list[str]:
    """Return the text of a scrape, without the ``_created`` series."""
    lines = generate_latest(registry).decode().splitlines()
    return sorted(line for line in lines if "_created" not in line)


@given(counts=st.lists(SERIES, max_size=20), amounts=st.lists(st.tuples(SERIES, AMOUNTS)))
def test_a_scrape_reads_the_same(counts: list[Any], amounts: list[Any]) -> None:
    """Names, labels, buckets, sums, and special floating point values."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    buckets = (0.005, 0.01, 1, 2.5)
    counters = (
        Counter("things_total", "Things.", LABELS, ours),
        prometheus_client.Counter("things_total", "Things.", LABELS, registry=theirs),
    )
    histograms = (
        Histogram("size", "Sizes.", LABELS, ours, buckets=buckets),
        prometheus_client.Histogram("size", "Sizes.", LABELS, buckets=buckets, registry=theirs),
    )
    for labels in counts:
        for counter in counters:
            counter.labels(*labels).inc()
    for labels, amount in amounts:
        for histogram in histograms:
            histogram.labels(*labels).observe(amount)
    assert printed(ours) == printed(theirs)


def test_a_name_is_taken_once() -> None:
    """Two metrics of one name would be one metric with wrong numbers."""
    registry = CollectorRegistry()
    Counter("things_total", "Things.", LABELS, registry)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        Counter("things_total", "Things.", LABELS, registry)
    with pytest.raises(AssertionError, match="has the labels"):
        Histogram("size", "Sizes.", LABELS, registry, buckets=(1,)).labels("a")
