"""Delete the children that an object managed and that the last complete pass did not emit.

Before anything is pruned, children that no status records are looked up, too
(``unrecorded_children``).

Recorded children outside the kinds and namespaces that the controller declares are read and deleted
live (``unseen_children``).

What must hold: only a pass that reached its end prunes; only children of this object (by uid) are
deleted; a pass that would delete more than ``prune_max`` deletes none and fails.

Not handled: an unrecorded child of a kind that ``manages`` no longer lists.  No cache holds it; if
it has an owner reference, the garbage collector deletes it with its parent.
"""

from collections.abc import Sequence
from datetime import timedelta

from myrmidon.api.objects.accessors import is_deleting
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import MyrmidonError, PruneRefusedError
from myrmidon.fsm.engine import Outcome, unfinished
from myrmidon.fsm.machine.results import Failed, Wait
from myrmidon.runtime.reconcile.blocked_deletion import child_refused
from myrmidon.runtime.reconcile.subject import Subject
from myrmidon.runtime.reconcile.tracked_children import Flush
from myrmidon.runtime.reconcile.unrecorded_children import find_unrecorded, settle_unsure
from myrmidon.runtime.reconcile.unseen_children import UnseenChild, delete_unseen, read_unseen
from myrmidon.runtime.reconcile.write_errors import refusal
from myrmidon.runtime.views.children import is_child
from myrmidon.sets.ownership.pruning import prunable

_LOOK_AGAIN = timedelta(seconds=30)


async def tidy(subject: Subject, outcome: Outcome, flush: Flush) -> Outcome:
    """Look up the children that this pass did not apply; delete them if ``prune`` is on."""
    deps = subject.deps
    prunes = (
        deps.controller.options.prune
        and subject.policy != "observe"
        and not is_deleting(subject.obj)
    )
    unwanted = subject.managed.unwanted(subject.obj)
    if not (prunes or unwanted or subject.ref in deps.unsure):
        return outcome
    seen = [ref for ref in unwanted if deps.objects.covers(ref)]
    unseen: list[UnseenChild] = []
    try:
        await settle_unsure(subject, seen)
        if prunes:
            await find_unrecorded(subject)
    except MyrmidonError as error:
        return unfinished(outcome, refusal(subject.ref, error))
    if prunes:
        for ref in unwanted:
            if not deps.objects.covers(ref):
                try:
                    child = await read_unseen(subject, ref)
                except MyrmidonError as error:
                    return unfinished(outcome, child_refused(ref, error))
                unseen += [child] if child else []
                if child is None:
                    subject.managed.gone[ref] = None
        outcome = await _prune(subject, outcome, seen, unseen, flush)
    # Deleted by another writer, or by a process that crashed before it wrote the status.
    absent = (ref for ref in seen if deps.objects.get(ref) is None)
    subject.managed.gone.update(dict.fromkeys(absent))
    return outcome


async def _prune(
    subject: Subject,
    outcome: Outcome,
    seen: Sequence[ObjectRef],
    unseen: Sequence[UnseenChild],
    flush: Flush,
) -> Outcome:
    """Delete the children that the object no longer emits, if they still name it as parent."""
    managed, uid = subject.managed, subject.parent.uid
    ours = [ref for ref in seen if is_child(subject.deps.objects.get(ref), uid)]
    found = [ref for ref in managed.found if ref not in managed.applied]
    surplus = (*ours, *found, *(child.ref for child in unseen))
    limit = subject.deps.controller.options.prune_max
    try:
        deletes = prunable(surplus, managed.gone, limit=limit)
    except PruneRefusedError as error:
        subject.event("Warning", "PruneRefused", str(error))
        return unfinished(outcome, Failed("PruneRefused", error))
    elsewhere = {child.ref: child for child in unseen}
    report = await flush([one for one in deletes if one.ref not in elsewhere], "prune")
    if isinstance(report, Wait | Failed):
        return unfinished(outcome, report)
    for child in unseen:
        try:
            gone = await delete_unseen(subject, child)
        except MyrmidonError as error:
            return unfinished(outcome, child_refused(child.ref, error))
        if not gone:  # it is not watched, so look again later
            waiting = Wait("Pruning", f"waiting for {child.ref} to be gone", after=_LOOK_AGAIN)
            return unfinished(outcome, waiting)
        managed.gone[child.recorded] = None
    return outcome
