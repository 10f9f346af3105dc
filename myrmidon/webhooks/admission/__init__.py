"""Admission: validation and defaulting in Python, declared on classes and decided as values.

Most checks need no webhook: constraints of models, ``Rule`` and ``Immutable`` go into the CRD, and
the server enforces them.  This package is for the checks that must be Python.

    declarations   ``@validates`` and ``@defaults``, and the terms of the webhook that calls a method
    rules          ``Admission``: validators and defaults for kinds whose class is not ours
    requests       ``AdmissionRequest``: the write that is judged; ``AdmissionContext``: cached reads
    webhooks       which webhooks a class needs: methods with the same terms share one
    reviews        AdmissionReview in, AdmissionReview out: runs the methods, never raises
    refusals       the text and the Status of a refusal, in the words of the API server

Nothing here does I/O.  ``runtime.webhooks`` serves the reviews over HTTPS and answers the reads of
validators; ``generate.manifests.webhooks`` writes the webhook configurations.
"""

from myrmidon.webhooks.admission.declarations import defaults, validates
from myrmidon.webhooks.admission.requests import AdmissionContext, AdmissionRequest, UserInfo
from myrmidon.webhooks.admission.rules import Admission

__all__ = [
    "Admission",
    "AdmissionContext",
    "AdmissionRequest",
    "UserInfo",
    "defaults",
    "validates",
]
