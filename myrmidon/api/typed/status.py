"""``Status``, the base class of typed statuses, and the merge patch of what a pass changed in one.

The patch is computed from the JSON of the status as it was read and as it is now.  So a change
inside a list or map is found, and a timestamp that the server only spells differently is not a
change.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.markers import OpenApi
from myrmidon.api.typed.model import Model
from myrmidon.api.values.merge_differences import merge_patch_between
from myrmidon.errors import StatusError

_CONDITIONS: Json = {
    "type": "array",
    "description": "What is known about the object, one entry per fact.",
    "items": {
        "type": "object",
        "required": ["type", "status"],
        "properties": {
            "type": {"type": "string"},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "reason": {"type": "string"},
            "message": {"type": "string"},
            "observedGeneration": {"type": "integer", "format": "int64"},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
        },
    },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
_RESOURCE_REFS: Json = {
    "type": "array",
    "description": "The objects that this object manages.",
    "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "x-kubernetes-list-type": "atomic",
}

LAST_HANDLED, ATTEMPTS, NEXT_ATTEMPT = "lastHandledReconcileAt", "attempts", "nextAttempt"
OCCASIONAL_FIELDS: dict[str, Json] = {
    LAST_HANDLED: {
        "type": "string",
        "description": "The last reconcile token that a finished pass has seen.",
    },
    ATTEMPTS: {
        "type": "integer",
        "format": "int64",
        "description": "How many attempts have failed in a row.",
    },
    NEXT_ATTEMPT: {
        "type": "string",
        "format": "date-time",
        "description": "When the next attempt is made, unless the object changes before.",
    },
}
"""Fields that the framework writes only on request, and their schemas.  They are in the schema of
every status, so that the server does not drop them; they are not attributes of ``Status``, so a
class may declare a field of the same name for itself."""
_EXTERNALS: Json = {
    "type": "object",
    "description": "The ledger of resources outside the cluster, one entry per name.",
    "additionalProperties": {
        "type": "object",
        "required": ["state", "sequence", "token"],
        "properties": {
            "state": {
                "type": "string",
                "description": "Pending until the id is known, Created, or Removed.",
                "enum": ["Pending", "Created", "Removed"],
            },
            "sequence": {
                "type": "integer",
                "format": "int64",
                "description": "Counts the resources that were created under this name.",
            },
            "token": {"type": "string", "description": "The idempotency token of its creation."},
            "id": {"type": "string", "description": "The id in the external system."},
            "at": {
                "type": "string",
                "format": "date-time",
                "description": "When the creation was attempted, or answered.",
            },
        },
    },
}

FRAMEWORK_FIELDS = {
    "conditions": "conditions",
    "observedGeneration": "observed_generation",
    "resourceRefs": "resource_refs",
}
"""The fields that the framework writes, by their names on the wire and in Python."""
_WITH_EXTERNALS = {**FRAMEWORK_FIELDS, "externals": "externals"}


class Status(Model):
    """The status fields that the framework writes on every resource that has a controller."""

    FRAMEWORK_FIELDS: ClassVar[Mapping[str, str]] = FRAMEWORK_FIELDS

    conditions: Annotated[list[Json], OpenApi(_CONDITIONS)] = Field(default_factory=list)
    observed_generation: Annotated[int | None, OpenApi({"type": "integer", "format": "int64"})] = (
        None
    )
    resource_refs: Annotated[list[Json], OpenApi(_RESOURCE_REFS)] = Field(default_factory=list)


class ExternalStatus(Status):
    """The base class of statuses of resources whose controller has ``externals``.

    ``externals`` is the ledger: state, sequence, token and, once it is known, id of each external
    resource, by name.  The framework writes it; states can read it:
    ``claim.status.externals["database"]["id"]``.
    """

    FRAMEWORK_FIELDS: ClassVar[Mapping[str, str]] = _WITH_EXTERNALS

    externals: Annotated[dict[str, Json], OpenApi(_EXTERNALS)] = Field(default_factory=dict)


def difference(status: Status, read: Any) -> Json:
    """Return the merge patch from the status as it was read to its current value; ``{}`` for none.

    The fields that the framework writes, such as conditions and resourceRefs, are left out.
    Raise ``StatusError`` if a state has changed the conditions.
    """
    _check_conditions(status.conditions, (read or {}).get("conditions"))
    written = status.FRAMEWORK_FIELDS
    mine = {key: value for key, value in (read or {}).items() if key not in written}
    before: Json = type(status).from_wire(mine).to_wire() if mine else {}
    after = status.to_wire(without=written.values())
    return merge_patch_between(before, after)


def _check_conditions(now: list[Json], read: Any) -> None:
    """Raise for conditions that a state has set: they would be lost.

    A new status object has none, and that is not a change: states may replace their status.
    """
    if now and now != read:
        raise StatusError(
            "a state has changed status.conditions, which the framework writes.\n"
            "  fix: return Done(condition=ConditionValue(...)) from the state that owns the condition; "
            "for other facts add a field to the status"
        )
