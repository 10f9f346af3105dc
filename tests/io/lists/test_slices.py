"""Which objects a replica keeps, by the hash of a field."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.requests.shard_selectors import HASH_END, ShardField, read_shard_selector
from myrmidon.api.values.fnv import fnv1a_64
from myrmidon.io.lists.slices import Part, ShardRole, Slices, key_in, part_of, slices_of

WORDS = st.sampled_from(["a", "b", "c", "team-1", "team-2", "0f-1", "0f-2", "0f-3", "", 'q"', "ü"])
BOUNDS = st.integers(0, HASH_END)


@st.composite
def slices(draw: st.DrawFn, field: ShardField | None = None) -> Slices:
    """Some slices; ranges end near hashes of the words, so that both sides are drawn."""
    fields: list[ShardField] = ["uid", "namespace"]
    which = draw(st.sampled_from(fields)) if field is None else field
    edges = st.one_of(BOUNDS, WORDS.map(fnv1a_64))
    return slices_of(which, draw(st.lists(st.tuples(edges, edges), max_size=3)))


@st.composite
def objects(draw: st.DrawFn) -> Any:
    """An object with the fields that count, and the same names in other places."""
    meta: dict[str, Any] = {"name": draw(WORDS), "uid": draw(WORDS), "namespace": draw(WORDS)}
    if draw(st.booleans()):
        owners = st.fixed_dictionaries({"uid": WORDS}, optional={"controller": st.booleans()})
        meta["ownerReferences"] = draw(st.lists(owners, max_size=2))
    if draw(st.booleans()):
        meta["labels"] = {"myrmidon.dev/parent-uid": draw(WORDS)}
    inner = st.dictionaries(st.sampled_from(["uid", "namespace", "text"]), WORDS, max_size=2)
    spec = {"template": {"metadata": draw(inner)}, "uid": draw(WORDS)}
    return {"kind": "Widget", "apiVersion": "v1", "metadata": meta, "spec": spec}


@given(
    slices(), objects(), st.sampled_from(["own", "child"]), st.sampled_from(["ADDED", "DELETED"])
)
def test_a_line_that_is_dropped_is_never_one_of_ours(
    kept: Slices, obj: Any, role: ShardRole, event: str
) -> None:
    """Dropping a line without decoding it loses no object of the part."""
    part = Part(kept, role)
    line = orjson.dumps({"type": event, "object": obj})
    assert not (part.excludes(line) and part.admits(obj))
    cluster_scoped = Part(kept, role, namespaced=False)
    assert not (cluster_scoped.excludes(line) and cluster_scoped.admits(obj))


@given(slices(), WORDS)
def test_slices_cover_what_their_selector_selects(kept: Slices, word: str) -> None:
    """The client and the server divide alike."""
    text = Part(kept, "own").selector
    ranges = read_shard_selector(text) if text else ()
    assert kept.covers(word) is any(each.covers(word) for each in ranges)


@given(slices("uid"), slices("uid"), WORDS)
def test_what_is_within_covers_no_more(one: Slices, other: Slices, word: str) -> None:
    """``is_within`` decides whether a list is needed: it must never say so wrongly."""
    if one.is_within(other):
        assert other.covers(word) or not one.covers(word)
    assert one.is_within(one)


def test_ranges_are_sorted_and_joined() -> None:
    """Any order, neighbours, overlaps and empty ranges are accepted."""
    made = slices_of("uid", [(50, 60), (10, 20), (20, 30), (25, 27), (5, 5)])
    assert made.ranges == ((10, 30), (50, 60))
    assert slices_of("uid", [(10, 30), (50, 60)]) == made


def test_lines_without_an_object_are_never_dropped() -> None:
    """Bookmarks and errors have to be read, whatever they contain."""
    part = Part(slices_of("uid", [(0, 1)]), "own")
    for event in ("BOOKMARK", "ERROR"):
        line = orjson.dumps({"type": event, "object": {"metadata": {"uid": "a"}}})
        assert not part.excludes(line)
    assert part.excludes(orjson.dumps({"type": "ADDED", "object": {"metadata": {"uid": "a"}}}))
    assert not part.excludes(b'{"type":"ADDED","object":{"metadata":{}}}')
    assert not part.excludes(b'{"type":"ADDED","object":{"metadata":{"uid":"\\u0061"}}}')


@pytest.mark.parametrize(
    ("role", "namespaced", "field", "is_divided"),
    [
        ("all", True, "uid", False),
        ("own", True, "uid", True),
        ("own", False, "namespace", True),
        ("child", False, "namespace", False),  # the parent may be in any namespace
        ("child", False, "uid", True),
        ("child", True, "namespace", True),
    ],
)
def test_which_kinds_are_divided(
    role: ShardRole, namespaced: bool, field: ShardField, is_divided: bool
) -> None:
    """Readers that need all objects get them, and so do children that no namespace divides."""
    made = part_of(slices_of(field, [(0, 5)]), role, namespaced=namespaced)
    assert (made is not None) is is_divided
    assert part_of(slices_of(field, [(0, HASH_END)]), role, namespaced=namespaced) is None
    assert part_of(None, role, namespaced=namespaced) is None


def test_children_are_where_their_parent_is() -> None:
    """A child counts by its controller, else by its tracking label, else by its own uid."""
    here, there = sorted(("a", "c"), key=fnv1a_64)
    part = Part(slices_of("uid", [(0, fnv1a_64(there))]), "child")
    assert part.admits(
        {"metadata": {"uid": there, "ownerReferences": [{"uid": here, "controller": True}]}}
    )
    assert part.admits({"metadata": {"uid": there, "labels": {"myrmidon.dev/parent-uid": here}}})
    assert part.admits({"metadata": {"uid": here, "ownerReferences": [{"uid": there}]}})
    assert not part.admits(
        {"metadata": {"uid": here, "ownerReferences": [{"uid": there, "controller": True}]}}
    )
    assert part.selector == ""


def test_the_key_of_a_plain_line() -> None:
    """Events of built-in kinds begin alike; others are decoded to learn the name."""
    head = b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p",'
    assert key_in(head + b'"namespace":"n","uid":"u"}}}') == ("n", "p")
    assert key_in(head + b'"generateName":"p-","namespace":"n","uid":"u"}}}') == ("n", "p")
    assert key_in(head + b'"uid":"u"}}}') == ("", "p")
    assert key_in(head + b'"ownerReferences":[],"namespace":"n","uid":"u"}}}') is None
    assert key_in(b'{"object":{"metadata":{"name":"p"}},"type":"ADDED"}') is None
