"""Tracked children: children without an owner reference, which only a label ties to their parent.

The garbage collector does not delete them, so the controller must:

1. Before a tracked child is created, its parent gets our finalizer, so that the parent cannot
   disappear before the child is deleted.
2. Then the child is recorded in ``resourceRefs``, in the status or in an annotation
   (``fsm.status.status_home``).  A crash after its creation therefore cannot leave a child that no later
   pass knows of.
3. Before the finalizer is removed, all tracked children are deleted and known to be gone.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

from myrmidon.api.objects.accessors import Json, finalizers_of, is_deleting
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import MyrmidonError
from myrmidon.fsm.engine import ACTED, Acted, Report
from myrmidon.fsm.machine.results import Wait
from myrmidon.fsm.status.status import reference
from myrmidon.runtime.reconcile.blocked_deletion import child_refused
from myrmidon.runtime.reconcile.finalizer_edits import ensure_finalizer
from myrmidon.runtime.reconcile.makers import is_ours
from myrmidon.runtime.reconcile.status_writer import send_status
from myrmidon.runtime.reconcile.subject import GoneError, Subject
from myrmidon.runtime.reconcile.unseen_children import delete_unseen, read_unseen
from myrmidon.runtime.reconcile.write_errors import refusal
from myrmidon.runtime.views.children import is_tracked_child
from myrmidon.sets.outputs.outputs import Delete, Release

Flush: TypeAlias = Callable[[Sequence[Delete | Release], str], Awaitable[Report]]


async def record_children(subject: Subject, tracked: Iterable[ObjectRef]) -> Report | None:
    """Record children that are about to be created; return None on success, else the obstacle."""
    recorded = subject.managed.recorded(subject.obj)
    new = [ref for ref in tracked if ref not in recorded]
    if not new or is_deleting(subject.obj):
        return None
    if subject.deps.controller.finalizer() not in finalizers_of(subject.obj):
        report = await ensure_finalizer(subject)
        if not isinstance(report, Acted):
            return report

    def with_new(obj: Json) -> Json:
        return {"resourceRefs": [reference(ref) for ref in (*subject.managed.recorded(obj), *new)]}

    try:
        await send_status(subject, subject.deps.home.records, with_new)
    except MyrmidonError as error:
        if isinstance(error, GoneError):
            raise
        return refusal(subject.ref, error)
    return None


async def delete_children(subject: Subject, flush: Flush) -> Report:
    """Delete every tracked child, recorded or cached; return ``Acted`` when none is left.

    A child that the cache does not have is read live: a cache may be behind, so absence from it
    does not prove that the child is gone.
    """
    seen: list[ObjectRef] = []
    left: list[ObjectRef] = []
    for ref in dict.fromkeys((*subject.managed.recorded(subject.obj), *subject.children())):
        try:
            if not subject.deps.objects.covers(ref):
                left += await _delete_unseen(subject, ref)
                continue
            child = subject.deps.objects.get(ref) or await subject.deps.applicator.read(ref)
        except MyrmidonError as error:
            return child_refused(ref, error)
        if is_tracked_child(child, subject.parent.uid) and await is_ours(subject, ref, child):
            seen.append(ref)
    if seen:
        report = await flush([Delete(ref) for ref in seen], "finalizer")
        if not isinstance(report, Acted):
            return report
    if not seen and not left:
        return ACTED
    waiting = ", ".join(map(str, (*seen, *left)))
    return Wait("DeletingChildren", f"waiting for {waiting} to be gone")


async def _delete_unseen(subject: Subject, recorded: ObjectRef) -> list[ObjectRef]:
    """Delete a tracked child that no cache covers; return it unless it is gone at once."""
    child = await read_unseen(subject, recorded)
    if child is None or not is_tracked_child(child.obj, subject.parent.uid):
        return []
    return [] if await delete_unseen(subject, child) else [child.ref]
