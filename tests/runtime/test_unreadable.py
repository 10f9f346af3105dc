"""K7, Q5: an object that cannot be read fails only its own pass, with a reason, and recovers."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import Any

import orjson
import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport
from myrmidon.fsm import Controller, Done, Result
from myrmidon.fsm.context import Context
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.test_trouble import loosen
from tests.runtime.things import FinalThings, Thing, Things, config_map, done, thing

HOUR = timedelta(hours=1)
UNREADABLE = {b'"poison"': b"NaN"}
ABYSMAL = {b'"poison"': b'{"a":' * 3000 + b"1" + b"}" * 3000}


class Poisoning:
    """A transport that replaces texts in responses."""

    def __init__(self, inner: Transport, texts: dict[bytes, bytes]) -> None:
        self._inner, self._texts = inner, texts

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Answer with other texts."""
        response = await self._inner.send(request, deadline=deadline)
        return response._replace(body=self.replaced(response.body))

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Answer with other texts."""
        return self._stream(request)

    async def close(self) -> None:
        """Nothing to close."""

    def replaced(self, text: bytes) -> bytes:
        """Return the text with the replacements."""
        for old, new in self._texts.items():
            text = text.replace(old, new)
        return text

    @asynccontextmanager
    async def _stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        async with self._inner.stream(request) as stream:
            yield _Replaced(stream, self)


class _Replaced:
    def __init__(self, inner: ResponseStream, poisoning: Poisoning) -> None:
        self._inner, self._poisoning = inner, poisoning
        self.status, self.headers = inner.status, inner.headers

    async def lines(self) -> AsyncIterator[bytes]:
        async for line in self._inner.lines():
            yield self._poisoning.replaced(line)

    async def read(self) -> bytes:
        return await self._inner.read()


class PoisonedHarness(Harness):
    """A harness whose controllers read other texts than the server has."""

    texts: dict[bytes, bytes] = UNREADABLE

    def _line_to_server(self) -> Transport:
        return Poisoning(super()._line_to_server(), self.texts)


class DeepHarness(PoisonedHarness):
    """A harness with deeply nested objects that can be read."""

    def __init__(self, *controllers: Controller[Any]) -> None:
        self.texts = {b'"poison"': nested(300)}
        super().__init__(*controllers)


class AbysmalHarness(PoisonedHarness):
    """A harness with objects that are too deeply nested to be read."""

    texts = ABYSMAL


def child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child."""
    out.apply(config_map(it.name, it.spec.value))
    return Done()


async def looking_after(it: Thing, out: OutputSet, ctx: Context) -> Result:
    """Create the child if it does not exist."""
    if await ctx.get(kinds.CONFIG_MAP, it.name) is None:
        out.apply(config_map(it.name, it.spec.value))
    return Done()


def reasons(cluster: Harness, name: str) -> list[str]:
    """Return the reasons of an object's events."""
    return [
        event["reason"]
        for event in cluster.list(kinds.EVENT)
        if event["involvedObject"]["name"] == name
    ]


def unreadable(metrics: Metrics, kind: str) -> float | None:
    """Return the metric of a kind."""
    group, version = ("", "v1") if kind == "ConfigMap" else ("test.myrmidon.dev", "v1")
    labels = {"group": group, "version": version, "kind": kind}
    return metrics.registry.get_sample_value("myrmidon_unreadable_objects", labels)


def why(cluster: Harness, condition_type: str) -> tuple[str, str]:
    """Return reason and message of a condition."""
    condition = cluster.condition(Thing, "it", condition_type)
    return (condition.reason, condition.message) if condition else ("none", "")


@pytest.mark.parametrize("cluster_type", [PoisonedHarness, AbysmalHarness])
def test_an_unreadable_parent_affects_no_other(cluster_type: type[Harness]) -> None:
    """It has an Event and is counted, the others are Ready, and it is not retried."""
    with cluster_type(Things(child)) as cluster:
        for name in ("a", "bad", "z"):
            cluster.apply(thing(name, value="poison" if name == "bad" else "good"))
        cluster.settle()
        assert [cluster.ready(Thing, name) for name in ("a", "bad", "z")] == [True, False, True]
        assert "UnreadableObject" in reasons(cluster, "bad")
        cluster.manager._refresh()
        assert unreadable(cluster.manager.metrics, "Thing") == 1.0
        assert not cluster.writes_during(HOUR)

        cluster.patch(Thing, "bad", {"spec": {"value": "healed"}})
        cluster.settle()
        assert cluster.ready(Thing, "bad")
        cluster.manager._refresh()
        assert unreadable(cluster.manager.metrics, "Thing") == 0.0


@pytest.mark.parametrize(
    ("states", "condition_type"),
    [((child, done), "First"), ((looking_after, done), "First")],
    ids=["apply", "get"],
)
def test_an_unreadable_child_is_not_taken_for_absent(
    states: tuple[Any, Any], condition_type: str
) -> None:
    """Its parent's condition names the object and the fix; nothing is sent until it is readable."""
    with PoisonedHarness(Things(*states), manifests=[thing()]) as cluster:
        cluster.settle()
        cluster.patch(kinds.CONFIG_MAP, "it", {"data": {"value": "poison"}})
        written = len(cluster.writes)
        cluster.settle()
        reason, message = why(cluster, condition_type)
        assert reason == "UnreadableObject"
        assert "ConfigMap default/it" in message
        assert "fix:" in message
        writes = [exchange.request.path for exchange in cluster.writes[written:]]
        assert not [path for path in writes if "configmaps" in path]

        cluster.patch(kinds.CONFIG_MAP, "it", {"data": {"value": "a"}})
        cluster.settle()
        assert cluster.ready(Thing, "it")


def test_an_unreadable_child_stops_pruning_and_deletion_with_a_condition() -> None:
    """This holds for the reads after the states, too: nothing fails, and nothing is deleted."""

    def both(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        for number in range(it.spec.size):
            out.apply(config_map(f"{it.name}-{number}"))
        return Done()

    with PoisonedHarness(FinalThings(both, prune=True), manifests=[thing(size=2)]) as cluster:
        cluster.settle()
        cluster.patch(kinds.CONFIG_MAP, "it-1", {"data": {"value": "poison"}})
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"size": 1}})
        cluster.settle()
        ready = cluster.condition(Thing, "it", "Ready")
        assert ready is not None
        assert ready.reason == "UnreadableObject", ready
        assert cluster.get(kinds.CONFIG_MAP, "it-1")

        cluster.patch(kinds.CONFIG_MAP, "it-1", {"data": {"value": "b"}})
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert cluster.get(kinds.CONFIG_MAP, "it-1") is None


@pytest.mark.parametrize("levels", [300, 600, 800])
def test_a_deep_parent_is_reported_and_affects_no_other(levels: int) -> None:
    """A real server accepts it.

    It can be read, but not parsed as a model; its condition says so.
    """
    with DeepHarness(Things(child)) as cluster:
        cluster.texts[b'"poison"'] = nested(levels)
        cluster.settle()
        loosen(cluster)
        cluster.restart()  # an open watch keeps the schema with which it began
        cluster.settle()
        cluster.apply(thing("a"))
        cluster.apply(deep_thing())
        cluster.settle()
        assert cluster.ready(Thing, "a")
        ready = cluster.condition(Thing, "deep", "Ready")
        assert ready is not None
        assert ready.reason == "InvalidObject"
        assert "nested deeper" in ready.message
        assert not cluster.writes_during(HOUR)


def test_a_deep_child_is_read() -> None:
    """K7: 300 levels of nesting in a free-form field are handled."""
    seen: list[Json] = []

    async def look(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
        deep = await ctx.get(Thing.KIND, "deep")
        assert deep is not None
        seen[:] = [*await ctx.list(Thing.KIND), deep]
        return Done()

    with DeepHarness(Things(look)) as cluster:
        cluster.settle()
        loosen(cluster)
        cluster.restart()  # an open watch keeps the schema with which it began
        cluster.settle()
        cluster.apply(deep_thing())
        cluster.apply(thing("a"))
        cluster.settle()
        assert cluster.ready(Thing, "a")
        assert [obj["metadata"]["name"] for obj in seen] == ["a", "deep", "deep"]
        assert seen[-1]["spec"]["more"] == orjson.loads(nested(300))


def nested(levels: int) -> bytes:
    """Build a JSON value that is nested so deeply."""
    return b'{"a":' * levels + b"1" + b"}" * levels


def deep_thing() -> Json:
    """A Thing with a free-form field."""
    raw = thing("deep").to_json()
    raw["spec"] = {"more": "poison"}
    return raw
