"""A tracer of the OpenTelemetry SDK that keeps its spans, for the tests of tracing."""

from typing import Any

import pytest


class Spans:
    """A tracer of the SDK and the spans that it has ended."""

    def __init__(self, *, sampled: bool = True) -> None:
        sdk = pytest.importorskip("opentelemetry.sdk.trace")
        export = pytest.importorskip("opentelemetry.sdk.trace.export")
        memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
        self._exporter = memory.InMemorySpanExporter()
        sampler = pytest.importorskip("opentelemetry.sdk.trace.sampling")
        provider = sdk.TracerProvider(sampler.ALWAYS_ON if sampled else sampler.ALWAYS_OFF)
        provider.add_span_processor(export.SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer("test")

    def clear(self) -> None:
        """Drop the spans so far."""
        self._exporter.clear()

    def named(self, name: str) -> list[Any]:
        """Return the ended spans of that name, in the order of their ends."""
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def tree(self) -> dict[str, list[str]]:
        """Return the names of the spans below each span; roots are below the empty name."""
        spans = self._exporter.get_finished_spans()
        names = {span.context.span_id: span.name for span in spans}
        found: dict[str, list[str]] = {}
        for span in sorted(spans, key=lambda one: one.start_time):
            above = names[span.parent.span_id] if span.parent is not None else ""
            found.setdefault(above, []).append(span.name)
        return found
