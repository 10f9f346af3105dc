"""After a walk that ended: which children the object still has, and which of them are deleted."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from myrmidon.api.objects import is_deleting
from myrmidon.api.refs import ObjectRef
from myrmidon.errors import MyrmidonError, PruneRefusedError
from myrmidon.fsm.engine import Outcome, Report, unfinished
from myrmidon.fsm.results import Failed, Wait
from myrmidon.runtime.managing import is_child
from myrmidon.runtime.refusals import refusal
from myrmidon.runtime.subject import Subject
from myrmidon.sets.output_set import Delete
from myrmidon.sets.pruning import prunable

Flush: TypeAlias = Callable[[Sequence[Delete], str], Awaitable[Report]]


async def tidy(subject: Subject, outcome: Outcome, flush: Flush) -> Outcome:
    """Find out what became of children that this walk did not apply; prune them if asked to."""
    unwanted = subject.managed.unwanted(subject.obj)
    for ref in unwanted:
        if subject.crew.applicator.is_unknown(ref):
            try:
                await subject.crew.applicator.read(ref)
            except MyrmidonError as error:
                return unfinished(outcome, refusal(ref, error))
    if subject.crew.controller.options.prune and not is_deleting(subject.obj):
        outcome = await _prune(subject, outcome, flush)
    # Another party may have deleted it, or a process that crashed before it wrote the status.
    absent = (ref for ref in unwanted if subject.crew.objects.get(ref) is None)
    subject.managed.gone.update(dict.fromkeys(absent))
    return outcome


async def _prune(subject: Subject, outcome: Outcome, flush: Flush) -> Outcome:
    """Delete what the object managed and no longer emits, as far as it is still its child."""
    limit = subject.crew.controller.options.prune_max
    managed = subject.managed
    ours = [ref for ref in managed.recorded(subject.obj) if _has(subject, ref)]
    try:
        surplus = prunable(ours, (*managed.applied, *managed.gone), limit=limit)
    except PruneRefusedError as error:
        subject.event("Warning", "PruneRefused", str(error))
        return unfinished(outcome, Failed("PruneRefused", error))
    report = await flush(surplus, "prune")
    return unfinished(outcome, report) if isinstance(report, Wait | Failed) else outcome


def _has(subject: Subject, ref: ObjectRef) -> bool:
    """Whether a recorded child exists and names this object as its parent."""
    return bool(ref.kind.plural) and is_child(subject.crew.objects.get(ref), subject.parent.uid)
