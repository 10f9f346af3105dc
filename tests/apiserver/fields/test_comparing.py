"""Which fields differ between two objects."""

from hypothesis import given, settings

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import same
from myrmidon.apiserver.fields.comparing import compare
from myrmidon.apiserver.fields.shapes import DEDUCED
from tests.strategies import documents


@settings(deadline=None)
@given(old=documents(), new=documents())
def test_there_is_a_change_exactly_where_the_json_differs(old: Json, new: Json) -> None:
    """``1`` and ``1.0`` are one number, ``true`` and ``1`` are not, at any depth."""
    assert bool(compare(old, new, DEDUCED)) is not same(old, new)


def test_a_boolean_that_became_a_number_is_a_change() -> None:
    """Also inside a map and inside an atomic list."""
    for was, now in (({"b": True}, {"b": 1}), ([True], [1]), ([{"b": 0}], [{"b": False}])):
        assert compare({"a": was}, {"a": now}, DEDUCED).modified, (was, now)
