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

If the reconciled object has an annotation ``traceparent`` (W3C Trace Context), for example from the
pipeline that applied it, the span of the pass links to that span.  It is a link and not the parent,
because one change may cause many passes, also long after that trace has ended.  Requests carry the
header ``traceparent``, so that an API server with tracing switched on can join in.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json, annotations_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport
from myrmidon.errors import UsageError
from myrmidon.fsm.engine import Outcome
from myrmidon.fsm.machine.results import Failed, Result
from myrmidon.fsm.machine.states import State
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.controller import result_of
from myrmidon.runtime.queue.queue import Turn
from myrmidon.runtime.reconcile.run_state import run_state
from myrmidon.runtime.reconcile.worker import Reconcile

TRACEPARENT = "traceparent"
_NAME = "myrmidon"
_passing: ContextVar[bool] = ContextVar("passing", default=False)
"""True during a pass.  A current span is not enough: the program may be started inside one."""


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

    def __init__(self, tracer: Any) -> None:
        # Imported here, because opentelemetry is an extra that most programs do not install.
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.context import Context  # noqa: PLC0415
        from opentelemetry.trace.propagation import tracecontext  # noqa: PLC0415

        self._tracer, self._api = tracer, trace
        # The span of a pass is a root, also if the program was started inside a span.
        self._no_parent = Context()
        self._w3c = tracecontext.TraceContextTextMapPropagator()

    def around(
        self, controller: str, reconcile: Reconcile, read: Callable[[ObjectRef], Json | None]
    ) -> Reconcile:
        """Return ``reconcile`` with a span around each pass; ``read`` returns the cached object."""
        name = f"reconcile {controller}"

        async def traced(turn: Turn[ObjectRef]) -> Outcome | None:
            ref = turn.key
            attributes = {
                "myrmidon.controller": controller,
                "myrmidon.object.kind": str(ref.kind),
                "myrmidon.object.name": ref.name,
                "myrmidon.cause": [str(cause) for cause in turn.causes],
                "k8s.namespace.name": ref.namespace,
            }
            with self._tracer.start_as_current_span(
                name, self._no_parent, attributes=attributes, links=self._links(read(ref))
            ) as span:
                token = _passing.set(True)
                try:
                    outcome = await reconcile(turn)
                finally:
                    _passing.reset(token)
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

    def transport(self, inner: Transport) -> "TracedTransport":
        """Return a transport that opens a span for each request of a pass."""
        return TracedTransport(inner, self)

    async def send(
        self, inner: Transport, request: HttpRequest, deadline: float | None
    ) -> HttpResponse:
        """Send a request; in a span of its own if it is sent during a pass."""
        if not _passing.get():
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
        return response

    def _links(self, obj: Json | None) -> list[Any]:
        """Return a link to the span that the object's annotation names; none if it is not valid."""
        said = annotations_of(obj or {}).get(TRACEPARENT)
        if not said:
            return []
        found = self._api.get_current_span(self._w3c.extract({TRACEPARENT: said}))
        context = found.get_span_context()
        return [self._api.Link(context)] if context.is_valid else []

    def _fail(self, span: Any, why: str) -> None:
        span.set_status(self._api.Status(self._api.StatusCode.ERROR, why))


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
