"""Field sets obey the laws of sets, compared with sets of paths."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.apiserver.fields import elements
from myrmidon.apiserver.fields.elements import ElementError, Path
from myrmidon.apiserver.fields.fieldset import FieldSet, Node

ELEMENTS = st.sampled_from(
    ["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'k:{"name":"y"}', "v:1", "v:10", "v:2", 'v:"z"']
)
PATHS: st.SearchStrategy[Path] = st.lists(ELEMENTS, min_size=1, max_size=3).map(tuple)


def sets() -> st.SearchStrategy[FieldSet]:
    """Draw sets that share paths, and have fields inside each other."""
    return st.lists(PATHS, max_size=6).map(lambda paths: FieldSet.of(*paths))


def members(fields: FieldSet) -> set[Path]:
    """Return the set as a set of paths."""
    return set(fields.paths())


def is_inside(path: Path, outer: Path) -> bool:
    """Whether a path is that of a field, or of a part of it."""
    return path[: len(outer)] == outer


@settings(deadline=None)
@given(paths=st.lists(PATHS, max_size=6))
def test_a_set_has_the_paths_it_was_made_of(paths: list[Path]) -> None:
    """No parent or child of a field is added with it."""
    assert members(FieldSet.of(*paths)) == set(paths)


@settings(deadline=None)
@given(left=sets(), right=sets())
def test_algebra_is_that_of_the_paths(left: FieldSet, right: FieldSet) -> None:
    """Union, intersection and difference treat each field by itself."""
    assert members(left | right) == members(left) | members(right)
    assert members(left & right) == members(left) & members(right)
    assert members(left - right) == members(left) - members(right)


@settings(deadline=None)
@given(left=sets(), right=sets())
def test_a_deep_difference_takes_what_is_inside(left: FieldSet, right: FieldSet) -> None:
    """The fields inside a removed field are removed, too."""
    kept = {
        path for path in members(left) if not any(is_inside(path, gone) for gone in right.paths())
    }
    assert members(left.without(right)) == kept


@settings(deadline=None)
@given(fields=sets())
def test_leaves_are_fields_with_nothing_inside(fields: FieldSet) -> None:
    """A field is a leaf if no other field of the set is inside it."""
    paths = members(fields)
    assert members(fields.leaves()) == {
        path
        for path in paths
        if not any(other != path and is_inside(other, path) for other in paths)
    }


@settings(deadline=None)
@given(left=sets(), right=sets())
def test_operands_are_left_alone(left: FieldSet, right: FieldSet) -> None:
    """Nodes are shared between objects, so nothing may change them."""
    before = members(left), members(right)
    _ = left | right, left & right, left - right, left.without(right)
    assert (members(left), members(right)) == before


@settings(deadline=None)
@given(fields=sets())
def test_fields_v1_survives_a_round_trip(fields: FieldSet) -> None:
    """A set that is written can be read back."""
    assert FieldSet.from_json(fields.to_json()) == fields


@settings(deadline=None)
@given(left=sets(), right=sets())
def test_elements_are_always_in_order(left: FieldSet, right: FieldSet) -> None:
    """The real server writes sorted sets; so do we, without sorting when we write."""
    for fields in (left, right, left | right, left & right, left - right, left.without(right)):
        assert_in_order(fields.node)


def assert_in_order(node: Node) -> None:
    """Each node has its elements in order."""
    assert list(node) == sorted(node, key=elements.order)
    for inner in node.values():
        assert_in_order(inner)


@settings(deadline=None)
@given(fields=sets(), path=PATHS)
def test_membership_is_that_of_the_paths(fields: FieldSet, path: Path) -> None:
    """``in`` asks for the field itself."""
    assert (path in fields) == (path in members(fields))


def test_numbers_in_keys_are_ordered_as_numbers() -> None:
    """80 comes before 443, although the text does not."""
    ports = FieldSet.of(*((f'k:{{"port":{port}}}',) for port in (443, 80, 53)))
    assert list(ports.node) == ['k:{"port":53}', 'k:{"port":80}', 'k:{"port":443}']


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("f:a", "f:a"),
        ('k:{"b":1, "a":"x"}', 'k:{"a":"x","b":1}'),
        ("v: 1.0", "v:1"),
        ("i:03", "i:3"),
        ("x:what", None),
    ],
)
def test_elements_have_one_way_to_be_written(written: str, canonical: str | None) -> None:
    """Sets compare elements by their text."""
    assert elements.canonical(written) == canonical


@pytest.mark.parametrize("written", ["", "f", "fa", "k:[]", "v:", "i:x"])
def test_an_invalid_element_is_refused(written: str) -> None:
    """A client may write managedFields by hand."""
    with pytest.raises(ElementError):
        elements.canonical(written)


@pytest.mark.parametrize(
    ("value", "element"),
    [("<&>", 'v:"\\u003c\\u0026\\u003e"'), ("ü", 'v:"ü"'), (1.0, "v:1"), (True, "v:true")],
)
def test_values_are_written_as_go_writes_them(value: Any, element: str) -> None:
    """Compact, with HTML characters escaped."""
    assert elements.member(value) == element


def test_a_path_reads_as_in_the_messages_of_conflicts() -> None:
    """Conflicts name fields in this form, and tools parse it."""
    path = ("f:spec", "f:slots", 'k:{"name":"y","port":80}', "f:tags", 'v:"a"', "i:0")
    assert elements.text(path) == '.spec.slots[name="y",port=80].tags[="a"][0]'
