"""The status write of a pass: sent once, not repeated where the server stores less than it took."""

from myrmidon.api.objects import Json, version_of
from myrmidon.errors import ConflictError, MyrmidonError, NotFoundError
from myrmidon.fsm.engine import Outcome, unfinished
from myrmidon.fsm.status import status_request
from myrmidon.runtime.refusals import refusal
from myrmidon.runtime.subject import GoneError, Subject
from myrmidon.sets.fingerprints import fingerprint


async def write_status(subject: Subject, status: Json, outcome: Outcome) -> Outcome:
    """Write the status if it differs; return the outcome, unfinished where the write failed."""
    crew, ref = subject.crew, subject.ref
    request = status_request(ref, subject.obj, status)
    if request is None:
        return outcome
    attempt = (fingerprint(request.body["status"]), version_of(subject.obj))
    if crew.settled.get(ref) == attempt:
        return outcome
    try:
        subject.obj = await crew.applicator.send(request, by=subject.by)
    except NotFoundError as error:
        raise GoneError(str(ref)) from error
    except ConflictError:
        return unfinished(outcome, await subject.read_again())
    except MyrmidonError as error:
        refused = refusal(ref, error)
        subject.log.warning("status refused", error=str(error))
        subject.event("Warning", "StatusRefused", str(error))
        return unfinished(outcome, refused)
    _settle(subject, status)
    return outcome


def _settle(subject: Subject, status: Json) -> None:
    """Remember a status that the server stored differently: a schema may drop what we say."""
    again = status_request(subject.ref, subject.obj, status)
    if again is None:
        subject.crew.settled.pop(subject.ref, None)
    else:
        left = (fingerprint(again.body["status"]), version_of(subject.obj))
        subject.crew.settled[subject.ref] = left
