"""Equality of JSON values, as clients and as the API server compare them."""

from typing import Any

from hypothesis import given

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical, same
from tests.strategies import documents, values


@given(left=values(), right=values(), third=values())
def test_a5_sameness_is_an_equivalence(left: Any, right: Any, third: Any) -> None:
    """Reflexive, symmetric, transitive."""
    for equal in (same, identical):
        assert equal(left, left)
        assert equal(left, right) == equal(right, left)
        if equal(left, right) and equal(right, third):
            assert equal(left, third)


@given(left=values(), right=values())
def test_identical_values_are_the_same(left: Any, right: Any) -> None:
    """``identical`` is the stricter relation, and both are stricter than Python's."""
    assert not identical(left, right) or same(left, right)
    assert not same(left, right) or left == right


@given(document=documents())
def test_a5_key_order_does_not_matter(document: Json) -> None:
    """The members of a JSON object have no order."""
    assert same(document, dict(reversed(document.items())))
    assert identical(document, dict(reversed(document.items())))


def test_a5_numbers_are_json_numbers_and_booleans_are_not() -> None:
    """In Python True equals 1; in JSON it does not."""
    assert same(1, 1.0)
    assert same([{"a": 1}], [{"a": 1.0}])
    assert not same(True, 1)
    assert not same(0, False)
    assert not same({"a": [True]}, {"a": [1]})
    assert not same({"a": None}, {})
    assert not same([1], [1, 2])
    assert not same([1], 1)
    assert not same({}, [])
    assert not same("1", 1)


def test_go_tells_integers_from_floats() -> None:
    """For the API server a patch from 0 to 0.0 is a change."""
    assert not identical({"a": 0}, {"a": 0.0})
    assert not identical([1], [True])
    assert not identical([1], [1, 2])
    assert not identical({"a": None}, {})
    assert identical({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]})


def test_values_that_are_nested_deeper_than_the_encoder_allows_are_compared() -> None:
    """The encoder writes 254 levels; beyond that the values are walked."""

    def nested(inner: Any) -> Any:
        for _ in range(300):
            inner = [inner]
        return inner

    assert same(nested(1), nested(1.0))
    assert not same(nested(True), nested(1))


def test_a_map_in_another_order_is_the_same() -> None:
    """The server sorts the keys of a custom object."""
    assert same({"b": 1, "a": [True]}, {"a": [True], "b": 1})
    assert not same({"b": 1, "a": [True]}, {"a": [1], "b": 1})
