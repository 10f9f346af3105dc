"""Whether a refused change is worth a new object (``recreate=True``).

Some fields cannot be changed once they are set: a Deployment's selector, a Job's template, data of
an immutable ConfigMap, whatever a CRD's transition rule protects.  The API server answers 422, and
the only way on is to delete the object and to create it again.  Nothing in that answer says
"immutable" in a form that a program can rely on; the texts differ from kind to kind and a
transition rule has the text that its author gave it.  So the decision has two steps:

1. One of the causes is about a field of the output, with one of the reasons that validation uses
   for a value that it does not like.  An immutable field and a plainly wrong value look alike here.
2. A create of the output with ``dryRun=All`` is sent (the trial).  The server validates a new
   object before it looks whether the name is taken.  So ``AlreadyExists`` means that the output is
   valid as a new object, and deleting the old one helps; 422 means that the value is wrong
   anyway, and the object stays.

Not handled: a change that is refused by an admission webhook or policy without causes, and a new
object that conflicts with what the old one holds (a Service's node port, a quota).  The condition
then says what the server said, and the object stays.
"""

import re
from typing import NamedTuple

from myrmidon.api.objects import Json
from myrmidon.api.requests import Request
from myrmidon.errors import InvalidError
from myrmidon.sets.output_set import Apply
from myrmidon.sets.ownership import Parent
from myrmidon.sets.planning import plan_create, plan_delete

# The reasons that validation gives for a value; a CRD's rule may choose any of them.
_REASONS = frozenset(
    ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
)
_WHOLE_OBJECT = ("", "<nil>")  # the field of a rule on the root of a schema


class Recreation(NamedTuple):
    """How to replace an object: the trial comes first, and only ``AlreadyExists`` allows the removal."""

    trial: Request
    removal: Request


def plan_recreate(
    output: Apply, current: Json, parent: Parent, refusal: InvalidError
) -> Recreation | None:
    """Decide how to replace an object whose change was refused; None where that was not asked for."""
    if not output.options.recreate or not _concerns(output, refusal):
        return None
    removal = plan_delete(output.ref, current)
    if removal is None:
        return None
    created = plan_create(output, parent)
    return Recreation(created._replace(query=(*created.query, ("dryRun", "All"))), removal)


def _concerns(output: Apply, refusal: InvalidError) -> bool:
    """Whether a cause is about the content that the output declares; metadata is not recreated."""
    for cause in refusal.causes:
        field = str(cause.get("field") or "")
        top = re.split(r"[.\[]", field, maxsplit=1)[0]
        declared = field in _WHOLE_OBJECT or (top != "metadata" and top in output.manifest)
        if declared and cause.get("reason") in _REASONS:
            return True
    return False
