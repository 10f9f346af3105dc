"""Carry out the policies ``observe`` and ``orphan`` (``fsm.declaration.policies``)."""

from collections.abc import Sequence

from myrmidon.errors import ManagersUnknownError, MyrmidonError
from myrmidon.fsm.declaration.policies import POLICY
from myrmidon.fsm.engine import ACTED, Report
from myrmidon.fsm.machine.results import Wait
from myrmidon.runtime.reconcile.blocked_deletion import child_refused
from myrmidon.runtime.reconcile.subject import Subject
from myrmidon.runtime.reconcile.tracked_children import Flush
from myrmidon.runtime.reconcile.unrecorded_children import settle_unsure
from myrmidon.runtime.reconcile.unseen_children import read_unseen
from myrmidon.runtime.reconcile.write_errors import refusal
from myrmidon.sets.outputs.outputs import Output, Release, describe_output
from myrmidon.sets.planning import plan

OBSERVED = "ObserveOnly"


def observe(subject: Subject, outputs: Sequence[Output], *, creating: bool) -> Report:
    """Compare the outputs with the cached objects; report ``Wait`` if one would be written.

    So the condition of a state is True only if everything is as the state declares it.
    """
    pending: list[str] = []
    for output in outputs:
        current = subject.deps.objects.get(output.ref)
        verb = "patch"
        try:
            request = plan(output, current, subject.parent, creating=creating)
            if request is None:
                continue
            verb = str(request.verb)
        except ManagersUnknownError:
            pass
        except MyrmidonError as error:
            return refusal(output.ref, error)
        pending.append(f"{verb} {describe_output(output)}")
    if not pending:
        return ACTED
    return Wait(
        OBSERVED,
        f"the policy is observe, so nothing is written; it would {', '.join(pending)}. "
        f"The annotation {POLICY} of the object, or ControllerOptions.policy, sets the policy",
    )


async def release_children(subject: Subject, flush: Flush) -> Report:
    """Take the owner reference or the tracking label from every child, so that all of them stay."""
    seen: list[Release] = []
    name, ref = subject.deps.controller.name, subject.ref
    try:
        await settle_unsure(subject)
        for ref in dict.fromkeys((*subject.managed.recorded(subject.obj), *subject.children())):
            if subject.deps.objects.covers(ref):
                seen.append(Release(ref, name))
                continue
            child = await read_unseen(subject, ref)
            request = child and plan(Release(child.ref, name), child.obj, subject.parent)
            if request is not None:
                await subject.deps.applicator.send(request, by=subject.by)
    except MyrmidonError as error:
        return child_refused(ref, error)
    return await flush(seen, "finalizer") if seen else ACTED
