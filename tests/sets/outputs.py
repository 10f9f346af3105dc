"""Outputs for tests of planning: one child, one parent, and the possible declarations."""

from typing import Any, Final

from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.sets import Apply, ApplyOptions, OutputSet, Parent
from tests.strategies import WIDGET, documents

PARENT_KIND = Kind("example.com", "v1", "Thing", "things")
PARENT = Parent(ObjectRef(PARENT_KIND, "parent", "default"), "parent-uid")
OTHER = {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": "other-uid"}
OURS: Final[Json] = {
    "apiVersion": "example.com/v1",
    "kind": "Thing",
    "name": "parent",
    "uid": "parent-uid",
    "controller": True,
    "blockOwnerDeletion": True,
}
FOREIGN: Final[Json] = {**OTHER, "controller": True}

WAYS: Final[dict[str, dict[str, Any]]] = {
    "merge": {},
    "update": {"as_update": True},
    "server-side": {"server_side": True, "force": True},
}
KINDS = st.sampled_from([WIDGET, kinds.CONFIG_MAP])
LABELS = st.dictionaries(
    st.sampled_from(["a", "b"]), st.sampled_from(["", "x", "y"]) | st.none(), max_size=2
)
SPECS = documents()


def ref_of(kind: Kind = WIDGET) -> ObjectRef:
    """Return the reference of the child."""
    return ObjectRef(kind, "child", "default")


def manifest(spec: Json, kind: Kind = WIDGET, **meta: Any) -> Json:
    """Return the child as a state declares it."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": "child", **meta},
        "spec": spec,
    }


def apply(obj: Json, *, adopt: bool = True, **options: Any) -> Apply:
    """Return the output of a state that applies the object and may adopt it."""
    out = OutputSet((*kinds.ALL, WIDGET), namespace="default", controller="Things", state="made")
    out.apply(obj, adopt=adopt, **options)
    (output,) = out.applied()
    return output


def options_of(way: str, **more: Any) -> ApplyOptions:
    """Return the options of one way to write."""
    return ApplyOptions(**WAYS[way], **more)
