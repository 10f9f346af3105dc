"""Adding and removing our finalizer on the object of a pass."""

from myrmidon.api.objects import finalizers_of
from myrmidon.api.requests import Request
from myrmidon.errors import ConflictError, InvalidError, MyrmidonError, NotFoundError
from myrmidon.fsm.engine import ACTED, Report
from myrmidon.fsm.finalizers import add_finalizer, remove_finalizer
from myrmidon.runtime.refusals import refusal
from myrmidon.runtime.subject import GoneError, Subject


async def ensure_finalizer(subject: Subject) -> Report:
    """Add our finalizer; ``Acted`` once the server has confirmed it."""
    request = add_finalizer(subject.ref, subject.obj, subject.crew.controller.finalizer())
    try:
        subject.obj = await subject.crew.applicator.send(request, by=subject.by)
    except NotFoundError as error:
        raise GoneError(str(subject.ref)) from error
    except MyrmidonError as error:
        return await _refused(subject, error)
    return ACTED


async def release_finalizer(subject: Subject) -> Report:
    """Remove our finalizer, so that the server can delete the object."""
    finalizer = subject.crew.controller.finalizer()
    if finalizer not in finalizers_of(subject.obj):
        return ACTED  # another party removed it during the pass
    request: Request = remove_finalizer(subject.ref, subject.obj, finalizer)
    try:
        await subject.crew.applicator.send(request, by=subject.by)
    except NotFoundError:
        return ACTED
    except MyrmidonError as error:
        return await _refused(subject, error)
    return ACTED


async def _refused(subject: Subject, error: MyrmidonError) -> Report:
    """Turn a failed edit into a result.  422 without causes means that a ``test`` operation failed."""
    overtaken = isinstance(error, InvalidError) and not error.causes
    if overtaken or isinstance(error, ConflictError):
        return await subject.read_again()
    return refusal(subject.ref, error)
