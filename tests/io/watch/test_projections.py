"""Projection: the part of an object that a cache keeps."""

from hypothesis import given
from hypothesis import strategies as st

from myrmidon.io.watch.projections import Projection

OBJECT = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"x": "y"}},
    "spec": {"node": {"name": "n", "zone": "z"}, "text": "t"},
    "status": {"phase": "Running"},
}
PATHS = ("spec", "spec.node", "spec.node.name", "spec.text", "spec.none", "spec.text.deep", "data")


def test_metadata_and_the_declared_fields_are_kept() -> None:
    """No other field is kept, and none is added that the object does not have."""
    kept = Projection(("spec.node.name", "spec.none", "data", "spec.text.deep"))(OBJECT)
    assert kept == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "spec": {"node": {"name": "n"}},
    }
    assert Projection(("spec",)) == Projection(("spec",))


@given(st.lists(st.sampled_from(PATHS)))
def test_every_declared_field_has_its_value_in_any_order(paths: list[str]) -> None:
    """A field and a part of it may both be declared."""
    before = repr(OBJECT)
    kept = Projection(tuple(paths))(OBJECT)
    for path in paths:
        value: object = OBJECT
        found: object = kept
        for step in path.split("."):
            value = value.get(step) if isinstance(value, dict) else None
            found = found.get(step) if isinstance(found, dict) else None
        assert found == value
    assert repr(OBJECT) == before
