"""What is special about the objects of one resource: the hooks that the pipelines call.

The methods here are what holds for a resource without any rules of its own.  Custom resources and
built-in kinds each have a subclass.
"""

# ruff: noqa: ARG002 - a hook that does nothing uses none of its arguments

from collections.abc import Mapping
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver import names
from myrmidon.apiserver.failures import StatusCause
from myrmidon.apiserver.fields.versions import NO_RESET, ResetFields
from myrmidon.apiserver.resources.tables import Layout
from myrmidon.apiserver.schema_node import Schema

_ANYTHING = Schema()


class DecodeError(Exception):
    """A body that cannot become an object of its type; the text is Go's."""


class Decoded(NamedTuple):
    """An object in the shape of its type, and the paths of fields that the type does not know."""

    obj: Json
    unknown: list[str]


class Strategy:
    """Rules for the objects of one resource.  Objects handed in are private copies: change them."""

    creates_on_update = False  # PUT of what is not there makes it
    allows_unconditional_update = True  # PUT without a resourceVersion
    deletes_gracefully = True  # a mark of deletion counts as a change, and has a time to go
    answers_deleted_object = False  # DELETE answers with the object even when it is gone
    collects_garbage = True  # propagation policies leave finalizers
    orphans_by_default: bool = False  # a deletion that says nothing leaves the dependents alone

    @property
    def schema(self) -> Schema:
        """The type of the objects."""
        return _ANYTHING

    @property
    def layout(self) -> Layout:
        """The columns of tables."""
        raise NotImplementedError

    def decode(self, body: Json) -> Decoded:
        """Read a body: drop what the type does not know; raises ``DecodeError``."""
        return Decoded(body, [])

    def read_applied(self, obj: Json) -> Json:
        """Read the result of a server-side apply, which fits the schema; raises ``DecodeError``."""
        return self.decode(obj).obj

    def default(self, obj: Json) -> None:
        """Fill in what was left out."""

    def prepare_create(self, obj: Json) -> None:
        """Reset what a client may not set; give the first generation."""

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        """Reset what this subresource may not change; count the generation."""

    def validate_create(self, obj: Json) -> list[StatusCause]:
        """What is wrong with a new object, beside its metadata."""
        return []

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[StatusCause]:
        """What is wrong with a change, beside the metadata."""
        return []

    def delete_warnings(self, policy: str) -> list[str]:
        """Advice that goes with a deletion; ``policy`` is empty where none was given."""
        return []

    def grace_seconds(self, obj: Json, wanted: int | None) -> int | None:
        """How long a deleted object stays by itself; None: it does not."""
        return None

    def is_held(self, obj: Json) -> bool:
        """Whether anything but finalizers keeps a deleted object."""
        return False

    def mark_deleting(self, obj: Json, timestamp: str) -> None:
        """Change what else changes when a deletion begins."""

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        """Advice that goes with a successful write."""
        return []

    def name_problems(self, name: str, *, prefix: bool = False) -> list[str]:
        """What is wrong with a name; ``prefix``: it will get a random end."""
        return names.subdomain_problems(name, prefix=prefix)

    def reset_fields(self, subresource: str) -> ResetFields:
        """The fields that a write does not decide, so that it does not come to own them."""
        return NO_RESET

    def blank(self) -> Json | None:
        """An object before the first write; None: nothing at all."""
        return None

    def read(self, value: Json) -> Json:
        """A stored value as this version shows it.  Must not change the value."""
        return value

    def store(self, obj: Json) -> Json:
        """An object of this version as the storage version has it.  May change the object."""
        return obj

    def fields(self, obj: Json) -> Mapping[str, str]:
        """The fields that a field selector may name, beside name and namespace."""
        return {}

    def selectable(self, label: str) -> bool:
        """Whether a field selector may name a field."""
        return False
