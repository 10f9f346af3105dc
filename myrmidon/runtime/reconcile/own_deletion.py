"""Delete the object of a pass: ``out.delete_self()``.

The request carries the uid and the resourceVersion of the object as the pass has it, so a decision
that was made on an old version never deletes a newer one: the server answers 409, and the pass is
repeated.  After the delete there is no object to write a status to, and children that a later state
would create were garbage, so the pass ends (``SelfDeletedError``).

The watch event of the delete is the pass's own, which does not trigger a pass.  If a finalizer holds
the object, its deletion has to be worked on, so the reconciler requeues it.
"""

from myrmidon.errors import MyrmidonError, NotFoundError
from myrmidon.fsm.engine import ACTED, Report
from myrmidon.fsm.machine.results import Wait
from myrmidon.runtime.reconcile.policies import OBSERVED
from myrmidon.runtime.reconcile.subject import GoneError, Subject
from myrmidon.runtime.reconcile.write_errors import refusal
from myrmidon.sets.outputs.outputs import Propagation
from myrmidon.sets.planning import plan_delete


class SelfDeletedError(GoneError):
    """A state deleted the object of its own pass, so the pass is over."""


async def delete_own(subject: Subject, propagation: Propagation, state: str) -> Report:
    """Delete the object; return why not, or ``ACTED`` if it is being deleted already."""
    request = plan_delete(subject.ref, subject.obj, propagation, unchanged=True)
    if request is None:
        return ACTED
    if subject.policy == "observe":
        return Wait(
            OBSERVED, "the policy is observe, so nothing is written; it would delete itself"
        )
    try:
        deps = subject.deps
        await deps.applicator.send(request, by=subject.by, author=deps.declarers[state].author)
    except NotFoundError:
        pass  # it was deleted meanwhile
    except MyrmidonError as error:
        return refusal(subject.ref, error)
    raise SelfDeletedError(str(subject.ref))
