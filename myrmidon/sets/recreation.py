"""Decide whether to delete and recreate an object whose change was refused (``recreate=True``).

Some fields cannot be changed once they are set: a Deployment's selector, a Job's template, data of
an immutable ConfigMap, the fields that a CRD's transition rule protects.  The API server answers
422, and the only remedy is to delete the object and create it again.  The answer does not say
"immutable" in a form that a program can rely on: the texts differ from kind to kind, and a
transition rule has the text that its author gave it.  So the decision has two steps:

1. One of the causes must be about a field of the output, with one of the reasons that validation
   gives for a bad value.  An immutable field and an invalid value look the same here.
2. A create of the output with ``dryRun=All`` is sent (the trial).  The server validates a new
   object before it checks whether the name is taken.  So ``AlreadyExists`` means that the output is
   valid as a new object, and deleting the old one helps; 422 means that the value is invalid in
   any case, and the object stays.

Not handled: a change that is refused by an admission webhook or policy without causes, and a new
object that needs what the old one still holds (a Service's node port, a quota).  The object then
stays, and the condition has the server's message.
"""

import re
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.request import Request
from myrmidon.errors import InvalidError
from myrmidon.sets.outputs.outputs import Apply
from myrmidon.sets.ownership.owner_references import Parent
from myrmidon.sets.planning import plan_create, plan_delete

# The reasons that validation gives for a bad value; a CRD's rule may use any of them.
_REASONS = frozenset(
    ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
)
_WHOLE_OBJECT = ("", "<nil>")  # the field of a rule on the root of a schema


class Recreation(NamedTuple):
    """The two requests that replace an object.

    The trial is sent first; the removal is sent only if the answer is ``AlreadyExists``.
    """

    trial: Request
    removal: Request


def plan_recreate(
    output: Apply, current: Json, parent: Parent, refusal: InvalidError
) -> Recreation | None:
    """Return the requests that replace an object whose change was refused.

    None if the output does not ask for it, the refusal is not about its content, or the object is
    already being deleted.
    """
    if not output.options.recreate or not _concerns(output, refusal):
        return None
    removal = plan_delete(output.ref, current)
    if removal is None:
        return None
    created = plan_create(output, parent)
    return Recreation(created._replace(query=(*created.query, ("dryRun", "All"))), removal)


def _concerns(output: Apply, refusal: InvalidError) -> bool:
    """Whether a cause is about content that the output declares; metadata does not count."""
    for cause in refusal.causes:
        field = str(cause.get("field") or "")
        top = re.split(r"[.\[]", field, maxsplit=1)[0]
        declared = field in _WHOLE_OBJECT or (top != "metadata" and top in output.manifest)
        if declared and cause.get("reason") in _REASONS:
            return True
    return False
