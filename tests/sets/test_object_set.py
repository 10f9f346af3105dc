"""ObjectSet: a set of objects by reference, in a stable order."""

from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.sets import ObjectSet
from tests.strategies import refs

SETS = st.dictionaries(refs(), st.fixed_dictionaries({"n": st.integers(0, 3)})).map(
    lambda found: ObjectSet(found.items())
)


@given(left=SETS, right=SETS, third=SETS)
def test_algebra_of_sets(left: ObjectSet, right: ObjectSet, third: ObjectSet) -> None:
    """By reference they follow the algebra of sets."""
    assert left | right == right | left
    assert left & right == right & left
    assert (left | right) | third == left | (right | third)
    assert left & (right | third) == (left & right) | (left & third)
    assert left - right == left - (left & right)
    assert (left - right) & right == ObjectSet()
    assert (left - right) | (left & right) == left
    assert left | right >= left >= left & right
    assert (left >= right) == (left | right == left)
    assert (left <= right) == (right >= left)
    assert set((left | right).refs) == {*left.refs, *right.refs}
    assert left != set(left.refs)


@given(left=SETS, right=SETS)
def test_the_left_side_keeps_its_objects_and_its_order(left: ObjectSet, right: ObjectSet) -> None:
    """The order of output never depends on hashes."""
    union = left | right

    assert union.refs[: len(left)] == left.refs
    assert all(union.get(ref) is obj for ref, obj in left.items())
    assert list((left & right).items()) == [item for item in left.items() if item[0] in right]
    assert list((left - right).items()) == [item for item in left.items() if item[0] not in right]


@given(found=SETS, ref=refs())
def test_adding_and_discarding(found: ObjectSet, ref: ObjectRef) -> None:
    """An object of the same reference is replaced; discarding a missing one is not an error."""
    found.add(ref, {"n": 9})
    assert ref in found
    assert found.get(ref) == {"n": 9}
    assert {"n": 9} in list(found)
    size = len(found)

    found.discard(ref)
    found.discard(ref)
    assert ref not in found
    assert found.get(ref) is None
    assert len(found) == size - 1


def test_it_prints_its_references() -> None:
    """It is not hashable, because it is mutable."""
    found = ObjectSet()
    assert repr(found) == "ObjectSet()"
    assert ObjectSet.__hash__ is None
