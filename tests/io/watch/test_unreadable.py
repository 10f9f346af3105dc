"""Unreadable objects in a cache: K7 (kept, reported once) and K2 (versions still count)."""

import logging
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.kinds import CONFIG_MAP
from myrmidon.errors import AmbiguousError, UnreadableObjectError
from myrmidon.io.client import Client
from myrmidon.io.lists.events import Listing, WatchEvent
from myrmidon.io.lists.scope import Scope
from myrmidon.io.lists.shapes import Unreadable, problem_in, stub_of
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.changes import (
    OPAQUE,
    decode,
    encode,
    encode_unreadable,
    is_same,
    parse_version,
    problem_of,
    uid_in,
    unversioned,
    version_in,
)
from myrmidon.io.watch.indexes import by_owner
from myrmidon.testing.harness.clock import run
from tests.io.fakes import ScriptedTransport, answer
from tests.io.model_server import config_map
from tests.io.watch.poison import good, list_of, meta, nested, with_spec

UIDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
VERSIONS = st.just(OPAQUE) | st.integers(0, 2**200)


def cache_of(*objects: Any, **options: Any) -> Cache:
    """Return a cache whose first list had these objects."""
    cache = Cache(CONFIG_MAP, **options)
    cache.load(Listing(list(objects), "100", begins=True, completes=True))
    return cache


def odd(version: int, name: str = "odd", **fields: Any) -> dict[str, Any]:
    """Build an object whose labels are a list."""
    return {"metadata": meta(name, resourceVersion=str(version), labels=["a"], **fields)}


@given(uid=UIDS, version=VERSIONS, unreadable=st.booleans())
def test_an_entry_keeps_uid_and_version(uid: str, version: int, unreadable: bool) -> None:
    """At any size, and with any other content."""
    obj = {"metadata": {"name": "a"}, "data": {"k": "v"}}
    entry = encode_unreadable("why", uid, version) if unreadable else encode(obj, uid, version)
    assert (uid_in(entry), version_in(entry)) == (uid, version)
    assert problem_of(entry) == ("why" if unreadable else "")
    assert version_in(unversioned(entry)) == 0
    assert uid_in(unversioned(entry)) == uid
    assert is_same(entry, unversioned(entry))
    if not unreadable:
        assert decode(CONFIG_MAP, entry) == {**obj, "apiVersion": "v1", "kind": "ConfigMap"}


def test_entries_differ_by_uid_content_and_readability() -> None:
    """A change between them must be noticed."""
    obj = {"metadata": {"name": "a"}}
    entries = [
        encode(obj, "u", 5),
        encode(obj, "uu", 5),
        encode({"metadata": {"name": "b"}}, "u", 5),
        encode_unreadable(orjson.dumps(obj).decode(), "u", 5),
    ]
    same = [[is_same(one, other) for other in entries] for one in entries]
    assert same == [[one == other for other in range(4)] for one in range(4)]


@pytest.mark.parametrize("levels", [200, 254, 255, 300, 800])
def test_a_deep_object_is_read_as_it_is(levels: int) -> None:
    """The decoder reads 1024 levels, the encoder writes 254."""
    deep = orjson.loads(with_spec(nested(levels)))
    cache = cache_of(deep)
    assert cache.get("odd", "ns") == {**deep, "apiVersion": "v1", "kind": "ConfigMap"}
    assert cache.unreadable == 0


def test_an_unreadable_object_is_neither_absent_nor_listed() -> None:
    """A read raises with the problem and a fix; lists and indexes leave it out, the others stay."""
    cache = cache_of(config_map("a", "u", 5), odd(6), indexes={"owner": by_owner})
    with pytest.raises(
        UnreadableObjectError, match=r"ConfigMap ns/odd cannot be read: metadata\.labels"
    ):
        cache.get("odd", "ns")
    assert [obj["metadata"]["name"] for obj in cache.list()] == ["a"]
    assert cache.unreadable == 1
    assert cache.stamp("odd", "ns") != 0
    cache.add_index("all", lambda _obj: ["all"])
    assert [ref.name for ref in cache.refs("all", "all")] == ["a"]


def test_it_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    """Not with each list, and not with each event that does not change it."""
    with caplog.at_level(logging.WARNING):
        cache = cache_of(odd(6), {"metadata": {}}, None, 7)
        for version in (6, 7, 8):
            cache.load(Listing([odd(version), None, 8], "200", begins=True, completes=True))
            cache.apply(WatchEvent("MODIFIED", odd(version)))
    reported = [record.getMessage() for record in caplog.records]
    assert reported == [
        "an object cannot be read",
        "an object without a name cannot be read and is skipped",
        "an object without a name cannot be read and is skipped",
    ]


def test_reports_about_objects_without_a_name_are_bounded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each could have another problem, and a server can send any number of them."""
    items = [Unreadable({"metadata": {}}, f"not valid JSON at byte {n}") for n in range(1000)]
    with caplog.at_level(logging.WARNING):
        cache_of(*items)
    assert len(caplog.records) == 20


def test_it_recovers_with_the_next_version_that_can_be_read() -> None:
    """Each step is a change, so that its readers get a pass; the change has no content."""
    cache = cache_of(config_map("odd", "odd-uid", 5))
    broken = cache.apply(WatchEvent("MODIFIED", odd(6)))
    healed = cache.apply(WatchEvent("MODIFIED", config_map("odd", "odd-uid", 7)))
    gone = cache.apply(WatchEvent("DELETED", odd(8)))
    assert broken is not None
    assert healed is not None
    assert gone is not None
    assert [change.type for change in (broken, healed, gone)] == ["modified", "modified", "deleted"]
    assert broken.before is not None
    assert (broken.after, healed.before) == (None, None)
    assert healed.after is not None
    assert len(cache) == cache.unreadable == 0


def test_versions_count_for_it_as_well() -> None:
    """K2: an older readable version does not replace it, and a list removes it if it lacks it."""
    cache = cache_of(odd(6))
    assert cache.apply(WatchEvent("MODIFIED", config_map("odd", "odd-uid", 5))) is None
    with pytest.raises(UnreadableObjectError):
        cache.get("odd", "ns")
    cache.load(Listing([], "200", begins=True, completes=True))
    assert cache.get("odd", "ns") is None
    assert cache.unreadable == 0


def test_a_list_with_an_unreadable_object_removes_no_other() -> None:
    """Whether or not the unreadable item has a name."""
    cache = cache_of(config_map("a", "u", 5), config_map("odd", "odd-uid", 6))
    stub = Unreadable({"metadata": meta(resourceVersion="7")}, "it is not valid JSON")
    changes = cache.load(
        Listing([None, stub, config_map("a", "u", 5)], "200", begins=True, completes=True)
    )
    assert [(change.ref.name, change.type) for change in changes] == [("odd", "modified")]
    assert len(cache) == 2


def test_the_response_to_an_own_write_may_be_unreadable() -> None:
    """It replaces the cached object; it is not added where the scope cannot be checked."""
    cache = cache_of(config_map("odd", "odd-uid", 5))
    assert cache.record_write(odd(200)) is not None
    assert cache.unreadable == 1
    selecting = Cache(Scope(CONFIG_MAP, labels="a=b"))
    assert selecting.record_write(odd(200)) is None


def test_an_own_write_stays_visible_after_a_version_that_cannot_be() -> None:
    """K3: one object of version 2^63 does not make every own write look old."""
    cache = cache_of()
    cache.apply(WatchEvent("ADDED", config_map("odd", "odd-uid", 2**63)))
    assert cache.record_write(config_map("mine", "u", 101)) is not None


def test_a_spec_that_is_not_an_object_can_be_deleted() -> None:
    """A kind may have any spec."""
    cache = cache_of()
    gone = {"metadata": meta(deletionTimestamp="2026-01-01T00:00:00Z", resourceVersion="200")}
    assert cache.record_write({**gone, "spec": "text"}) is None


@pytest.mark.parametrize("made", [None, 7, {"metadata": object()}, {"a": {1, 2}}])
def test_a_transform_that_returns_another_type_is_ignored(made: Any) -> None:
    """The object is kept as it came."""
    cache = cache_of(config_map("a", "u", 5), transform=lambda _obj: made)
    assert (cache.get("a", "ns") or {})["data"] == {"text": ""}


def test_versions_are_numbers_or_opaque() -> None:
    """Python refuses to parse 5,000 digits, and takes digits of other scripts for numbers."""
    assert [parse_version(text) for text in ("5", str(2**64))] == [5, 2**64]
    opaque = ("", "-5", "\u0663", "9" * 5000, "['5']", "5.5")
    assert {parse_version(text) for text in opaque} == {OPAQUE}


@pytest.mark.parametrize(
    ("version", "stored"), [(5, 5), (None, OPAQUE), (["5"], OPAQUE), (5.5, OPAQUE)]
)
def test_a_version_of_another_type_is_a_number_or_opaque(version: Any, stored: int) -> None:
    """Some aggregated servers send a number; a list or a fraction makes the object unreadable."""
    cache = Cache(CONFIG_MAP)
    obj = {"metadata": {"name": "odd", "namespace": "ns", "resourceVersion": version}}

    cache.apply(WatchEvent("ADDED", obj))

    entry = cache.entry(("ns", "odd"))
    assert entry is not None
    assert version_in(entry) == stored


def test_a_live_read_of_an_unreadable_object_raises() -> None:
    """ctx.live and the reads after a lost response raise the same error as the cache."""
    bodies = [with_spec(b"NaN"), with_spec(nested(3000)), orjson.dumps(odd(5)), b'{"metadata"']
    ref = Cache(CONFIG_MAP).ref(("ns", "odd"))

    async def main() -> list[Exception]:
        found: list[Exception] = []
        for body in bodies:
            client = Client(ScriptedTransport(answer({})._replace(body=body)))
            try:
                await client.get(ref)
            except (UnreadableObjectError, AmbiguousError) as error:
                found.append(error)
        return found

    errors = run(main())
    assert [type(error) for error in errors] == [UnreadableObjectError] * 3 + [AmbiguousError]
    assert "deeper than 1024 levels" in str(errors[1])


def test_a_live_list_leaves_it_out() -> None:
    """As a cache does."""
    body = list_of(good("a"), with_spec(b"NaN"), orjson.dumps(odd(5)), b"null", good("z"))

    async def main() -> list[str]:
        client = Client(ScriptedTransport(answer({})._replace(body=body)))
        return [obj["metadata"]["name"] for obj in await client.list(CONFIG_MAP, "ns")]

    assert run(main()) == ["a", "z"]


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    )
)
def test_any_json_has_a_problem_or_a_name(value: Any) -> None:
    """Never an exception."""
    for shaped in (value, {"metadata": value}, {"metadata": {"name": "a", "labels": value}}):
        stub = stub_of(shaped)
        if not problem_in(shaped):
            assert stub["metadata"]["name"] == shaped["metadata"]["name"]
