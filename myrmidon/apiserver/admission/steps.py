"""Admission: the steps between decoding and validating a write may change the object, or refuse it.

A step is a plain function of values (``AdmissionStep``).  One that has to ask a webhook over the network
raises ``WebhookNeeded``: the front of the server sends the question and runs the request again with
the reply.
"""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.call import Admission


def run_mutating(admission: Admission) -> Json | None:
    """Let every step change the object."""
    for step in admission.call.core.admission:
        changed = step.admit(admission)
        if changed is not None:
            admission.obj = changed
    return admission.obj


def run_validating(admission: Admission) -> None:
    """Let every step refuse the object."""
    for step in admission.call.core.admission:
        step.check(admission)
