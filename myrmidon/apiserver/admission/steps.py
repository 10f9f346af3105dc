"""Run the admission steps, which may change or refuse a write between decoding and validation.

A step is a plain object without I/O (``AdmissionStep``).  A step that needs a webhook raises
``WebhookNeeded``: the front calls the webhook and runs the request again with its reply.
"""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.requests.call import PendingWrite


def run_mutating(admission: PendingWrite) -> Json | None:
    """Run ``admit`` of every step in order, and return the object as the steps left it.

    If webhooks or policies have changed the object, all steps are run once more.
    """
    _admit(admission)
    if admission.is_changed:
        admission.again = True
        _admit(admission)
    return admission.obj


def _admit(admission: PendingWrite) -> None:
    for step in admission.call.core.admission:
        changed = step.admit(admission)
        if changed is not None:
            admission.obj = changed


def run_validating(admission: PendingWrite) -> None:
    """Run ``check`` of every step; each may refuse the write."""
    for step in admission.call.core.admission:
        step.check(admission)
