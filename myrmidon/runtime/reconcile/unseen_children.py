"""Recorded children that no cache of the controller shows.

``status.resourceRefs`` outlives the declaration that it was written under: ``manages`` may have lost
a kind since, and ``namespaces`` a namespace.  Such children are still this object's, and no other
party will delete those without an owner reference.  They are read and deleted live; the resource
name (plural) of a kind that is not declared comes from the server's discovery.

The role of the controller usually lost the rights together with the declaration.  Then the object
says which child is in the way and what to do (``blocked_deletion``).
"""

from typing import NamedTuple

from myrmidon.api.objects import Json, is_deleting
from myrmidon.api.refs import ObjectRef
from myrmidon.errors import NotFoundError
from myrmidon.runtime.children import is_child
from myrmidon.runtime.reconcile.subject import Subject
from myrmidon.sets.output_set import Delete
from myrmidon.sets.planning import plan


class UnseenChild(NamedTuple):
    """A child that was read live."""

    recorded: ObjectRef  # as the record names it: a kind that is not declared has no plural
    ref: ObjectRef
    obj: Json


async def read_unseen(subject: Subject, recorded: ObjectRef) -> UnseenChild | None:
    """Read a recorded child live; None if it does not exist or names another parent."""
    kind = recorded.kind
    try:
        if not kind.plural:
            kind = await subject.deps.discovery.kind_of(kind.api_version, kind.kind)
        ref = ObjectRef(kind, recorded.name, recorded.namespace)
        obj = await subject.deps.client.get(ref)
    except NotFoundError:
        return None
    return UnseenChild(recorded, ref, obj) if is_child(obj, subject.parent.uid) else None


async def delete_unseen(subject: Subject, child: UnseenChild) -> bool:
    """Delete a child unless it is being deleted already; True if it is gone at once."""
    request = plan(Delete(child.ref), child.obj, subject.parent)
    if request is None:
        return False
    try:
        answer = await subject.deps.applicator.send(request, by=subject.by)
    except NotFoundError:
        return True
    return answer.get("kind") == "Status" or not is_deleting(answer)
