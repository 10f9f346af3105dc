"""How a child names its parent: by owner reference, or by a tracking label and annotation.

An owner reference lets the garbage collector delete the child with its parent.  Kubernetes allows
it only within one namespace and to cluster-scoped owners.  Other children are *tracked*
(``owner_refs=False``, or an ``owner`` other than the parent): they carry a label with the parent's
uid and an annotation with its kind and name, and the controller deletes them itself.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import (
    Json,
    annotations_of,
    controller_of,
    describe,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
    uid_of,
)
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.typed.object_types import raw_of
from myrmidon.errors import OutputError, OwnerReferenceError
from myrmidon.sets.outputs.outputs import Apply

PARENT_UID = "myrmidon.dev/parent-uid"  # label: finds all tracked children of a parent
PARENT = "myrmidon.dev/parent"  # annotation: finds the parent of a tracked child


class Parent(NamedTuple):
    """The object of the pass, which owns the outputs."""

    ref: ObjectRef
    uid: str

    @property
    def tracking_name(self) -> str:
        """The value of the tracking annotation on its children."""
        return f"{self.ref.kind.plural}.{self.ref.kind.group}/{self.ref.key}"


def owners_wanted(output: Apply, parent: Parent) -> list[Json]:
    """Return the owner references that the child must have; none with ``owner_refs=False``."""
    if not output.options.owner_refs:
        return []
    ours = (
        _plain_reference(output)
        if output.options.owner is not None
        else _controller_reference(output, parent)
    )
    declared = owners_of(output.manifest)
    if not declared:
        return [ours]
    return [*(owner for owner in declared if owner.get("uid") != ours["uid"]), ours]


def reference_to(owner: Any) -> Json:
    """Return a plain owner reference to a manifest or Resource; missing fields are None or empty."""
    raw = _raw(owner)
    return {
        "apiVersion": raw.get("apiVersion"),
        "kind": raw.get("kind"),
        "uid": uid_of(raw),
        "name": name_of(raw),
    }


def _controller_reference(output: Apply, parent: Parent) -> Json:
    _check_reach(output, parent.ref, parent.ref.namespace)
    return {
        "apiVersion": parent.ref.kind.api_version,
        "kind": parent.ref.kind.kind,
        "name": parent.ref.name,
        "uid": parent.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_tracked(output: Apply) -> bool:
    """Whether the child has no controller reference, and needs a tracking label and annotation."""
    return not output.options.owner_refs or output.options.owner is not None


def owners_with(wanted: list[Json], current: Mapping[str, Any]) -> list[Json]:
    """Return the object's present owner references, updated and completed by those wanted."""
    by_uid = {owner.get("uid"): owner for owner in owners_of(current)}
    by_uid.update({owner.get("uid"): owner for owner in wanted})
    return list(by_uid.values())


def has_owners(current: Mapping[str, Any], wanted: list[Json]) -> bool:
    """Whether the object has all of these owner references."""
    present = owners_of(current)
    for owner in wanted:
        if owner not in present and not any(owner.items() <= there.items() for there in present):
            return False
    return True


def parent_uid(child: Mapping[str, Any]) -> str:
    """Return the uid of the parent, from the owner reference or else the label; or ""."""
    owner = controller_of(child)
    named = labels_of(child).get(PARENT_UID) if owner is None else owner.get("uid")
    return str(named or "")


def tracked_parent(obj: Mapping[str, Any], kind: Kind) -> ObjectRef | None:
    """Return the parent of that kind that a tracked child names; None if it names none."""
    resource, _, key = annotations_of(obj).get(PARENT, "").partition("/")
    if resource != f"{kind.plural}.{kind.group}" or not key:
        return None
    namespace, _, name = key.rpartition("/")
    return ObjectRef(kind, name, namespace)


def _check_reach(output: Apply, owner: object, namespace: str) -> None:
    """Raise if Kubernetes does not allow the reference: the child would be garbage-collected."""
    if namespace and not output.ref.kind.namespaced:
        why = "a namespaced object cannot own a cluster-scoped one"
        raise OwnerReferenceError(str(output.ref), str(owner), why)
    if namespace and namespace != output.ref.namespace:
        why = "it is in another namespace"
        raise OwnerReferenceError(str(output.ref), str(owner), why)


def _plain_reference(output: Apply) -> Json:
    reference = reference_to(output.options.owner)
    lacking = next((field for field, value in reference.items() if not value), None)
    if lacking is not None:
        raise OutputError(
            f"the owner of {output.ref} has no {lacking}: only an object that exists on the server can own another.\n"
            "  fix: pass an object that was read with ctx.get, or the parent itself"
        )
    raw = _raw(output.options.owner)
    _check_reach(output, describe(raw), namespace_of(raw))
    return reference


def _raw(owner: Any) -> Mapping[str, Any]:
    raw: Mapping[str, Any] = owner if isinstance(owner, Mapping) else raw_of(owner)
    return raw
