"""Accessors of plain JSON objects, which may lack any field."""

from hypothesis import given

from myrmidon.api.objects import accessors as objects
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from tests.strategies import documents

WHOLE: Json = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "a",
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 3,
        "labels": {"app": "web"},
        "annotations": {"note": "x"},
        "ownerReferences": [{"uid": "1"}, {"uid": "2", "controller": True}],
        "finalizers": ["example.com/f"],
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    },
}


def test_questions_are_answered_from_the_metadata() -> None:
    """Each reads its field."""
    assert objects.name_of(WHOLE) == "a"
    assert objects.namespace_of(WHOLE) == "default"
    assert objects.uid_of(WHOLE) == "u"
    assert objects.version_of(WHOLE) == "7"
    assert objects.generation_of(WHOLE) == 3
    assert objects.generation_of({"metadata": {"generation": "3"}}) == 0
    assert objects.labels_of(WHOLE) == {"app": "web"}
    assert objects.annotations_of(WHOLE) == {"note": "x"}
    assert objects.controller_of(WHOLE) == {"uid": "2", "controller": True}
    assert objects.is_controlled_by(WHOLE, "2")
    assert not objects.is_controlled_by(WHOLE, "1"), "an owner, but not the controller"
    assert objects.finalizers_of(WHOLE) == ["example.com/f"]
    assert objects.is_deleting(WHOLE)
    assert objects.describe(WHOLE) == "ConfigMap default/a"


@given(spec=documents())
def test_an_object_without_metadata_has_empty_values(spec: Json) -> None:
    """Objects come from people and from servers that we do not control."""
    for obj in ({"spec": spec}, {"spec": spec, "metadata": None}):
        assert objects.name_of(obj) == objects.namespace_of(obj) == objects.uid_of(obj) == ""
        assert objects.version_of(obj) == ""
        assert objects.generation_of(obj) == 0
        assert objects.labels_of(obj) == objects.annotations_of(obj) == {}
        assert objects.owners_of(obj) == []
        assert objects.finalizers_of(obj) == []
        assert objects.controller_of(obj) is None
        assert not objects.is_controlled_by(obj, "")
        assert not objects.is_deleting(obj)
        assert objects.describe(obj) == "object (no name)"


def test_reference_of_a_cluster_scoped_object_has_no_namespace() -> None:
    """A namespace in its metadata is ignored."""
    assert objects.ref_of(kinds.CONFIG_MAP, WHOLE) == ObjectRef(kinds.CONFIG_MAP, "a", "default")
    assert objects.ref_of(kinds.NAMESPACE, WHOLE) == ObjectRef(kinds.NAMESPACE, "a")
