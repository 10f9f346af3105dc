"""What wakes an object: channels, watches, resyncs, and objects that have to be created."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from pydantic import Field

from myrmidon.api import Resource
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, version_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.fsm import (
    Channel,
    ClaimController,
    Controller,
    Done,
    Index,
    Lookup,
    Result,
    Wait,
    Watch,
    changed,
    state,
    when_children_ready,
)
from myrmidon.fsm.context import Cause, Context
from myrmidon.fsm.declaration.options import ControllerOptions
from myrmidon.io.watch.changes import Change, Source, encode
from myrmidon.runtime import ManagerOptions
from myrmidon.runtime.queue.queue import Urgency
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, is_write
from myrmidon.testing.faults.transport import FaultyTransport
from tests.runtime.things import Thing, Things, ThingSpec, ThingStatus, config_map, thing
from tests.runtime.webapps import WebApp, cluster_role, deployment, web_app

HOUR = timedelta(hours=1)


def secret(name: str, value: str = "a", **metadata: Any) -> Json:
    """A Secret."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, **metadata},
        "stringData": {"value": value},
    }


class Seen:
    """The causes of every pass, in order."""

    def __init__(self) -> None:
        self.passes: list[tuple[str, tuple[Cause, ...], float]] = []

    def __call__(self, it: Thing, out: OutputSet, ctx: Context) -> Result:
        """Record the causes."""
        self.passes.append((it.name, ctx.cause, ctx.now.timestamp()))
        out.apply(config_map(it.name))
        return Done()

    def causes(self) -> list[str]:
        """Return all causes of all passes, as words."""
        return [str(cause) for _, causes, _ in self.passes for cause in causes]


def test_causes_name_object_and_event() -> None:
    """Q3: self, child, timer and resync; a timer that was superseded is not a cause."""
    seen = Seen()
    with Harness(Things(seen, sync_period=timedelta(hours=2))) as cluster:
        cluster.settle()
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        cluster.delete(kinds.CONFIG_MAP, "it")
        cluster.settle()
        cluster.advance(timedelta(hours=3))

        assert seen.causes() == [
            "self create of Thing.test.myrmidon.dev default/it",
            "self update of Thing.test.myrmidon.dev default/it",
            "child delete of ConfigMap default/it",
            "resync generic",
        ]


def test_own_writes_cause_no_pass() -> None:
    """C7: a new object gets one pass; the watch events of its writes cause none."""
    seen = Seen()
    with Harness(Things(seen)) as cluster:
        cluster.settle()
        cluster.apply(thing())
        cluster.advance(HOUR)
        assert len(seen.passes) == 1


def test_own_writes_cause_no_pass_if_the_watch_event_comes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A busy server may send the event before the response; changes by others still count."""
    seen = Seen()
    send = FaultyTransport.send

    async def answer_late(
        self: FaultyTransport, request: HttpRequest, *, deadline: float | None = None
    ) -> HttpResponse:
        response = await send(self, request, deadline=deadline)
        if is_write(request):
            await self._clock.sleep(5.0)
        return response

    monkeypatch.setattr(FaultyTransport, "send", answer_late)
    with Harness(Things(seen), faults=lambda _: None) as cluster:
        cluster.apply(thing())
        cluster.advance(HOUR)
        assert len(seen.passes) == 1
        cluster.delete(kinds.CONFIG_MAP, "it")
        cluster.advance(timedelta(seconds=2))
        cluster.patch(kinds.CONFIG_MAP, "it", {"data": {"others": "wrote"}})
        cluster.advance(HOUR)
        assert len(seen.passes) == 3


def test_the_event_of_an_own_write_that_is_read_after_the_pass_causes_no_pass() -> None:
    """The event arrived during the pass, and is handled after it."""
    seen = Seen()
    with Harness(Things(seen)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        (loop,) = cluster.manager.loops
        ref = ObjectRef(Thing.KIND, "it", "default")
        obj = loop.view.get(ref) or {}
        version = int(version_of(obj))
        for number in (version, version + 1):
            entry = encode(obj, "uid", number)
            loop.take(Change(ref, entry, entry, Source.WATCH))
            cluster.settle()
            assert len(seen.passes) == 1 + (number > version), (
                "only the change by the other writer counts"
            )


def test_objects_of_a_list_wait_behind_live_changes() -> None:
    """Q4: a list may have a thousand objects, all of them converged."""
    with Harness(Things(Seen())) as cluster:
        cluster.settle()
        (loop,) = cluster.manager.loops
        for name, source in (("a", Source.LIST), ("b", Source.LIST), ("c", Source.WATCH)):
            entry = encode({}, "uid", 1)
            loop.take(Change(ObjectRef(Thing.KIND, name, "default"), None, entry, source))
        queue = loop.pool.queue
        assert [queue.depth(Urgency.BACKGROUND), queue.depth(Urgency.LIVE)] == [2, 1]


def test_resync_is_spread() -> None:
    """Objects that converged at the same time get their resyncs at different times."""
    seen = Seen()
    with Harness(Things(seen, sync_period=timedelta(hours=1))) as cluster:
        for number in range(6):
            cluster.apply(thing(f"t{number}"))
        cluster.settle()
        seen.passes.clear()
        cluster.advance(timedelta(minutes=67))
        times = {round(at) for _, _, at in seen.passes}
        assert len(seen.passes) == 6
        assert len(times) > 3
        assert max(times) - min(times) <= 0.2 * 3600


def test_channel_with_debounce() -> None:
    """A burst of events is one pass, after the pause; an event for a missing object is ignored."""
    seen = Seen()
    calls = Channel("calls", debounce=timedelta(seconds=10))

    class Called(Things):
        """A controller with a channel."""

        channels = (calls,)

    with Harness(Called(seen)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        seen.passes.clear()
        for _ in range(5):
            calls.send("default/it")
            cluster.advance(timedelta(seconds=1))
        assert seen.passes == []
        cluster.advance(timedelta(seconds=6))
        assert seen.causes() == ["channel generic"]

        calls.send("default/nobody")
        calls.send(("default", "it"))
        cluster.settle()
        assert len(seen.passes) == 2

        cluster.restart()
        cluster.settle()
        seen.passes.clear()
        calls.send("default/it")
        cluster.settle()
        assert len(seen.passes) == 1, "a stopped process has no subscription"
    calls.send("default/it")  # sending after the end raises nothing


def things_of(obj: Json) -> Iterable[str]:
    """Return the Things that a Secret names."""
    return str((obj["metadata"].get("annotations") or {}).get("for", "")).split()


def test_watch_maps_objects_to_keys() -> None:
    """Predicates filter, both sides of a change count, and a function that raises is skipped."""
    seen = Seen()

    def to(obj: Json) -> Iterable[str]:
        if obj["metadata"]["name"] == "bad":
            raise ValueError("cannot be mapped")
        return things_of(obj)

    class Watching(Things):
        """Watches Secrets."""

        manages = (kinds.CONFIG_MAP,)
        watches = (Watch(kinds.SECRET, to=to, when=changed("data", "metadata.annotations")),)

    with Harness(Watching(seen)) as cluster:
        for name in ("a", "b"):
            cluster.apply(thing(name))
        cluster.apply(secret("bad", annotations={"for": "a b"}))
        cluster.apply(secret("s", annotations={"for": "a"}))
        cluster.settle()
        seen.passes.clear()

        cluster.patch(kinds.SECRET, "s", {"metadata": {"labels": {"x": "y"}}})
        cluster.settle()
        assert seen.passes == []

        cluster.patch(kinds.SECRET, "s", {"metadata": {"annotations": {"for": "b"}}})
        cluster.settle()
        assert sorted(name for name, _, _ in seen.passes) == ["a", "b"], (
            "the objects that it named before and after"
        )
        assert set(seen.causes()) == {"relative update of Secret default/s"}


def test_watch_asks_for_labels_and_namespaces() -> None:
    """Objects that it does not select cause no pass."""
    seen = Seen()

    class Watching(Things):
        """Watches some Secrets."""

        manages = (kinds.CONFIG_MAP,)
        watches = (
            Watch(
                kinds.SECRET,
                to=lambda obj: [("default", name) for name in things_of(obj)],
                selector="role=key",
                namespaces=("default",),
            ),
        )

    with Harness(Watching(seen)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        seen.passes.clear()
        aimed: dict[str, Any] = {"annotations": {"for": "it"}}
        cluster.apply(secret("without-label", **aimed))
        cluster.apply(secret("elsewhere", namespace="kube-system", labels={"role": "key"}, **aimed))
        cluster.settle()
        assert seen.passes == []

        cluster.apply(secret("key", labels={"role": "key"}, **aimed))
        cluster.settle()
        assert len(seen.passes) == 1


def by_value(obj: Json) -> list[str]:
    """Return the Secret that a Thing names."""
    return [obj["spec"]["value"]]


def looked_up(obj: Json, lookup: Lookup) -> Iterable[Json]:
    """Return the Things of size 1 that name a Secret."""
    return [it for it in lookup("secret", obj["metadata"]["name"]) if it["spec"]["size"] == 1]


@pytest.mark.parametrize(
    ("to", "woken"),
    [(Index("secret"), [["a", "b"], ["c"], []]), (looked_up, [["a"], [], ["a"]])],
    ids=["index", "lookup"],
)
def test_watch_finds_objects_by_their_index(to: Any, woken: list[list[str]]) -> None:
    """By name in the same namespace, by namespace and name in any, or by a function."""
    seen = Seen()

    class Watching(Things):
        """Watches the Secrets that its objects name."""

        manages = (kinds.CONFIG_MAP,)
        indexes = {Thing: {"secret": by_value}}  # noqa: RUF012
        watches = (Watch(kinds.SECRET, to=to),)

    with Harness(Watching(seen)) as cluster:
        for name, value, size in (("a", "s", 1), ("b", "s", 2), ("c", "kube-system/t", 2)):
            cluster.apply(thing(name, value=value, size=size))
        cluster.settle()
        found = []
        for name, namespace in (("s", "default"), ("t", "kube-system"), ("s", "kube-system")):
            seen.passes.clear()
            cluster.apply(secret(name, namespace=namespace))
            cluster.settle()
            found.append(sorted(name for name, _, _ in seen.passes))
        assert found == woken


def test_an_object_that_a_watch_names_is_created() -> None:
    """create_if_not_found: once for each related object, and not for its deletion."""

    class Made(Things):
        """Creates one Thing for each annotated Secret."""

        manages = (kinds.CONFIG_MAP,)
        watches = (Watch(kinds.SECRET, to=things_of),)
        options = ControllerOptions(create_if_not_found=True)

        def create(self, namespace: str, name: str) -> Thing:
            """Return the Thing that a Secret asked for."""
            return Thing(name=name, namespace=namespace, spec=ThingSpec(value="made"))

    with Harness(Made()) as cluster:
        cluster.apply(secret("s", annotations={"for": "it"}))
        cluster.settle()
        assert cluster.require(Thing, "it").spec.value == "made"
        assert cluster.ready(Thing, "it")
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None


def test_children_that_become_ready() -> None:
    """when_children_ready waits for all children, without one that is not wanted any more."""

    class Ready(Controller[WebApp]):
        """Waits for its Deployment."""

        manages = (kinds.DEPLOYMENT, kinds.CONFIG_MAP)
        children_ready = when_children_ready()

        @state(initial=True, then="children_ready")
        def deployed(self, app: WebApp, out: OutputSet) -> Result:
            """Its Deployment is ready."""
            out.apply(deployment(app))
            if app.spec.hosts:
                out.apply(config_map("extra"))
            return Done()

    with Harness(Ready()) as cluster:
        cluster.apply(web_app(hosts=["a"]))
        cluster.advance(timedelta(0))
        condition = cluster.condition(WebApp, "shop", "ChildrenReady")
        assert condition is not None
        assert condition.message == "waiting for Deployment.apps default/shop"
        cluster.settle()
        assert cluster.ready(WebApp, "shop")

        cluster.patch(WebApp, "shop", {"spec": {"hosts": [], "image": "shop:2"}})
        cluster.advance(timedelta(0))
        cluster.delete(kinds.CONFIG_MAP, "extra")
        cluster.settle()
        assert cluster.ready(WebApp, "shop")


class Wish(Resource[ThingSpec, ThingStatus], group="test.myrmidon.dev", version="v1"):
    """What a user claims."""


class GrantSpec(ThingSpec):
    """What is claimed, and the user who claims it."""

    claim_ref: dict[str, Any] = Field(default_factory=dict)


class Grant(
    Resource[GrantSpec, ThingStatus], group="test.myrmidon.dev", version="v1", namespaced=False
):
    """What a user gets."""


class Wishes(ClaimController[Wish, Grant]):
    """A Grant for every Wish."""


class Grants(Controller[Grant]):
    """Provides what was claimed."""

    @state(initial=True)
    def granted(self, grant: Grant, _out: OutputSet) -> Result:
        """It is provided after a while."""
        return Done() if grant.labels.get("go") else Wait("Working", after=HOUR)


def test_a_claim_gets_its_object_and_is_deleted_after_it() -> None:
    """ClaimController: a claim has one object, is ready with it, and is deleted after it."""
    with Harness(Wishes(), Grants()) as cluster:
        cluster.apply(Wish(name="w", spec=ThingSpec(value="x")))
        cluster.advance(timedelta(seconds=5))
        (grant,) = cluster.list(Grant.KIND)
        name = grant["metadata"]["name"]
        assert grant["spec"]["value"] == "x"
        assert grant["spec"]["claimRef"]["name"] == "w"
        assert not cluster.ready(Wish, "w")

        cluster.patch(Grant, name, {"metadata": {"labels": {"go": "yes"}}})
        cluster.settle()
        assert cluster.ready(Wish, "w")
        assert cluster.writes_during(HOUR) == []

        cluster.patch(Grant, name, {"metadata": {"finalizers": ["other.dev/slow"]}})
        cluster.delete(Wish, "w")
        cluster.advance(timedelta(minutes=1))
        assert cluster.get(Wish, "w") is not None
        cluster.patch(Grant, name, {"metadata": {"finalizers": None}})
        cluster.settle()
        assert cluster.get(Wish, "w") is None
        assert cluster.list(Grant) == []


def test_keys_in_other_namespaces_are_ignored() -> None:
    """A cluster-scoped child, a channel or a watch may name one; the process must not fail."""
    calls = Channel("calls")
    seen = Seen()

    class Called(Things):
        """A controller with a channel that sends keys of all namespaces."""

        channels = (calls,)

    marks = {
        "labels": {"myrmidon.dev/parent-uid": "1234"},
        "annotations": {"myrmidon.dev/parent": "things.test.myrmidon.dev/kube-system/it"},
    }
    role = cluster_role("wide")
    role["metadata"].update(marks)
    options = ManagerOptions(seed=0, namespaces=("default",))
    with Harness(Called(seen), options=options) as cluster:
        cluster.apply(role)
        cluster.apply(thing())
        cluster.settle()
        calls.send("kube-system/it")
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert [name for name, _, _ in seen.passes] == ["it"]
