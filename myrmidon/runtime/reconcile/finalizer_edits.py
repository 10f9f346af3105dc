"""Add and remove our finalizer on the object of a pass.

Each edit is a JSON patch that tests only what it changes (``fsm.finalizers``).  If another writer
edits the list of finalizers at the same time, the test fails; then the object is read live and the
edit is computed again, at most ``ATTEMPTS_MAX`` times.  If that is not enough, the whole pass is
repeated with backoff.
"""

from collections.abc import Callable

from myrmidon.api.objects.accessors import finalizers_of, is_deleting
from myrmidon.api.requests.request import Request
from myrmidon.errors import MyrmidonError, NotFoundError
from myrmidon.fsm.engine import ACTED, Report
from myrmidon.fsm.metadata.finalizers import add_finalizer, remove_finalizer
from myrmidon.runtime.reconcile.subject import ATTEMPTS_MAX, GoneError, Subject
from myrmidon.runtime.reconcile.write_errors import is_overtaken, refusal


async def ensure_finalizer(subject: Subject) -> Report:
    """Add our finalizer; return ``Acted`` once the server has confirmed it."""
    finalizer = subject.deps.controller.finalizer()
    return await _edit(subject, add_finalizer, lambda: finalizer in finalizers_of(subject.obj))


async def release_finalizer(subject: Subject) -> Report:
    """Remove our finalizer, so that the server can delete the object; raise ``GoneError`` at a 404."""
    finalizer = subject.deps.controller.finalizer()
    return await _edit(
        subject, remove_finalizer, lambda: finalizer not in finalizers_of(subject.obj)
    )


async def _edit(subject: Subject, make: Callable[..., Request], done: Callable[[], bool]) -> Report:
    deleting = is_deleting(subject.obj)
    for _ in range(ATTEMPTS_MAX):
        if done():
            return ACTED
        if is_deleting(subject.obj) is not deleting:
            break  # the deletion began: the next pass runs other states
        request = make(subject.ref, subject.obj, subject.deps.controller.finalizer())
        try:
            await subject.send(request)
        except NotFoundError as error:
            raise GoneError(str(subject.ref)) from error
        except MyrmidonError as error:
            if not is_overtaken(error):
                return refusal(subject.ref, error)
            try:
                await subject.refresh()
            except MyrmidonError as unread:
                if isinstance(unread, GoneError):
                    raise
                return refusal(subject.ref, unread)
        else:
            return ACTED
    return subject.overtaken()
