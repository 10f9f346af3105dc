"""OwnWrites: responses are visible at once, their watch events recognised, lost ones read live."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import version_of
from myrmidon.api.objects.kinds import CONFIG_MAP, SECRET
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.io.client import Client
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.changes import Change, Source, encode
from myrmidon.io.watch.subscriptions import Subscription
from myrmidon.io.writes import own_writes
from myrmidon.io.writes.own_writes import OwnWrites, author
from tests.io.fakes import ModelTransport, until
from tests.io.model_server import ModelServer, config_map
from tests.io.watch.cached_server import CachedServer, play

THING = Kind("example.dev", "v1", "Thing", "things")
BETA = Kind("", "v1beta1", "ConfigMap", "configmaps")  # another version of CONFIG_MAP
REF, OTHER = (ObjectRef(CONFIG_MAP, name, "ns") for name in "ab")

KEY_A, KEY_B = (ObjectRef(THING, name, "ns") for name in "ab")
MAP, PASSWORD = (ObjectRef(kind, "x", "ns") for kind in (CONFIG_MAP, SECRET))


def writes_without_caches() -> OwnWrites[str]:
    """Return the own writes of a controller for which nothing is cached."""
    return OwnWrites("thing", Caches(Client(ModelTransport(ModelServer()))))


def wrote(writes: OwnWrites[Any], key: ObjectRef, ref: ObjectRef, version: str) -> None:
    """Record that a pass over the key has written an object."""
    writes.expect(author("thing", key), ref, version)


def change(ref: ObjectRef, version: str, by: str = "") -> Change:
    """Build a change of an object; a deletion if it has no version."""
    entry = encode({}, "u", int(version)) if version else None
    return Change(ref, encode({}, "u", 0), entry, Source.WRITE if by else Source.WATCH, by)


# ------------------------------------------------------------------------------ answers


def test_every_subscriber_hears_of_own_writes_once() -> None:
    """K3: the write itself is published, since its watch event changes nothing."""

    async def check(it: CachedServer) -> None:
        view = it.caches.view(CONFIG_MAP)
        first, second = Subscription(), Subscription()
        view.subscribe(first)
        await view.wait_synced()
        view.subscribe(second)
        assert [len(first), len(second)] == [1, 1], "both get the objects that exist"
        it.writes.record_write(CONFIG_MAP, it.server.write("b"), by="me")
        it.transport.deliver()
        it.server.write("c")
        it.transport.deliver()
        heard = [[await anext(each) for _ in range(3)] for each in (first, second)]
        for changes in heard:
            assert [(c.ref.name, c.source, c.by) for c in changes] == [
                ("a", "list", ""),
                ("b", "write", "me"),
                ("c", "watch", ""),
            ]
        it.writes.record_delete(REF, uid=it.server.objects["a"]["metadata"]["uid"])
        assert (await anext(first)).type == "deleted"
        assert view.get("a", "ns") is None

    play(check)


def test_an_own_write_is_shown_only_where_the_object_can_be() -> None:
    """K3: not in a cache of another namespace, another group or another version of the kind."""
    namesake = Kind("other.dev", "v1", "ConfigMap", "configmaps")

    async def check(it: CachedServer) -> None:
        view = it.caches.view(CONFIG_MAP, namespaces=["ns"])
        others = [
            it.caches.view(CONFIG_MAP, namespaces=["other"]),
            it.caches.view(BETA, namespaces=["ns"]),
            it.caches.view(namesake),
        ]
        await it.caches.wait_synced()
        sizes = [len(each) for each in others]
        it.writes.record_write(CONFIG_MAP, it.server.write("b"))
        assert view.get("b", "ns") is not None
        assert [len(each) for each in others] == sizes

    play(check)


# --------------------------------------------------------------------- unknown outcomes


def test_an_unknown_outcome_stays_unknown_until_a_response_is_recorded() -> None:
    """A9, F09: neither outcome is assumed, and no watch event tells which it was."""

    async def check(it: CachedServer) -> None:
        writes, view = it.writes, it.caches.view(CONFIG_MAP)
        await it.caches.wait_synced()
        writes.mark_unknown(REF)
        version = version_of(it.server.write("a"))
        it.transport.deliver()
        await until(lambda: version_of(view.get("a", "ns") or {}) == version)
        assert writes.is_unknown(REF)
        assert not writes.is_unknown(OTHER)
        writes.record_write(CONFIG_MAP, config_map("a", "a-11", 11))
        assert not writes.is_unknown(REF)
        writes.mark_unknown(REF)
        writes.record_delete(REF, uid="a-11")
        assert not writes.is_unknown(REF)
        for answer in (config_map("a", "a-12", 12), None):
            writes.mark_unknown(REF)
            writes.record_read(REF, answer, uid=None)
            assert not writes.is_unknown(REF)

    play(check)


def test_a_live_read_that_finds_nothing_removes_only_the_object_of_that_uid() -> None:
    """K3: an object that was created again while the read was under way stays in the cache."""

    async def check(it: CachedServer) -> None:
        view = it.caches.view(CONFIG_MAP)
        await it.caches.wait_synced()
        uid = it.server.objects["a"]["metadata"]["uid"]
        for cached_before, remains in ((None, True), ("another", True), (uid, False)):
            it.writes.record_read(REF, None, uid=cached_before)
            assert (view.get("a", "ns") is not None) == remains

    play(check)


def test_an_outcome_is_unknown_in_every_version_of_the_kind() -> None:
    """A9: the response in one version cannot be stored in another; a live read settles both."""
    same = ObjectRef(BETA, "a", "ns")

    async def check(it: CachedServer) -> None:
        writes = it.writes
        it.caches.view(CONFIG_MAP)
        it.caches.view(BETA)
        await it.caches.wait_synced()
        writes.mark_unknown(REF)
        assert writes.is_unknown(same)
        writes.record_write(CONFIG_MAP, config_map("a", "a-11", 11))
        assert [writes.is_unknown(ref) for ref in (REF, same)] == [False, True]
        writes.record_read(REF, config_map("a", "a-11", 11), uid=None)
        assert not writes.is_unknown(same)

    play(check)


def test_an_unknown_outcome_is_known_to_every_controller() -> None:
    """A9: another controller may decide about the same object next."""

    async def check(it: CachedServer) -> None:
        it.caches.view(CONFIG_MAP)
        await it.caches.wait_synced()
        it.writes.mark_unknown(REF)
        assert OwnWrites[Any]("other", it.caches).is_unknown(REF)

    play(check)


def test_an_object_that_is_not_cached_is_never_marked() -> None:
    """A mark is removed by a read of the object; without a reader it would stay for ever."""
    writes = writes_without_caches()
    writes.mark_unknown(REF)
    assert not writes.is_unknown(REF)


# ------------------------------------------------------------------------------- echoes


@given(
    written=st.sets(
        st.tuples(
            st.sampled_from([KEY_A, KEY_B]),
            st.sampled_from([MAP, PASSWORD]),
            st.sampled_from("123"),
        )
    ),
    event=st.tuples(
        st.sampled_from([KEY_A, KEY_B]), st.sampled_from([MAP, PASSWORD]), st.sampled_from("123")
    ),
)
def test_c7_an_own_event_has_the_object_and_the_version_of_a_write_by_its_key(
    written: set[tuple[ObjectRef, ObjectRef, str]], event: tuple[ObjectRef, ObjectRef, str]
) -> None:
    """Another version, another object or a pass over another key: a change by another client."""
    writes = writes_without_caches()
    for key, ref, version in written:
        wrote(writes, key, ref, version)

    key, ref, version = event
    assert writes.is_own(key, change(ref, version)) == (event in written)


@given(
    key=st.sampled_from([KEY_A, KEY_B]),
    writer=st.sampled_from([None, KEY_A, KEY_B]),
    version=st.sampled_from(["", "7"]),
)
def test_c7_a_recorded_change_is_recognised_by_its_author(
    key: ObjectRef, writer: ObjectRef | None, version: str
) -> None:
    """A deletion has no version: only the recorded author identifies it."""
    by = author("thing", writer) if writer else ""

    assert writes_without_caches().is_own(key, change(MAP, version, by)) == (key == writer)


def test_a_live_read_expects_no_watch_event() -> None:
    """It returns what others wrote, so it must not hide their events."""
    writes = writes_without_caches()
    writes.record_read(REF, config_map("a", "u", 1), uid=None)

    assert not writes._written


def test_held_events_are_released_once_and_without_own_writes() -> None:
    """At the end of the pass all its responses are known, also those after the event."""
    writes = writes_without_caches()
    writes.hold(KEY_A, change(MAP, "5"), "own")
    writes.hold(KEY_A, change(PASSWORD, "6"), "foreign")
    writes.hold(KEY_B, change(PASSWORD, "7"), "other key")
    writes.record_write(CONFIG_MAP, config_map("x", "u", 5), by=author("thing", KEY_A))

    assert writes.released(KEY_A) == ["foreign"]
    assert writes.released(KEY_A) == []
    assert writes.released(KEY_B) == ["other key"]


def test_a_new_pass_forgets_the_writes_of_the_previous_one() -> None:
    """Those of other keys are still expected."""
    writes = writes_without_caches()
    wrote(writes, KEY_A, MAP, "1")
    wrote(writes, KEY_B, MAP, "1")
    writes.begin_pass(KEY_A)

    assert not writes.is_own(KEY_A, change(MAP, "1"))
    assert writes.is_own(KEY_B, change(MAP, "1"))


def test_expected_events_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest is then taken for a change by another client, which costs only a pass."""
    monkeypatch.setattr(own_writes, "_AUTHORS_MAX", 2)
    writes = writes_without_caches()
    keys = [ObjectRef(THING, str(number), "ns") for number in range(4)]
    for key in keys:
        wrote(writes, key, MAP, "1")

    assert len(writes._written) == 2
    assert [writes.is_own(key, change(MAP, "1")) for key in keys] == [False, False, True, True]
