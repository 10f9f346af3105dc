"""Exemplars: from a bucket of a histogram to the trace of a pass, and from there to its log lines."""

import logging
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from myrmidon import ManagerOptions
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.runtime.manager import Manager
from myrmidon.runtime.metrics.exposition import exposition, format_of
from myrmidon.runtime.metrics.series import Spread
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, run
from tests.runtime.spans import Spans
from tests.runtime.things import Thing, Things, applying, thing

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"
WITH_EXEMPLARS = {
    "controller_runtime_reconcile_time_seconds",
    "workqueue_work_duration_seconds",
    "achilles_state_duration_seconds",
    "achilles_processing_duration_seconds",
    "rest_client_request_duration_seconds",
}


def reconciled(tracer: Any, act: Any = None) -> Manager:
    """Return a manager that has reconciled one object; its clock starts at the time 0 of the test."""
    options = ManagerOptions(seed=0, tracer=tracer)
    with Harness(Things(act or applying()), options=options) as cluster:
        cluster.apply(thing())
        cluster.settle()
        return cluster.manager


def printed(manager: Manager, accept: str) -> str:
    """Return the text of a scrape."""

    async def portions() -> list[bytes]:
        return [text async for text in exposition(manager.metrics, format_of(accept))]

    return b"".join(run(portions())).decode()


def exemplars(manager: Manager) -> dict[str, list[Any]]:
    """Return the samples with an exemplar, by family, as a parser of OpenMetrics reads them."""
    found: dict[str, list[Any]] = {}
    families = text_string_to_metric_families(printed(manager, OPEN_METRICS))  # type: ignore[no-untyped-call]
    for family in families:
        for sample in family.samples:
            if sample.exemplar is not None:
                found.setdefault(family.name, []).append(sample)
    return found


def test_histograms_name_the_span_that_they_measured() -> None:
    """The pass for the time of a pass, the state for the time of a state."""
    spans = Spans()
    found = exemplars(reconciled(spans.tracer))

    assert set(found) == WITH_EXEMPLARS
    known = {
        (f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"): span.name
        for name in ("reconcile thing", "state first", "state second")
        for span in spans.named(name)
    }
    for samples in found.values():
        for sample in samples:
            labels = sample.exemplar.labels
            assert (labels["trace_id"], labels["span_id"]) in known
            assert sample.exemplar.timestamp is not None
    for name, prefix in (
        ("controller_runtime_reconcile_time_seconds", "reconcile"),
        ("workqueue_work_duration_seconds", "reconcile"),
        ("achilles_state_duration_seconds", "state"),
    ):
        for sample in found[name]:
            ids = sample.exemplar.labels
            assert known[ids["trace_id"], ids["span_id"]].startswith(prefix)


def test_an_exemplar_lies_in_its_bucket() -> None:
    """OpenMetrics demands it: its value is at most the bound of the bucket."""
    for samples in exemplars(reconciled(Spans().tracer)).values():
        for sample in samples:
            assert sample.exemplar.value <= float(sample.labels["le"])


def test_the_text_format_has_no_exemplars() -> None:
    """It does not know them; the rest of the scrape is the same."""
    assert "trace_id" not in printed(reconciled(Spans().tracer), "text/plain")


def test_spans_that_are_not_sampled_are_not_named() -> None:
    """No backend has them."""
    assert exemplars(reconciled(Spans(sampled=False).tracer)) == {}


def test_without_tracing_a_histogram_pays_nothing() -> None:
    """Its series are of the class that counts and does nothing else."""
    manager = reconciled(None)
    assert type(manager.metrics.reconcile_seconds.labels("thing")) is Spread
    assert exemplars(manager) == {}


def test_log_lines_of_a_pass_have_the_trace(caplog: pytest.LogCaptureFixture) -> None:
    """Those of the framework and those of ``ctx.log``; lines outside passes have none."""

    def act(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
        ctx.log.info("from a state")
        return Done()

    spans = Spans()
    with caplog.at_level(logging.DEBUG, "myrmidon"):
        reconciled(spans.tracer, act)
    (span,) = spans.named("reconcile thing")
    facts = {record.message: getattr(record, "facts", {}) for record in caplog.records}
    trace = f"{span.context.trace_id:032x}"
    assert facts["from a state"]["trace_id"] == facts["pass begins"]["trace_id"] == trace
    assert {one["trace_id"] for one in facts.values() if "trace_id" in one} == {trace}
