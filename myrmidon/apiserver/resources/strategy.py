"""The hooks that the verbs call for the rules of one resource type.

The methods of ``Strategy`` are the defaults, for a resource without rules of its own.  Custom
resources and built-in kinds have subclasses.
"""

# ruff: noqa: ARG002 - a hook that does nothing uses none of its arguments

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.fields.versions import NO_RESET, ResetFields
from myrmidon.apiserver.refusals import names
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.resources.tables import Layout
from myrmidon.apiserver.schema_node import Schema

_ANYTHING = Schema()


class DecodeError(Exception):
    """The body cannot be decoded into an object of its type; the message is Go's."""


class Decoded(NamedTuple):
    """A decoded object, and the paths of the fields that its type does not have."""

    obj: Json
    unknown: list[str]


class Strategy:
    """The rules of one resource type.  Hooks may change the objects they get, which are copies."""

    creates_on_update = False  # PUT creates an object that does not exist
    allows_unconditional_update = True  # PUT may leave out resourceVersion
    deletes_gracefully = True  # deletionTimestamp counts as a change, with a grace period
    answers_deleted_object = False  # DELETE returns the object even if it is removed
    collects_garbage = True  # propagation policies set finalizers
    is_converted = False  # stored objects may need a webhook to be shown
    orphans_by_default: bool = False  # DELETE without a policy orphans dependents

    @property
    def schema(self) -> Schema:
        """The schema of the objects."""
        return _ANYTHING

    @property
    def layout(self) -> Layout:
        """The columns of tables."""
        raise NotImplementedError

    def decode(self, body: Json) -> Decoded:
        """Return the body as an object, without unknown fields; raise ``DecodeError``."""
        return Decoded(body, [])

    def read_applied(self, obj: Json) -> Json:
        """Return the result of a server-side apply as an object; raise ``DecodeError``.

        The result already fits the schema.
        """
        return self.decode(obj).obj

    def default(self, obj: Json) -> None:
        """Set the default values of missing fields."""

    def prepare_create(self, obj: Json) -> None:
        """Reset the fields that a client may not set; set the first generation."""

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        """Reset the fields that this subresource may not change; increment the generation."""

    def validate_create(self, obj: Json) -> list[StatusCause]:
        """Return the problems of a new object, except those in its metadata."""
        return []

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[StatusCause]:
        """Return the problems of an update, except those in the metadata."""
        return []

    def delete_warnings(self, policy: str) -> list[str]:
        """Return warnings for a delete; ``policy`` is empty if none was given."""
        return []

    def grace_seconds(self, obj: Json, wanted: int | None) -> int | None:
        """Return the grace period of a delete; None if the object is removed at once."""
        return None

    def is_held(self, obj: Json) -> bool:
        """Whether a deleted object must be kept for a reason other than finalizers."""
        return False

    def mark_deleting(self, obj: Json, timestamp: str) -> None:
        """Change the fields that change when a deletion begins, besides the metadata."""

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        """Return warnings for a successful write."""
        return []

    def name_problems(self, name: str, *, prefix: bool = False) -> list[str]:
        """Return the problems of a name, or of a generateName if ``prefix`` is true."""
        return names.subdomain_problems(name, prefix=prefix)

    def reset_fields(self, subresource: str) -> ResetFields:
        """Return the fields that a write to this subresource cannot change, and so does not own."""
        return NO_RESET

    def blank(self) -> Json | None:
        """Return the object before the first write; None if there is none."""
        return None

    def read(self, value: Json) -> Json:
        """Return a stored value as this version shows it.  Must not change the value."""
        return value

    def read_together(self, values: Iterable[Json]) -> None:
        """Prepare to read several stored values: a webhook is asked for all of them at once."""

    def store(self, obj: Json) -> Json:
        """Return an object of this version in its storage version.  May change the object."""
        return obj

    def convert(self, obj: Json, api_version: str) -> Json:
        """Return an object in another version of its kind.  Must not change the object."""
        return obj | {"apiVersion": api_version}

    def fields(self, obj: Json) -> Mapping[str, str]:
        """Return the fields that field selectors may use, besides name and namespace."""
        return {}

    def selectable(self, label: str) -> bool:
        """Whether a field selector may use this field."""
        return False
