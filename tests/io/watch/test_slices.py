"""Caches of several replicas that share the objects of a cluster, with and without the server's help."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json, metadata
from myrmidon.api.objects.kinds import CONFIG_MAP, SECRET
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.shard_selectors import HASH_END, ShardField
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.server import ApiServer
from myrmidon.io.client import Client
from myrmidon.io.lists.answers import read_event
from myrmidon.io.lists.slices import ShardRole, Slices, part_of, slices_of
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.changes import encode
from myrmidon.io.watch.reflector import Reflector
from myrmidon.io.watch.subscriptions import Subscription
from myrmidon.testing.harness.clock import run

GATE = "ShardedListAndWatch"
ROLES: dict[Kind, ShardRole] = {CONFIG_MAP: "own", SECRET: "child"}
THIRDS = [(number * HASH_END // 3, (number + 1) * HASH_END // 3) for number in range(3)]
CLOCK = LoopClock()
SPACES = ["storefront", "search", "marketing", "warehouse", "payments", "billing"]


class SpreadUids(CountingEnvironment):
    """Uids whose hashes are spread, as those of a real server are."""

    def uid(self) -> str:
        """Return a UUID made from the number of the uid."""
        return str(uuid5(NAMESPACE_OID, super().uid()))


class CountingTransport(LocalTransport):
    """Counts the bytes that are received, and records the requests."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(server)
        self.received = 0
        self.requests: list[HttpRequest] = []

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send a request, and count its answer."""
        self.requests.append(request)
        answer = await super().send(request, deadline=deadline)
        self.received += len(answer.body)
        return answer

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        """Open a stream, and count its lines."""
        self.requests.append(request)
        async with super().stream(request) as stream:
            inner = stream.lines

            async def lines() -> AsyncIterator[bytes]:
                async for line in inner():
                    self.received += len(line)
                    yield line

            stream.lines = lines  # type: ignore[method-assign]
            yield stream

    def lists(self) -> int:
        """Return how many lists were begun."""
        asked = [dict(request.query) for request in self.requests]
        return sum("watch" not in one or "sendInitialEvents" in one for one in asked)


class Replica:
    """One process: its caches, and the objects as its subscribers have been told of them."""

    def __init__(self, server: ApiServer, slices: Slices | None, *, streaming: bool = True) -> None:
        self.transport = CountingTransport(server)
        client = Client(self.transport)
        self.caches = Caches(
            client, clock=LoopClock(), rng=random.Random(0), streaming=streaming, page_size=7
        )
        self.caches.set_slices(slices)
        self.views = {kind: self.caches.view(kind, role=role) for kind, role in ROLES.items()}
        self.told: dict[ObjectRef, str] = {}
        self.slices = slices

    def set_slices(self, slices: Slices | None) -> None:
        """Give it other slices."""
        self.slices = slices
        self.caches.set_slices(slices)

    async def listen(self) -> None:
        """Follow the changes; each object moves forward only (K2)."""
        changes = Subscription()
        for view in self.views.values():
            view.subscribe(changes)
        async for change in changes:
            if change.new is None:
                self.told.pop(change.ref, None)
            else:
                assert int(self.told.get(change.ref, "0")) < int(change.version), change
                self.told[change.ref] = change.version

    def wanted(self, server: ApiServer) -> dict[ObjectRef, str]:
        """Return what it should hold: the objects of its slices, with their versions."""
        found: dict[ObjectRef, str] = {}
        for kind, role in ROLES.items():
            part = part_of(self.slices, role, namespaced=kind.namespaced)
            for obj in objects(server, kind):
                if part is None or part.admits(obj):
                    meta = metadata(obj)
                    ref = ObjectRef(kind, meta["name"], meta["namespace"])
                    found[ref] = meta["resourceVersion"]
        return found

    def held(self) -> dict[ObjectRef, str]:
        """Return what it holds."""
        return {
            ObjectRef(kind, metadata(obj)["name"], metadata(obj)["namespace"]): metadata(obj)[
                "resourceVersion"
            ]
            for kind, view in self.views.items()
            for obj in view.list()
        }


def ask(server: ApiServer, method: str, path: str, body: Json | None = None) -> Any:
    """Send a request that must succeed."""
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    text = b"" if body is None else orjson.dumps(body)
    answer = server.answer(HttpRequest(method, path, (), {"content-type": media}, text))
    server.settle()
    assert isinstance(answer, HttpResponse)
    assert answer.status < 300, answer
    return orjson.loads(answer.body)


def objects(server: ApiServer, kind: Kind) -> list[Json]:
    """Return all objects of a kind."""
    found: list[Json] = ask(server, "GET", f"/api/v1/{kind.plural}")["items"]
    return found


def create(server: ApiServer, kind: Kind, name: str, space: str, owner: Json | None = None) -> Json:
    """Create an object, with the owner as its controller."""
    meta: dict[str, Any] = {"name": name}
    if owner is not None:
        meta["ownerReferences"] = [reference(owner)]
    path = f"/api/v1/namespaces/{space}/{kind.plural}"
    made: Json = ask(server, "POST", path, {"metadata": meta})
    return made


def reference(owner: Json) -> Json:
    """Return a controller reference."""
    meta = owner["metadata"]
    names = {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"]}
    return {**names, "controller": True}


def filled(*gates: str, parents: int = 60) -> ApiServer:
    """Return a server with parents in six namespaces, each with two children."""
    server = ApiServer(environment=SpreadUids(), feature_gates=gates)
    for space in SPACES:
        ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": space}})
    for number in range(parents):
        space = SPACES[number % len(SPACES)]
        parent = create(server, CONFIG_MAP, f"parent-{number}", space)
        for child in range(2):
            create(server, SECRET, f"child-{number}-{child}", space, parent)
    return server


def play(replicas: list[Replica], check: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a check beside the caches and subscribers, in virtual time."""

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(each)
                for one in replicas
                for each in (one.caches.run(), one.listen())
            ]
            await check()
            for task in tasks:
                task.cancel()

    run(main())


async def at_rest() -> None:
    """Let all streams deliver what they have."""
    await CLOCK.sleep(5)


@pytest.mark.parametrize("gates", [(), (GATE,)], ids=["client", "server"])
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "pages"])
@pytest.mark.parametrize("field", ["uid", "namespace"])
def test_replicas_hold_disjoint_parts_with_all_children(
    gates: tuple[str, ...], field: ShardField, streaming: bool
) -> None:
    """Each replica has its part and the children of it, whether the server helps or not."""
    server = filled(*gates)
    replicas = [Replica(server, slices_of(field, [third]), streaming=streaming) for third in THIRDS]

    async def check() -> None:
        for replica in replicas:
            await replica.caches.wait_slices()
            await at_rest()
            assert replica.held() == replica.wanted(server) == replica.told
        assert sum(len(replica.held()) for replica in replicas) == 180
        for replica in replicas:
            uids = {metadata(obj)["uid"] for obj in replica.views[CONFIG_MAP].list()}
            owners = [metadata(obj)["ownerReferences"][0] for obj in replica.views[SECRET].list()]
            assert {owner["uid"] for owner in owners} == uids

    play(replicas, check)


def test_the_server_sends_only_the_slices_of_a_replica() -> None:
    """With the feature gate, bytes fall with the number of replicas; without it, they do not."""
    ratios = {}
    for gates in ((), (GATE,)):
        server = filled(*gates, parents=300)
        whole = Replica(server, None)
        thirds = [Replica(server, slices_of("uid", [third])) for third in THIRDS]
        for replica in [whole, *thirds]:
            replica.views.pop(SECRET).close()  # the server cannot select by the uid of a parent

        async def check(replicas: list[Replica]) -> None:
            for replica in replicas:
                await replica.caches.wait_slices()

        everyone = [whole, *thirds]
        play(everyone, lambda everyone=everyone: check(everyone))  # type: ignore[misc]
        ratios[gates] = max(one.transport.received for one in thirds) / whole.transport.received
    assert ratios[GATE,] < 0.4
    assert ratios[()] == 1.0


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["parent", "child", "change", "delete", "adopt", "slices", "rest", "compact"]
        ),
        st.integers(0, 10_000),
    ),
    max_size=25,
)


class Story:
    """Random writes on a server, and random slices for a replica."""

    def __init__(self, field: ShardField, gates: tuple[str, ...], *, streaming: bool) -> None:
        self.server = filled(*gates, parents=6)
        self.field = field
        self.replica = Replica(self.server, slices_of(field, [THIRDS[0]]), streaming=streaming)

    def any_object(self, kind: Kind, number: int) -> Json | None:
        """Return one of the objects of a kind."""
        found = objects(self.server, kind)
        return found[number % len(found)] if found else None

    async def act(self, action: str, number: int) -> None:
        """Do one thing."""
        if action == "rest":
            await CLOCK.sleep(number % 3)
        elif action == "compact":
            self.server.store.compact(self.server.store.revision)
        elif action == "slices":
            self.divide(number)
        else:
            self.write(action, number)

    def divide(self, number: int) -> None:
        """Give the replica other slices: none, some or all."""
        ranges = [THIRDS[(number // 3 + each) % 3] for each in range(number % 3)]
        self.replica.set_slices(None if number % 11 == 0 else slices_of(self.field, ranges))

    def write(self, action: str, number: int) -> None:
        """Create, change, adopt or delete an object."""
        server, revision = self.server, self.server.store.revision
        parent, child = (self.any_object(kind, number) for kind in (CONFIG_MAP, SECRET))
        kind, obj = (SECRET, child) if number % 2 else (CONFIG_MAP, parent)
        match action:
            case "parent":
                create(server, CONFIG_MAP, f"new-{revision}", SPACES[number % len(SPACES)])
            case "child" if parent:
                create(server, SECRET, f"new-{revision}", parent["metadata"]["namespace"], parent)
            case "change" if obj:
                self.patch(kind, obj, {"metadata": {"annotations": {"at": str(revision)}}})
            case "delete" if obj:
                ask(server, "DELETE", self.path(kind, obj))
            case "adopt" if parent and child:
                owners = [reference(parent)] if number % 3 else None
                self.patch(SECRET, child, {"metadata": {"ownerReferences": owners}})

    def path(self, kind: Kind, obj: Json) -> str:
        """Return the path of an object."""
        meta = obj["metadata"]
        return f"/api/v1/namespaces/{meta['namespace']}/{kind.plural}/{meta['name']}"

    def patch(self, kind: Kind, obj: Json, patch: Json) -> None:
        """Change an object."""
        ask(self.server, "PATCH", self.path(kind, obj), patch)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(
    actions=ACTIONS,
    field=st.sampled_from(["uid", "namespace"]),
    gates=st.sampled_from([(), (GATE,)]),
    streaming=st.booleans(),
)
def test_no_event_is_lost_while_slices_change(
    actions: list[tuple[str, int]], field: ShardField, gates: tuple[str, ...], streaming: bool
) -> None:
    """K2: whatever is written meanwhile, cache and subscribers end with the objects of the last slices."""
    story = Story(field, gates, streaming=streaming)

    async def check() -> None:
        for action, number in actions:
            await story.act(action, number)
        await story.replica.caches.wait_slices()
        assert len(story.replica.held()) <= len(story.replica.wanted(story.server)) + len(actions)
        await CLOCK.sleep(400)  # a watch that broke is open again
        wanted = story.replica.wanted(story.server)
        assert story.replica.held() == wanted
        assert story.replica.told == wanted

    play([story.replica], check)


def test_fewer_slices_need_no_list() -> None:
    """A replica that gives slices away removes their objects, and goes on with its watch."""
    server = filled(GATE)
    replica = Replica(server, slices_of("namespace", THIRDS[:2]))

    async def check() -> None:
        await replica.caches.wait_slices()
        before = len(replica.held())
        replica.set_slices(slices_of("namespace", [THIRDS[0]]))
        await replica.caches.wait_slices()
        assert len(replica.held()) < before
        assert replica.held() == replica.wanted(server)
        assert replica.transport.lists() == 2  # the first of each kind
        assert "0x5555" in dict(replica.transport.requests[-1].query)["shardSelector"]
        replica.set_slices(slices_of("namespace", [THIRDS[0], THIRDS[2]]))
        await replica.caches.wait_slices()
        assert replica.held() == replica.wanted(server)
        assert replica.transport.lists() == 4

    play([replica], check)


@pytest.mark.parametrize("turns", range(12))
def test_slices_that_change_while_they_change_are_followed(
    turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the caches are doing when they are told: between two steps they hear of it as well."""
    take_in = Reflector._take_in

    async def slowly(self: Reflector, steps: Any) -> None:
        for _ in range(5):
            await asyncio.sleep(0)  # noqa: TID251 - a turn of the loop
        await take_in(self, steps)

    monkeypatch.setattr(Reflector, "_take_in", slowly)
    server = filled()
    replica = Replica(server, slices_of("uid", THIRDS[:2]))

    async def check() -> None:
        await replica.caches.wait_slices()
        for ranges in (THIRDS[:1], THIRDS[:2], THIRDS[1:], THIRDS):
            replica.set_slices(slices_of("uid", ranges))
            for _ in range(turns):
                await asyncio.sleep(0)  # noqa: TID251 - a turn of the loop
        async with asyncio.timeout(60):
            await replica.caches.wait_slices()
        assert replica.held() == replica.wanted(server)

    play([replica], check)


def test_a_replica_without_slices_asks_for_nothing() -> None:
    """It is in sync and fresh; its caches are empty, and other readers of the kind see everything."""
    server = filled()
    replica = Replica(server, slices_of("uid", []))

    async def check() -> None:
        await replica.caches.wait_synced()
        await at_rest()
        assert replica.transport.requests == []
        assert {health.staleness_seconds for health in replica.caches.health()} == {0.0}
        replica.set_slices(slices_of("uid", THIRDS[:1]))
        await replica.caches.wait_slices()
        assert replica.held() == replica.wanted(server) != {}
        replica.set_slices(slices_of("uid", []))
        await replica.caches.wait_slices()
        assert replica.held() == {}
        everything = replica.caches.view(CONFIG_MAP)
        await replica.caches.wait_slices()
        assert len(everything.list()) == 60
        everything.close()
        await replica.caches.wait_slices()
        assert replica.held() == {}

    play([replica], check)


def test_a_kind_that_one_reader_needs_whole_is_kept_whole() -> None:
    """K1: there is still one list and watch per scope."""
    server = filled()
    replica = Replica(server, slices_of("uid", THIRDS[:1]))
    everything = replica.caches.view(SECRET)

    async def check() -> None:
        await replica.caches.wait_slices()
        assert len(everything.list()) == 120
        assert not everything.may_lack("search")
        assert replica.views[CONFIG_MAP].may_lack("search")
        assert replica.transport.lists() == 2

    play([replica], check)


def test_own_writes_of_a_slice_are_visible_at_once() -> None:
    """K3: the answer to a write is shown if the object is in a slice of ours, and not otherwise."""
    server = filled()
    replica = Replica(server, slices_of("namespace", THIRDS[:1]))

    async def check() -> None:
        await replica.caches.wait_slices()
        for space in SPACES:
            made = create(server, SECRET, "written", space)
            for shared in replica.caches.holding(ObjectRef(SECRET, "written", space)):
                shared.publish(shared.cache.record_write(made))
            is_ours = not replica.views[SECRET].may_lack(space)
            assert (replica.views[SECRET].get("written", space) is not None) is is_ours
        assert {replica.views[SECRET].may_lack(space) for space in SPACES} == {True, False}
        await at_rest()
        assert replica.held() == replica.wanted(server) == replica.told

    play([replica], check)


def test_a_child_that_gets_a_parent_of_another_replica_leaves() -> None:
    """Its new version names nobody of ours, but it is cached, so the event must not be dropped."""
    server = filled()
    replica = Replica(server, slices_of("uid", THIRDS[:1]))

    async def check() -> None:
        await replica.caches.wait_slices()
        ours = {metadata(obj)["uid"] for obj in replica.views[CONFIG_MAP].list()}
        others = [obj for obj in objects(server, CONFIG_MAP) if metadata(obj)["uid"] not in ours]
        for child in replica.views[SECRET].list():
            space, name = metadata(child)["namespace"], metadata(child)["name"]
            owners = {"metadata": {"ownerReferences": [reference(others[0])]}}
            ask(server, "PATCH", f"/api/v1/namespaces/{space}/secrets/{name}", owners)
        await at_rest()
        assert replica.views[SECRET].list() == []
        assert replica.held() == replica.wanted(server) == replica.told

    play([replica], check)


@pytest.mark.parametrize("plain", [True, False])
def test_an_event_of_a_cached_child_is_never_dropped(plain: bool) -> None:
    """Only events of objects that are not cached are dropped undecoded, and only if their name is known."""
    cache = Cache(SECRET)
    cache.part = part_of(slices_of("uid", [(0, 1)]), "child", namespaced=True)
    owners = '"ownerReferences":[{"uid":"theirs","controller":true}]'
    meta = (
        '"name":"%s","namespace":"n","uid":"x",{0}'
        if plain
        else '"name":"%s",{0},"namespace":"n","uid":"x"'
    ).replace("{0}", owners)
    head = '{"type":"MODIFIED","object":{"kind":"Secret","apiVersion":"v1","metadata":{'
    cached, other = ((head + meta % name + "}}}").encode() for name in ("cached", "other"))
    cache.replace(("n", "cached"), None, encode({"metadata": {}}, "x", 1))
    assert not cache.is_foreign(cached)
    assert cache.is_foreign(other) is plain


def test_slices_that_change_while_the_server_fails_do_not_shorten_the_backoff() -> None:
    """A rebalance during an outage causes no storm of requests."""
    server = filled()
    replica = Replica(server, slices_of("uid", THIRDS[:1]))
    refuse = HttpResponse(429, (("retry-after", "30"),))

    class Refusing:
        status, headers = refuse.status, refuse.headers

        async def read(self) -> bytes:
            return b""

    @asynccontextmanager
    async def stream(request: HttpRequest) -> AsyncIterator[Any]:
        replica.transport.requests.append(request)
        yield Refusing()

    replica.transport.stream = stream  # type: ignore[method-assign]

    async def check() -> None:
        await CLOCK.sleep(1)
        before = len(replica.transport.requests)
        for number in range(20):
            replica.set_slices(slices_of("uid", [THIRDS[number % 3]]))
            await CLOCK.sleep(1)
        assert len(replica.transport.requests) <= before + 2

    play([replica], check)


def test_objects_of_other_replicas_are_dropped_before_they_are_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Events of objects that are not ours cost a search in their bytes, no more."""
    decoded: list[bytes] = []
    real = read_event

    def counting(line: bytes) -> Any:
        decoded.append(line)
        return real(line)

    monkeypatch.setattr("myrmidon.io.watch.reflector.read_event", counting)
    server = filled()
    replica = Replica(server, slices_of("namespace", THIRDS[:1]))

    async def check() -> None:
        await replica.caches.wait_slices()
        foreign = [line for line in decoded if b'"type":"ADDED"' in line]
        assert len(foreign) == len(replica.held())

    play([replica], check)
