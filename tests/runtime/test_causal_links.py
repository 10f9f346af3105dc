"""Which earlier span a pass is linked to: the write of another pass, or an annotation of its cause."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon import ManagerOptions
from myrmidon.api import Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream
from myrmidon.fsm import Controller, Done, Result, Watch, state
from myrmidon.fsm.context import Context
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.changes import Change, Source, encode
from myrmidon.runtime.observability.causal_links import (
    CHANGES_MAX,
    WOKEN_MAX,
    WRITES_MAX,
    Author,
    CausalLinks,
    Version,
    version_in,
)
from myrmidon.runtime.observability.tracing import Tracing
from myrmidon.runtime.queue.queue import Turn, Urgency
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, run
from tests.runtime.spans import Spans
from tests.runtime.things import Thing, Things, applying, config_map, done, thing

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"


class Echo(Resource[Model, Status], group="test.myrmidon.dev", version="v1"):
    """The resource of another controller."""


class Echoes(Controller[Echo]):
    """Wakes the Echo that is called like a ConfigMap, whenever that ConfigMap changes."""

    watches: ClassVar[tuple[Watch, ...]] = (
        Watch(kinds.CONFIG_MAP, to=lambda obj: [obj["metadata"]["name"]]),
    )

    @state(initial=True, condition="Heard")
    async def heard(self, echo: Echo, out: OutputSet, ctx: Context) -> Result:
        """The ConfigMap was seen."""
        return Done()


def cluster_of(spans: Spans, act: Callable[..., Any]) -> Harness:
    """Return a cluster with both controllers and the Echo ``child``, without its first spans."""
    options = ManagerOptions(seed=0, tracer=spans.tracer)
    cluster = Harness(Things(act), Echoes(), options=options)
    cluster.apply(Echo(name="child", spec=Model()))
    cluster.settle()
    spans.clear()
    return cluster


def linked(span: Any) -> set[tuple[int, str]]:
    """Return the span that each link of a span names, and whose write it was."""
    return {
        (link.context.span_id, (link.attributes or {}).get("myrmidon.written_by", ""))
        for link in span.links
    }


@pytest.mark.parametrize("written", ["POST", "PATCH"])
def test_a_pass_is_linked_to_the_write_of_another_controller(written: str) -> None:
    """To the span of the request, with the controller and the object whose pass sent it."""
    spans = Spans()
    with cluster_of(spans, applying()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        if written == "PATCH":
            spans.clear()
            cluster.apply(thing(value="b"))
            cluster.settle()
    (write,) = [
        span for span in spans.named(written) if "configmaps" in span.attributes["url.path"]
    ]
    (caused,) = spans.named("reconcile echo")
    assert linked(caused) == {(write.context.span_id, "thing default/it")}
    assert caused.context.trace_id != write.context.trace_id


def test_a_pass_is_linked_to_the_delete_of_another_controller() -> None:
    """The answer to a delete does not name a version, only the uid."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if it.spec.value == "a":
            out.apply(config_map("child"))
        else:
            out.delete(config_map("child"))
        return Done()

    spans = Spans()
    with cluster_of(spans, act) as cluster:
        cluster.apply(thing())
        cluster.settle()
        spans.clear()
        cluster.apply(thing(value="b"))
        cluster.settle()
    (write,) = spans.named("DELETE")
    (caused,) = spans.named("reconcile echo")
    assert linked(caused) == {(write.context.span_id, "thing default/it")}


def test_a_write_of_a_user_has_no_link() -> None:
    """Only the annotation of the object could name a span, and there is none."""
    spans = Spans()
    with cluster_of(spans, done) as cluster:
        cluster.apply(config_map("child"))
        cluster.settle()
    (caused,) = spans.named("reconcile echo")
    assert linked(caused) == set()


def test_the_annotation_of_a_watched_object_is_linked_once() -> None:
    """It caused the pass of the change that brought it, not those of later changes."""
    spans = Spans()
    with cluster_of(spans, done) as cluster:
        cluster.apply(config_map("child", annotations={"traceparent": PARENT}))
        cluster.settle()
        cluster.apply(config_map("child", "b", annotations={"traceparent": PARENT}))
        cluster.settle()
        cluster.apply(config_map("child", "b", annotations={"traceparent": OTHER}))
        cluster.settle()
    links = [
        [f"{link.context.trace_id:032x}" for link in span.links]
        for span in spans.named("reconcile echo")
    ]
    assert links == [[PARENT.split("-")[1]], [], [OTHER.split("-")[1]]]


def test_a_pass_is_not_linked_to_its_own_writes() -> None:
    """Several objects that write one after the other: each pass has the links of its causes alone."""
    spans = Spans()
    with cluster_of(spans, applying()) as cluster:
        for value in "abc":
            cluster.apply(thing(value=value))
            cluster.settle()
    for span in spans.named("reconcile thing"):
        assert linked(span) == set()


class Answering:
    """A transport that answers each request with version 7 of the object ``u``."""

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Answer at once."""
        return answer("u", 7)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Not used."""
        raise NotImplementedError

    async def close(self) -> None:
        """Have nothing to close."""


def test_a_write_that_is_answered_during_the_pass_is_linked_at_its_end() -> None:
    """The watch event was faster than the answer, so the write was unknown when the pass began."""
    spans, turn = Spans(), Turn(KEY, 0.0, 0.0, Urgency.LIVE)
    tracing = Tracing(spans.tracer, LoopClock())

    async def write(_turn: Turn[ObjectRef]) -> None:
        await tracing.transport(Answering()).send(HttpRequest("PATCH", "/path"))

    other = tracing.around("other", write, lambda _ref: None)

    async def woken(_turn: Turn[ObjectRef]) -> None:
        await other(turn)

    tracing.woke("thing", KEY, change("u", 7))

    async def main() -> None:
        await tracing.around("thing", woken, lambda _ref: None)(turn)

    run(main())
    (written,), (caused,) = spans.named("PATCH"), spans.named("reconcile thing")
    assert linked(caused) == {(written.context.span_id, "other default/it")}


# ------------------------------------------------------------------------------- the memory

KEY = ObjectRef(Thing.KIND, "it", "default")
CHILD = ObjectRef(kinds.CONFIG_MAP, "child", "default")
ME, ANOTHER = Author("thing", KEY), Author("other", KEY)


def answer(uid: str, version: int) -> HttpResponse:
    """Return the answer to a write."""
    body = {"metadata": {"uid": uid, "resourceVersion": str(version)}}
    return HttpResponse(200, (), orjson.dumps(body))


def change(uid: str, version: int, ref: ObjectRef = CHILD) -> Change:
    """Return the watch event of a version."""
    obj: Json = {"metadata": {"name": ref.name, "uid": uid, "resourceVersion": str(version)}}
    return Change(ref, None, encode(obj, uid, version), Source.WATCH)


def test_an_answer_after_the_watch_event_still_gives_the_link() -> None:
    """The pass begins before the write is known; it is found when the pass ends."""
    links = CausalLinks()
    links.woke(ME, change("u", 7))
    waking = links.begin(ME)
    assert links.writes(ME, waking) == []

    links.wrote(ANOTHER, answer("u", 7), "context")
    assert [write.context for write in links.writes(ME, waking)] == ["context"]
    assert links.writes(ME, waking) == []  # once


def test_the_same_version_of_another_object_is_not_the_cause() -> None:
    """Versions of two clusters, or of two stores, may be equal."""
    links = CausalLinks()
    links.wrote(ANOTHER, answer("u", 7), "context")
    links.woke(ME, change("another", 7))
    assert links.writes(ME, links.begin(ME)) == []


def test_a_write_without_effect_is_not_the_cause() -> None:
    """Its answer has the version that an earlier write made."""
    links = CausalLinks()
    links.wrote(ANOTHER, answer("u", 7), "first")
    links.wrote(Author("third", KEY), answer("u", 7), "second")
    links.woke(ME, change("u", 7))
    assert [write.context for write in links.writes(ME, links.begin(ME))] == ["first"]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), max_size=40))
def test_links_name_only_writes_of_others_that_woke_the_object(
    steps: list[tuple[int, int, bool]],
) -> None:
    """Whatever the order of answers and watch events, and each pass gets a write at most once."""
    links, written, woken = CausalLinks(), dict[Version, Author](), set[Version]()
    for uid, version, is_answer in steps:
        key = Version(str(uid), str(version))
        if is_answer:
            by = (ME, ANOTHER)[uid % 2]
            written.setdefault(key, by)
            links.wrote(by, answer(str(uid), version), key)
        elif len(woken) < CHANGES_MAX:
            woken.add(key)
            links.woke(ME, change(str(uid), version))
    found = [write.context for write in links.writes(ME, links.begin(ME))]
    assert len(found) == len(set(found))
    assert set(found) <= {key for key in woken if written.get(key) == ANOTHER}


def test_q12_the_memory_is_bounded() -> None:
    """However many writes and changes there are."""
    links = CausalLinks()
    for number in range(WRITES_MAX + 10):
        links.wrote(ANOTHER, answer(str(number), 1), number)
        links.woke(Author("thing", KEY._replace(name=str(number))), change(str(number), 1))
        links.woke(ME, change(str(number), 2))
    assert len(links._writes) == WRITES_MAX
    assert len(links._woken) == WOKEN_MAX
    assert len(links.begin(ME).versions) <= CHANGES_MAX


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (409, b'{"metadata": {"uid": "u", "resourceVersion": "1"}}'),
        (200, b""),
        (200, b"[]"),
        (200, b"not JSON"),
        (200, b'{"metadata": null}'),
        (200, b'{"kind": "Status"}'),
        (200, b'{"kind": "Status", "details": null}'),
    ],
)
def test_an_answer_without_a_version(status: int, body: bytes) -> None:
    """It is ignored: refusals, and whatever else a server may send."""
    assert version_in(HttpResponse(status, (), body)) is None
