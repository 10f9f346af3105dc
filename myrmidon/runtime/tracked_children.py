"""Children that only a label ties to their parent: recorded before they exist, deleted by us.

The garbage collector does not know them.  They are written into ``status.resourceRefs`` before they
are created, because a crash between creating and recording would leave an object that no later pass
knows; and their parent gets our finalizer, because it must not go before they are deleted.
"""

from collections.abc import Iterable

from myrmidon.api.objects import Json, finalizers_of, is_deleting
from myrmidon.api.refs import ObjectRef
from myrmidon.errors import MyrmidonError
from myrmidon.fsm.engine import Acted, Report
from myrmidon.fsm.status import reference
from myrmidon.runtime.finalizer_edits import ensure_finalizer
from myrmidon.runtime.managing import is_tracked_child
from myrmidon.runtime.refusals import refusal
from myrmidon.runtime.status_writer import send_status
from myrmidon.runtime.subject import GoneError, Subject


async def record_children(subject: Subject, tracked: Iterable[ObjectRef]) -> Report | None:
    """Record children that are about to be created; None when they are on record."""
    recorded = subject.managed.recorded(subject.obj)
    new = [ref for ref in tracked if ref not in recorded]
    if not new or is_deleting(subject.obj):
        return None
    if subject.crew.controller.finalizer() not in finalizers_of(subject.obj):
        report = await ensure_finalizer(subject)
        if not isinstance(report, Acted):
            return report

    def with_new(obj: Json) -> Json:
        return {"resourceRefs": [reference(ref) for ref in (*subject.managed.recorded(obj), *new)]}

    try:
        await send_status(subject, with_new)
    except MyrmidonError as error:
        if isinstance(error, GoneError):
            raise
        return refusal(subject.ref, error)
    return None


async def children_left(subject: Subject) -> list[ObjectRef]:
    """The tracked children that still exist; read live where the cache has none."""
    found: list[ObjectRef] = []
    for ref in subject.managed.recorded(subject.obj):
        if not ref.kind.plural:
            continue
        child = subject.crew.objects.get(ref) or await subject.crew.applicator.read(ref)
        if is_tracked_child(child, subject.parent.uid):
            found.append(ref)
    return found
