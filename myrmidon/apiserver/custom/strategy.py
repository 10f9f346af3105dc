"""The rules for objects of a custom resource: decoding, defaults, pruning, generation, validation.

Objects are stored in the storage version.  Conversion between versions changes only ``apiVersion``;
for conversion by a webhook see ``converting``.  A stored object is read with the current schema of the
storage version, so a changed schema applies to objects that were stored before.  With a status
subresource, writes to the main path keep the old status, and writes to ``/status`` keep everything
else.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.custom.printer_columns import CustomLayout
from myrmidon.apiserver.fields.resets import custom_reset_fields
from myrmidon.apiserver.fields.versions import ResetFields
from myrmidon.apiserver.golang.types import go_type
from myrmidon.apiserver.refusals.causes import invalid
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.resources.generation import (
    generation_of,
    grow_generation,
    start_generation,
)
from myrmidon.apiserver.resources.metadata import finalizer_warnings
from myrmidon.apiserver.resources.strategy import Decoded, DecodeError, Strategy
from myrmidon.apiserver.resources.tables import Layout
from myrmidon.apiserver.schema.conforming import conform, reshape
from myrmidon.apiserver.schema.defaulting import default
from myrmidon.apiserver.schema.embedded import EmbeddedError
from myrmidon.apiserver.schema.object_meta import ObjectMetaError, decode_object_meta
from myrmidon.apiserver.schema.pruning import prune
from myrmidon.apiserver.schema.validation import check_object, check_status
from myrmidon.apiserver.schema_node import Schema

_NOTHING = Schema()
_INT32_MAX = 2**31 - 1


class CustomStrategy(Strategy):
    """The rules for one version of a custom resource."""

    allows_unconditional_update = False

    def __init__(
        self,
        *,
        api_version: str,
        kind: str,
        schema: Schema,
        storage_api_version: str,
        storage_schema: Schema,
        status: bool,
        selectable: Mapping[str, tuple[str, ...]],
        columns: Sequence[Json] = (),
        replicas: tuple[tuple[str, ...], ...] = (),
    ) -> None:
        self._api_version, self._kind = api_version, kind
        self._schema, self._storage_schema = schema, storage_schema
        self._storage_api_version = storage_api_version
        self._status = status
        self._selectable = selectable
        self._columns = columns
        self._replicas = replicas  # paths of the scale's desired and actual replicas

    @property
    def schema(self) -> Schema:
        """The compiled schema of this version."""
        return self._schema

    @cached_property
    def layout(self) -> Layout:
        """The columns that the definition lists."""
        return CustomLayout(self._columns)

    # ------------------------------------------------------------------------- reading

    def decode(self, body: Json) -> Decoded:
        """Decode the metadata by its Go type, and the rest by the schema.  Changes the body."""
        body["metadata"], unknown = _decode_metadata(body.get("metadata"))
        known = self._schema if body.get("apiVersion") == self._api_version else _NOTHING
        try:
            unknown += conform(body, known)
        except EmbeddedError as error:
            raise DecodeError(str(error)) from None
        return Decoded(body, unknown)

    def read_applied(self, obj: Json) -> Json:
        """Decode the metadata only: nulls of an applied configuration stay, and fail validation."""
        obj["metadata"], _ = _decode_metadata(obj.get("metadata"))
        return obj

    def default(self, obj: Json) -> None:
        """Set the defaults of the schema."""
        default(obj, self._schema)

    def read(self, value: Json) -> Json:
        """Return a stored object as this version shows it.

        The current schema of the storage version prunes and defaults it.  The schema of another
        version then prunes it further, but its defaults are not set.
        """
        obj = reshape(value, self._storage_schema)
        obj["apiVersion"] = self._api_version
        if self._schema is not self._storage_schema:
            prune(obj, self._schema)
        return obj

    def store(self, obj: Json) -> Json:
        """Return the object with the apiVersion of the storage version, the only difference."""
        obj["apiVersion"] = self._storage_api_version
        return obj

    # ------------------------------------------------------------------------- writing

    def prepare_create(self, obj: Json) -> None:
        """Drop the status if it is a subresource, and set the first generation."""
        if self._status:
            obj.pop("status", None)
        start_generation(obj)

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        """Restore the part that this path may not change; increment the generation on a change.

        With a status subresource, changes of the status do not count.
        """
        if subresource == "status":
            status = obj.get("status")
            meta, version = old["metadata"], obj["metadata"].get("resourceVersion")
            managed = obj["metadata"].get("managedFields")
            obj.clear()
            obj.update(old, metadata=dict(meta))
            _set(obj["metadata"], "managedFields", managed)
            _set(obj["metadata"], "resourceVersion", version)
            _set(obj, "status", status)
            return
        if self._status:
            _set(obj, "status", old.get("status"))
        ignored = {"metadata", "status"} if self._status else {"metadata"}
        if identical(_without(obj, ignored), _without(old, ignored)):
            obj["metadata"]["generation"] = generation_of(old)
        else:
            grow_generation(obj, old)

    def validate_create(self, obj: Json) -> list[StatusCause]:
        """Return the violations of the schema and its rules."""
        causes = self._type_causes(obj) + check_object(obj, self._schema)
        return causes + _number_causes(obj, self._replicas)

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[StatusCause]:
        """Return the violations of the schema and its rules that are new in this update."""
        causes = self._type_causes(obj)
        if subresource == "status":
            causes += check_status(obj, self._schema, old)
            return causes + _number_causes(obj, self._replicas[1:])
        causes += check_object(obj, self._schema, old)
        return causes + _number_causes(obj, self._replicas)

    def reset_fields(self, subresource: str) -> ResetFields:
        """Return the fields of the other path: status, or everything but status."""
        return custom_reset_fields(subresource, has_status=self._status)

    def _type_causes(self, obj: Json) -> list[StatusCause]:
        causes: list[StatusCause] = []
        if obj.get("kind") != self._kind:
            causes.append(invalid("kind", obj.get("kind"), f"must be {self._kind}"))
        if obj.get("apiVersion") != self._api_version:
            problem = f"must be {self._api_version}"
            causes.append(invalid("apiVersion", obj.get("apiVersion"), problem))
        return causes

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        """Return warnings about new finalizers."""
        return finalizer_warnings(obj["metadata"], old["metadata"] if old else None)

    # ------------------------------------------------------------------------- field selectors

    def selectable(self, label: str) -> bool:
        """Whether the definition lists the field in ``selectableFields``."""
        return label in self._selectable

    def fields(self, obj: Json) -> Mapping[str, str]:
        """Return the selectable fields as strings; a missing field is empty."""
        return {label: _text_at(obj, path) for label, path in self._selectable.items()}


def _number_causes(obj: Json, paths: Sequence[tuple[str, ...]]) -> list[StatusCause]:
    """Return the problems of replicas that a Scale cannot hold: not an integer, or out of range."""
    causes: list[StatusCause] = []
    for path in paths:
        value, field = _at(obj, path), f".{'.'.join(path)}"
        if value is None:
            continue
        if type(value) is not int:
            problem = (
                f"{field} accessor error: {value} is of the type {go_type(value)}, expected int64"
            )
            causes.append(invalid(field, 0, problem))
        elif value < 0:
            causes.append(invalid(field, value, "should be a non-negative integer"))
        elif value > _INT32_MAX:
            causes.append(invalid(field, value, f"should be less than or equal to {_INT32_MAX}"))
    return causes


def _decode_metadata(value: Any) -> tuple[Json, list[str]]:
    """Return the metadata of a body, and the paths of its unknown fields."""
    try:
        decoded, unknown = decode_object_meta(value)
    except ObjectMetaError as error:
        raise DecodeError(str(error)) from None
    return decoded, [f"metadata.{path}" for path in unknown]


def _set(target: Json, key: str, value: Any) -> None:
    if value is None:
        target.pop(key, None)
    else:
        target[key] = value


def _without(obj: Json, keys: set[str]) -> Json:
    return {key: value for key, value in obj.items() if key not in keys}


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def _text_at(obj: Any, path: tuple[str, ...]) -> str:
    value = _at(obj, path)
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
