"""Tracing: the spans of passes, states and requests, as an exporter of OpenTelemetry gets them."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from myrmidon import ManagerOptions
from myrmidon.api.objects import kinds
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import UsageError
from myrmidon.fsm import Done, Failed, Result, Wait
from myrmidon.fsm.context import Context
from myrmidon.runtime.observability.tracing import global_tracer
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, Harness, Status
from tests.runtime.spans import Spans
from tests.runtime.things import Thing, Things, ThingSpec, config_map, thing

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def spans() -> Spans:
    """Return a tracer; skip the test if the SDK is not installed."""
    return Spans()


def traced(controller: Things, spans: Spans, **more: Any) -> Harness:
    """Return a cluster whose manager has the tracer."""
    return Harness(controller, options=ManagerOptions(seed=0, tracer=spans.tracer), **more)


async def child(it: Thing, out: OutputSet, ctx: Context) -> Result:
    """Read live, then apply one child."""
    await ctx.live.get(kinds.SECRET, "other")
    out.apply(config_map("child", it.spec.value))
    return Done()


def test_a_pass_with_its_states_and_requests(spans: Spans) -> None:
    """Requests of a state are below the state; writes of the pass are below the pass."""
    with traced(Things(child), spans) as cluster:
        cluster.apply(thing())
        cluster.settle()
    assert spans.tree() == {
        "": ["reconcile thing"],
        "reconcile thing": ["state first", "POST", "state second", "PATCH"],
        "state first": ["GET"],
    }
    (single,) = spans.named("reconcile thing")
    assert dict(single.attributes) == {
        "myrmidon.controller": "thing",
        "myrmidon.object.kind": "Thing.test.myrmidon.dev",
        "myrmidon.object.name": "it",
        "k8s.namespace.name": "default",
        "myrmidon.cause": ("self create of Thing.test.myrmidon.dev default/it",),
        "myrmidon.result": "success",
    }
    assert not single.links
    (state,) = spans.named("state first")
    assert dict(state.attributes) == {"myrmidon.state": "first", "myrmidon.result": "done"}
    (written,) = spans.named("POST")
    assert written.kind.name == "CLIENT"
    assert dict(written.attributes) == {
        "http.request.method": "POST",
        "url.path": "/api/v1/namespaces/default/configmaps",
        "http.response.status_code": 201,
    }


def test_requests_outside_a_pass_have_no_spans(spans: Spans) -> None:
    """Lists and watches are sent, even if the program was started inside a span of its own."""
    with spans.tracer.start_as_current_span("program"), traced(Things(), spans) as cluster:
        cluster.settle()
        cluster.apply(thing())
        cluster.settle()
    assert spans.tree()[""] == ["program", "reconcile thing"]
    assert "program" not in spans.tree()
    assert set(spans.tree()["reconcile thing"]) == {"state first", "state second", "PATCH"}


def test_spans_of_a_state_are_below_it(spans: Spans) -> None:
    """A span of another instrumented library is below it, also after an await."""

    async def act(_it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        await asyncio.sleep(0)  # noqa: TID251 - lets other tasks run
        with spans.tracer.start_as_current_span("query"):
            return Done()

    with traced(Things(act), spans) as cluster:
        cluster.apply(thing("one"))
        cluster.apply(thing("two"))
        cluster.settle()
    assert spans.tree()["state first"] == ["query", "query"]
    traces = {span.context.trace_id for span in spans.named("reconcile thing")}
    assert len(traces) == 2
    assert {span.context.trace_id for span in spans.named("query")} == traces


@pytest.mark.parametrize(
    ("result", "said", "error"),
    [
        (Wait("NotYet", "soon"), ("requeue", "wait"), None),
        (Failed("Broken", "a message"), ("error", "failed"), "Broken"),
    ],
    ids=["waits", "fails"],
)
def test_the_result_of_a_pass(
    spans: Spans, result: Result, said: tuple[str, str], error: str | None
) -> None:
    """A failure marks the state and the pass as an error; waiting does not."""
    with traced(Things(lambda _it, _out, _ctx: result), spans) as cluster:
        cluster.apply(thing())
        cluster.step()
    single, state = spans.named("reconcile thing")[0], spans.named("state first")[0]
    assert (single.attributes["myrmidon.result"], state.attributes["myrmidon.result"]) == said
    for span in (single, state):
        assert span.status.description == error
        assert span.status.is_ok is (error is None)


def test_a_refused_request_is_an_error(spans: Spans) -> None:
    """It has the status code that the server sent."""
    refused = [Status(403)]

    def faults(request: HttpRequest) -> Fault | None:
        return refused.pop() if request.method == "POST" and refused else None

    with traced(Things(child), spans, faults=faults) as cluster:
        cluster.apply(thing())
        cluster.settle()
    first, second = spans.named("POST")
    assert (first.attributes["http.response.status_code"], first.status.is_ok) == (403, False)
    assert (second.attributes["http.response.status_code"], second.status.is_ok) == (201, True)


def test_requests_carry_the_context(spans: Spans) -> None:
    """The header names the span of the request, so that the server can join the trace."""
    seen: list[str] = []

    def faults(request: HttpRequest) -> Fault | None:
        if request.method == "POST":
            seen.append(request.headers.get("traceparent", ""))
        return None

    with traced(Things(child), spans, faults=faults) as cluster:
        cluster.apply(thing())
        cluster.settle()
    (written,) = spans.named("POST")
    context = written.context
    (header,) = seen  # version, trace, span, flags
    assert header.split("-")[1:3] == [f"{context.trace_id:032x}", f"{context.span_id:016x}"]


@pytest.mark.parametrize(
    ("annotation", "linked"),
    [
        (f"00-{TRACE}-{PARENT}-01", True),
        (f"00-{TRACE}-{PARENT}", False),
        ("00-" + "0" * 32 + "-" + "0" * 16 + "-01", False),
        ("", False),
        ("garbage\n" * 1000, False),
    ],
    ids=["valid", "too short", "zeros", "empty", "garbage"],
)
def test_the_annotation_traceparent_is_linked(spans: Spans, annotation: str, linked: bool) -> None:
    """It is the trace of the pipeline that applied the object; an invalid value is ignored."""
    with traced(Things(), spans) as cluster:
        cluster.apply(Thing(name="it", annotations={"traceparent": annotation}, spec=ThingSpec()))
        cluster.settle()
    (single,) = spans.named("reconcile thing")
    links = [
        (f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}") for link in single.links
    ]
    assert links == ([(TRACE, PARENT)] if linked else [])
    assert single.parent is None


def test_off_installs_nothing() -> None:
    """Without a tracer no wrapper is installed."""
    with Harness(Things()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        (loop,) = cluster.manager.loops
        assert loop.pool.reconcile == loop.reconciler.reconcile
        assert loop.reconciler._deps.run_state.__module__ == "myrmidon.runtime.reconcile.run_state"


def test_off_imports_nothing() -> None:
    """The package is neither needed nor imported."""
    code = (
        "import sys, myrmidon.cli.commands.run, myrmidon.runtime.manager as m; m.Manager();"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_tracing_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is one sentence with the package to install."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(
        UsageError, match=r"(?s)opentelemetry-api.*fix: pip install 'myrmidon\[otel\]'"
    ):
        global_tracer()


def test_the_flag_uses_the_global_provider(spans: Spans, monkeypatch: pytest.MonkeyPatch) -> None:
    """``myrmidon run --tracing`` asks for a tracer under the name of this package."""
    trace = pytest.importorskip("opentelemetry.trace")
    monkeypatch.setattr(trace, "get_tracer", {"myrmidon": spans.tracer}.__getitem__)
    assert global_tracer() is spans.tracer
