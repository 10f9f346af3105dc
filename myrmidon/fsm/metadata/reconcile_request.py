"""The reconcile token: an annotation that asks for a pass, and its acknowledgement in the status.

A client writes any new value, by convention the time, to the annotation
``myrmidon.dev/reconcile-requested-at`` (``myrmidon reconcile`` does).  The change causes a pass like
any other change of the object.  When a pass that saw the value has finished, whatever its outcome,
the value is written to ``status.lastHandledReconcileAt``, so the client knows which status is the
answer.  Flux uses the same field for the same purpose.

A new token also begins the counting of failures anew: an object that waits in backoff is tried at
once and then again after the shortest delay, and one whose retries were given up is retried.
"""

from collections.abc import Mapping
from typing import Any

from myrmidon.api.objects.accessors import annotations_of, generation_of, status_fields
from myrmidon.api.typed.status import LAST_HANDLED

REQUESTED_AT = "myrmidon.dev/reconcile-requested-at"

Revision = tuple[int, str]
"""The generation and the reconcile token of an object: a new one is a reason to try again."""


def token_of(obj: Mapping[str, Any]) -> str:
    """Return the object's reconcile token; "" if it has none."""
    token = annotations_of(obj).get(REQUESTED_AT)
    return token if isinstance(token, str) else ""


def revision_of(obj: Mapping[str, Any]) -> Revision:
    """Return the object's generation and reconcile token."""
    return generation_of(obj), token_of(obj)


def is_handled(obj: Mapping[str, Any], token: str) -> bool:
    """Whether a pass that saw this token has finished."""
    return status_fields(obj).get(LAST_HANDLED) == token
