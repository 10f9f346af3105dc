"""Tracing: OpenTelemetry spans for passes, their states and their requests.

One trace shows where the time of a pass went:

    reconcile web-app              the pass: controller, object, causes, result
        state deployed             one run of a state: its result
            GET                    a request that the state sent itself, such as ``ctx.live``
        PATCH                      a request of the pass: method, path, status code

It is switched on by ``ManagerOptions(tracer=...)``, or by ``myrmidon run --tracing`` with the tracer
of the global provider.  Otherwise neither this code runs nor is ``opentelemetry`` imported.  Only
its API is needed here; the SDK and the exporter are the choice of the program.

How it works: ``around`` wraps the reconcile function, ``run_state`` replaces the function of that
name in the passes, and ``TracedTransport`` lies below the client.  OpenTelemetry finds the parent of
a span through a context variable, so spans that a state opens itself belong to the state's span.
Requests outside a pass (lists, watches, the Lease, Events) have no spans: a watch that stays open
for minutes would only be noise.

The span of a pass has links to the spans that caused it: the request of another pass of this process
that wrote the object, and the span that an annotation ``traceparent`` (W3C Trace Context) names, for
example of the pipeline that applied it (``causal_links``).  These are links and not parents, because
one change may cause many passes, also long after that trace has ended.  Requests carry the header
``traceparent``, so that an API server with tracing switched on can join in.

The way from a metric to a pass: ``exemplar`` is asked for each observation of a histogram, and names
the span that was measured.  The way to the log: every log line of a pass has its ``trace_id``.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Any

from prometheus_client.samples import Exemplar

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json, annotations_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport
from myrmidon.errors import UsageError
from myrmidon.fsm.engine import Outcome
from myrmidon.fsm.machine.results import Failed, Result
from myrmidon.fsm.machine.states import State
from myrmidon.io.watch.changes import Change
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.controller import result_of
from myrmidon.runtime.observability.causal_links import (
    TRACEPARENT,
    Author,
    CausalLinks,
    SpanOfWrite,
    Waking,
)
from myrmidon.runtime.queue.queue import Turn
from myrmidon.runtime.reconcile.run_state import run_state
from myrmidon.runtime.reconcile.worker import Reconcile

_NAME = "myrmidon"
_READS = ("GET", "HEAD")
_passing: ContextVar[Author | None] = ContextVar("passing", default=None)
"""Whose pass it is, None outside passes.  A current span is not enough: the program may be started
inside one."""
_measured: ContextVar[Any] = ContextVar("measured", default=None)
"""The context of the last span of a pass in this task.  It is still needed after the pass: the worker
records the duration of a pass when its span has ended."""


def global_tracer() -> Any:
    """Return a tracer of the global tracer provider; raise ``UsageError`` without OpenTelemetry."""
    try:
        from opentelemetry import trace  # noqa: PLC0415 - an extra, imported only with tracing
    except ImportError:
        raise UsageError(
            "tracing needs the package opentelemetry-api, which is not installed.\n"
            "  fix: pip install 'myrmidon[otel]'"
        ) from None
    return trace.get_tracer(_NAME)


class Tracing:
    """Opens the spans of one process with ``tracer``, an OpenTelemetry ``Tracer``."""

    def __init__(self, tracer: Any, clock: Clock) -> None:
        # Imported here, because opentelemetry is an extra that most programs do not install.
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.context import Context  # noqa: PLC0415
        from opentelemetry.trace.propagation import tracecontext  # noqa: PLC0415

        self._tracer, self._api, self._clock = tracer, trace, clock
        self._causes = CausalLinks()
        # The span of a pass is a root, also if the program was started inside a span.
        self._no_parent = Context()
        self._w3c = tracecontext.TraceContextTextMapPropagator()

    def around(
        self, controller: str, reconcile: Reconcile, read: Callable[[ObjectRef], Json | None]
    ) -> Reconcile:
        """Return ``reconcile`` with a span around each pass; ``read`` returns the cached object."""
        name = f"reconcile {controller}"

        async def traced(turn: Turn[ObjectRef]) -> Outcome | None:
            ref, author = turn.key, Author(controller, turn.key)
            waking = self._causes.begin(author)
            attributes = {
                "myrmidon.controller": controller,
                "myrmidon.object.kind": str(ref.kind),
                "myrmidon.object.name": ref.name,
                "myrmidon.cause": [str(cause) for cause in turn.causes],
                "k8s.namespace.name": ref.namespace,
            }
            links = self._links(read(ref), author, waking)
            with self._tracer.start_as_current_span(
                name, self._no_parent, attributes=attributes, links=links
            ) as span:
                _measured.set(span.get_span_context())
                token = _passing.set(author)
                try:
                    outcome = await reconcile(turn)
                finally:
                    _passing.reset(token)
                    for write in self._causes.writes(author, waking):  # answered meanwhile
                        span.add_link(write.context, _by(write))
                span.set_attribute("myrmidon.result", result_of(outcome))
                if outcome is not None and outcome.failure is not None:
                    self._fail(span, outcome.failure.reason)
            return outcome

        return traced

    async def run_state(
        self,
        state: State,
        call: Callable[[], Any],
        clock: Clock,
        log: Logger,
        ran: Callable[[str, float], None],
    ) -> Result:
        """Run one state in a span of its own, as ``run_state.run_state`` does without one."""
        attributes = {"myrmidon.state": state.name}
        with self._tracer.start_as_current_span(
            f"state {state.name}", attributes=attributes
        ) as span:
            result = await run_state(state, call, clock, log, ran)
            span.set_attribute("myrmidon.result", type(result).__name__.lower())
            if isinstance(result, Failed):
                self._fail(span, result.reason)
        return result

    def woke(self, controller: str, key: ObjectRef, change: Change) -> None:
        """Remember that a change caused a pass over an object, for the links of its span."""
        self._causes.woke(Author(controller, key), change)

    def logger(self, log: Logger) -> Logger:
        """Return the logger with the ``trace_id`` of the pass in each line."""
        return TracedLogger(log, self)

    def trace_id(self) -> str:
        """Return the trace of the pass under way, in hexadecimal; empty outside passes."""
        context = _measured.get() if _passing.get() is not None else None
        return f"{context.trace_id:032x}" if context is not None and context.is_valid else ""

    def exemplar(self, amount: float) -> Exemplar | None:
        """Return the reference of an observation to the span that it measured.

        Inside a pass that is the current span: the state, or the pass itself.  None outside passes,
        and for spans that are not sampled, because no backend has them.
        """
        context = _measured.get()
        if _passing.get() is not None:
            context = self._api.get_current_span().get_span_context()
        if context is None or not context.trace_flags.sampled:
            return None
        ids = {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
        return Exemplar(ids, amount, self._clock.now().timestamp())

    def transport(self, inner: Transport) -> "TracedTransport":
        """Return a transport that opens a span for each request of a pass."""
        return TracedTransport(inner, self)

    async def send(
        self, inner: Transport, request: HttpRequest, deadline: float | None
    ) -> HttpResponse:
        """Send a request; in a span of its own if it is sent during a pass."""
        author = _passing.get()
        if author is None:
            return await inner.send(request, deadline=deadline)
        attributes = {"http.request.method": request.method, "url.path": request.path}
        with self._tracer.start_as_current_span(
            request.method, kind=self._api.SpanKind.CLIENT, attributes=attributes
        ) as span:
            headers = dict(request.headers)
            self._w3c.inject(headers)
            response = await inner.send(request._replace(headers=headers), deadline=deadline)
            span.set_attribute("http.response.status_code", response.status)
            if response.status >= 400:
                self._fail(span, str(response.status))
            elif request.method not in _READS:
                self._causes.wrote(author, response, span.get_span_context())
        return response

    def _links(self, obj: Json | None, author: Author, waking: Waking) -> list[Any]:
        """Return links to the spans that annotations name, and to the writes that woke the object."""
        said = [annotations_of(obj or {}).get(TRACEPARENT, ""), *waking.traceparents]
        found = [self._api.get_current_span(self._w3c.extract({TRACEPARENT: one})) for one in said]
        contexts = [span.get_span_context() for span in found]
        writes = self._causes.writes(author, waking)
        return [
            *(self._api.Link(context) for context in contexts if context.is_valid),
            *(self._api.Link(write.context, _by(write)) for write in writes),
        ]

    def _fail(self, span: Any, why: str) -> None:
        span.set_status(self._api.Status(self._api.StatusCode.ERROR, why))


def _by(write: SpanOfWrite) -> dict[str, str]:
    return {"myrmidon.written_by": str(write.by)}


class TracedLogger(Logger):
    """Adds the ``trace_id`` of the pass to each line that is logged during one."""

    __slots__ = ("_tracing",)

    def __init__(self, inner: Logger, tracing: Tracing) -> None:
        super().__init__(inner.target, **inner.facts)
        self._tracing = tracing

    def having(self, **facts: Any) -> Logger:
        """Return a logger that adds these facts to every line as well."""
        return TracedLogger(super().having(**facts), self._tracing)

    def _write(
        self, level: int, message: str, facts: Mapping[str, Any], error: BaseException | None = None
    ) -> None:
        if trace_id := self._tracing.trace_id():
            facts = {**facts, "trace_id": trace_id}
        super()._write(level, message, facts, error)


class TracedTransport:
    """Opens a span for each request that is sent during a pass."""

    def __init__(self, inner: Transport, tracing: Tracing) -> None:
        self._inner, self._tracing = inner, tracing

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send a request, in a span of its own."""
        return await self._tracing.send(self._inner, request, deadline)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Open a stream.  A watch has no span."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()
