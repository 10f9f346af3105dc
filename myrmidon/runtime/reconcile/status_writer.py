"""Write the status of the object of a pass, in the status or in an annotation.

The first attempt is a merge patch with the resourceVersion that the pass read.  If another writer
was faster, the object is read live, the status is computed again from it (conditions of other
writers stay), and sent as a JSON patch without a resourceVersion (``fsm.status.status_edits``).  So a
writer that changes the object all the time cannot prevent the status write.

The server may store less than it was sent, for example drop a field that is not in the schema.  The
same status is not sent again for the resourceVersion that it produced
(``PassDependencies.settled``); otherwise every pass would write.
"""

from collections.abc import Callable
from typing import TypeAlias

from myrmidon.api.objects.accessors import Json, version_of
from myrmidon.errors import ApiError, ConflictError, MyrmidonError, NotFoundError
from myrmidon.fsm.engine import Outcome, unfinished
from myrmidon.fsm.status.status import changes_of
from myrmidon.fsm.status.status_home import StatusPlace
from myrmidon.runtime.reconcile.subject import ATTEMPTS_MAX, GoneError, Subject
from myrmidon.runtime.reconcile.write_errors import is_overtaken, refusal
from myrmidon.sets.fingerprints import fingerprint

MakeStatus: TypeAlias = Callable[[Json], Json]
"""Return the status fields that the given object should have."""


async def write_status(
    subject: Subject, place: StatusPlace, make: MakeStatus, outcome: Outcome
) -> Outcome:
    """Write the status if it differs; return the outcome, unfinished if the write failed."""
    try:
        await send_status(subject, place, make)
    except GoneError:
        raise
    except ConflictError:
        return unfinished(outcome, subject.overtaken())
    except MyrmidonError as error:
        refused = refusal(subject.ref, error)
        subject.log.warning("status refused", error=str(error))
        subject.event("Warning", "StatusRefused", str(error))
        return unfinished(outcome, refused)
    return outcome


async def send_status(subject: Subject, place: StatusPlace, make: MakeStatus) -> None:
    """Send the fields that differ; raise if the server refuses, ``GoneError`` if it is gone."""
    deps, ref = subject.deps, subject.ref
    status = make(subject.obj)
    request = place.request(ref, subject.obj, status)
    if request is None:
        return
    known = deps.settled.get(ref)
    if known is not None and known == (
        _differing(subject, place, status),
        version_of(subject.obj),
    ):
        return
    overtaken: ApiError | None = None
    for _ in range(ATTEMPTS_MAX):
        if overtaken is not None:
            await subject.refresh()
            status = make(subject.obj)
            request = place.edits(ref, subject.obj, status)
            if request is None:
                return
        try:
            await subject.send(request)
        except NotFoundError as error:
            raise GoneError(str(ref)) from error
        except ApiError as error:
            if not is_overtaken(error):
                raise
            overtaken = error
        else:
            _settle(subject, place, status)
            return
    raise ConflictError(409, "Conflict", str(overtaken))


def _settle(subject: Subject, place: StatusPlace, status: Json) -> None:
    """Remember the status if the server stored it differently from how it was sent."""
    if place.request(subject.ref, subject.obj, status) is None:
        subject.deps.settled.pop(subject.ref, None)
    else:
        left = (_differing(subject, place, status), version_of(subject.obj))
        subject.deps.settled[subject.ref] = left


def _differing(subject: Subject, place: StatusPlace, status: Json) -> str:
    """Return a hash of the status fields that differ from the object's."""
    return fingerprint(changes_of(place.seen(subject.obj), status))
