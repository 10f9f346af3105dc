"""Whether the controller may write or delete an object that already exists.

An object with the name of an output may exist already, made by a user or another controller.
Writing it would make it a child of the parent: changed now, and deleted with the parent later.  So
an existing object is written or deleted only if one of these holds:

1. its controller owner reference names the parent, or it has no controller and another owner
   reference does;
2. it has no controller, and its tracking label or annotation names the parent (children without
   owner reference, see ``sets.ownership.owner_references``);
3. it names no parent at all, but ``metadata.managedFields`` says that this controller wrote it.
   This is how a child whose owner reference was removed by hand, or by a deletion of the parent
   with ``--cascade=orphan``, is recognised, also after a restart;
4. it names no parent, and its adoption was asked for: by the output (``adopt=True``) or on the
   object (annotation ``myrmidon.dev/adopt``, with the value ``true`` or the parent's
   ``namespace/name``).

An object that names another parent is refused with ``AlreadyOwnedError``, an object that names
none with ``NotAdoptedError``.  Caches do not keep ``managedFields``, so an object can pass the
third test only if it was read from the server: after a ``NotAdoptedError`` for a cached object the
applicator reads it from the server and decides again.

If the tracking label (uid) and annotation (name) disagree, the annotation decides: a parent that
was restored from a backup or created again has another uid than its children's labels, but there is
never more than one object of its kind, namespace and name.
"""

from collections.abc import Mapping
from typing import Any

from myrmidon.api.objects.accessors import (
    annotations_of,
    controller_of,
    is_deleting,
    labels_of,
    owners_of,
)
from myrmidon.api.objects.managed_fields import wrote
from myrmidon.errors import AlreadyOwnedError, NotAdoptedError
from myrmidon.sets.outputs.outputs import Apply, Delete, Output, manager_of
from myrmidon.sets.ownership.owner_references import PARENT, PARENT_UID, Parent

ADOPT = "myrmidon.dev/adopt"  # annotation: this object may be adopted


def refuse_others(current: Mapping[str, Any], output: Output, parent: Parent) -> None:
    """Raise if the controller may not change or delete the object.

    An object that names no parent and is being deleted passes: it is waited for.
    """
    owner = controller_of(current)
    if owner is not None:  # then only this reference counts
        if owner.get("uid") != parent.uid:
            named = f"{owner.get('kind')} {owner.get('name')} (uid {owner.get('uid')})"
            raise AlreadyOwnedError(str(output.ref), named)
        return
    _refuse_foreign(current, output, parent)
    if not is_deleting(current):
        _refuse_unowned(current, output, parent)


def is_adoption(current: Mapping[str, Any], output: Output, parent: Parent) -> bool:
    """Whether writing the output adopts the object: not a child yet, and not written by us."""
    return not is_child_of(current, parent) and not wrote(current, manager_of(output))


def is_child_of(current: Mapping[str, Any], parent: Parent) -> bool:
    """Whether the object names the parent, by owner reference, tracking label or annotation."""
    owner = controller_of(current)
    if owner is not None:
        return bool(owner.get("uid") == parent.uid)
    uid = labels_of(current).get(PARENT_UID)
    if uid == parent.uid or any(one.get("uid") == parent.uid for one in owners_of(current)):
        return True
    return bool(uid) and annotations_of(current).get(PARENT) == parent.tracking_name


# ------------------------------------------------------------------------------- checks


def _refuse_foreign(current: Mapping[str, Any], output: Output, parent: Parent) -> None:
    """Raise if the tracking label and annotation of the object name another parent."""
    uid = labels_of(current).get(PARENT_UID)
    if uid and uid != parent.uid:
        named = annotations_of(current).get(PARENT)
        if named != parent.tracking_name:
            raise AlreadyOwnedError(
                str(output.ref), f"{named or 'another parent'} (uid {uid})", label=PARENT_UID
            )


def _refuse_unowned(current: Mapping[str, Any], output: Output, parent: Parent) -> None:
    """Raise if the object names no parent, we did not write it, and we may not adopt it."""
    if is_child_of(current, parent) or _may_adopt(current, output, parent):
        return
    if not wrote(current, manager_of(output)):
        ref = output.ref
        resource = f"{ref.kind.plural}.{ref.kind.group}".rstrip(".")
        where = f" -n {ref.namespace}" if ref.namespace else ""
        raise NotAdoptedError(
            str(ref),
            str(parent.ref),
            verb="delete" if isinstance(output, Delete) else "apply",
            command=f"kubectl annotate {resource} {ref.name}{where} {ADOPT}=true",
        )


def _may_adopt(current: Mapping[str, Any], output: Output, parent: Parent) -> bool:
    asked = isinstance(output, Delete) and output.adopt
    if isinstance(output, Apply):
        asked = output.options.adopt
    return asked or annotations_of(current).get(ADOPT) in ("true", parent.ref.key)
