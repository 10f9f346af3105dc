"""Recorded children outside the kinds and namespaces that the controller declares.

``status.resourceRefs`` may have been written by a version of the controller that declared more: a
kind may have been removed from ``manages`` since, or a namespace from ``namespaces``.  No cache
covers such children, but they still belong to this object, and nothing else deletes those without
an owner reference.  They are read and deleted live; the plural of a kind that is not declared comes
from the server's discovery.  A child on a remote cluster is not looked for: it may be a cluster that
this process can no longer reach, so the status says what to do.

The role of the controller has usually lost the permissions together with the declaration.  Then the
status names the child and what to do about it (``blocked_deletion``).
"""

from typing import NamedTuple

from myrmidon.api.objects.accessors import Json, is_deleting
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import NotFoundError, UnknownClusterError
from myrmidon.runtime.reconcile.subject import Subject
from myrmidon.runtime.views.children import is_child
from myrmidon.sets.outputs.outputs import Delete
from myrmidon.sets.planning import plan


class UnseenChild(NamedTuple):
    """A child that was read live."""

    recorded: ObjectRef  # as in resourceRefs, where a kind that is not declared has no plural
    ref: ObjectRef
    obj: Json


async def read_unseen(subject: Subject, recorded: ObjectRef) -> UnseenChild | None:
    """Read a recorded child live; None if it does not exist or names another parent."""
    kind = recorded.kind
    if kind.cluster:
        raise UnknownClusterError(str(recorded), kind.cluster)
    try:
        if not kind.plural:
            kind = await subject.deps.discovery.kind_of(kind.api_version, kind.kind)
        ref = ObjectRef(kind, recorded.name, recorded.namespace)
        obj = await subject.deps.client.get(ref)
    except NotFoundError:
        return None
    return UnseenChild(recorded, ref, obj) if is_child(obj, subject.parent.uid) else None


async def delete_unseen(subject: Subject, child: UnseenChild) -> bool:
    """Delete a child unless it is being deleted already; return True if it is gone at once."""
    request = plan(Delete(child.ref), child.obj, subject.parent)
    if request is None:
        return False
    try:
        answer = await subject.deps.applicator.send(request, by=subject.by)
    except NotFoundError:
        return True
    return answer.get("kind") == "Status" or not is_deleting(answer)
