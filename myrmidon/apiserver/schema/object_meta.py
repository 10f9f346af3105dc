"""Decode the metadata of custom objects as Go does.

The real server reads the metadata of a custom object, and of objects embedded in it, into the same
struct as that of a built-in kind.  Only known fields are kept, each must be of the right type, and
empty fields are left out.  A value of the wrong type is an error with the message of Go's decoder.
"""

import re
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.golang.times import TimeError, parse_time
from myrmidon.apiserver.golang.types import json_kind

_OWNER = {
    "apiVersion": "string",
    "kind": "string",
    "name": "string",
    "uid": "types.UID",
    "controller": "bool",
    "blockOwnerDeletion": "bool",
}
_MANAGED = {
    "manager": "string",
    "operation": "v1.ManagedFieldsOperationType",
    "apiVersion": "string",
    "time": "v1.Time",
    "fieldsType": "string",
    "fieldsV1": "raw",
    "subresource": "string",
}
_FIELDS: dict[str, Any] = {
    "name": "string",
    "generateName": "string",
    "namespace": "string",
    "selfLink": "string",
    "uid": "types.UID",
    "resourceVersion": "string",
    "generation": "int64",
    "creationTimestamp": "v1.Time",
    "deletionTimestamp": "v1.Time",
    "deletionGracePeriodSeconds": "int64",
    "labels": {"": "string"},
    "annotations": {"": "string"},
    "ownerReferences": [("OwnerReference", _OWNER)],
    "finalizers": ["string"],
    "managedFields": [("ManagedFieldsEntry", _MANAGED)],
}
_GO_TYPES = {
    "labels": "map[string]string",
    "annotations": "map[string]string",
    "ownerReferences": "[]v1.OwnerReference",
    "finalizers": "[]string",
    "managedFields": "[]v1.ManagedFieldsEntry",
}
# The fields of an OwnerReference without `omitempty`: they are written even if they are empty.
_ALWAYS = ("apiVersion", "kind", "name", "uid")
_PYTHON = {"int64": int, "bool": bool, "raw": dict}


class ObjectMetaError(ValueError):
    """The metadata cannot be decoded; the message is that of Go's decoder."""


def decode_object_meta(metadata: Any) -> tuple[Json, list[str]]:
    """Return the metadata as it is stored, and the unknown fields that were dropped.

    Raises ``ObjectMetaError`` if a field has the wrong type.
    """
    if not isinstance(metadata, dict):
        if metadata is None:
            return {}, []
        found = json_kind(metadata)
        raise ObjectMetaError(f"json: cannot unmarshal {found} into Go value of type v1.ObjectMeta")
    unknown: list[str] = []
    return _decode_fields(metadata, "ObjectMeta", _FIELDS, "", unknown), unknown


def _decode_fields(
    fields: Json, struct: str, known: dict[str, Any], path: str, unknown: list[str]
) -> Json:
    decoded: Json = dict.fromkeys(_ALWAYS, "") if struct == "OwnerReference" else {}
    for name, value in fields.items():
        where = f"{path}{name}"
        if name not in known:
            unknown.append(where)
            continue
        if value is None:
            continue
        kept = _decode(value, known[name], f"{struct}.{where}", where, unknown)
        # A pointer keeps its zero value; the zero values of other types are left out.
        is_pointer = known[name] == "bool" or name == "deletionGracePeriodSeconds"
        # A client sends an empty list of managedFields to reset the field ownership.
        if kept or is_pointer or name == "managedFields":
            decoded[name] = kept
    return decoded


def _decode(value: Any, kind: Any, go_field: str, path: str, unknown: list[str]) -> Any:
    name = path.rpartition(".")[2].partition("[")[0]
    if isinstance(kind, dict):
        _expect(value, dict, go_field, _GO_TYPES[name])
        for item in value.values():
            if item is not None:
                _expect(item, str, go_field, "string")
        return {key: item or "" for key, item in value.items()}
    if isinstance(kind, list):
        _expect(value, list, go_field, _GO_TYPES[name])
        return [
            _decode_item(item, kind[0], go_field, f"{path}[{index}]", unknown)
            for index, item in enumerate(value)
        ]
    _expect(value, _PYTHON.get(kind, str), go_field, kind)
    if kind == "v1.Time":
        return _in_utc(value)
    return int(value) if kind == "int64" else value


def _in_utc(text: str) -> str:
    """Return a timestamp as it is stored: in UTC, with whole seconds."""
    try:
        return write_time(parse_time(text))
    except TimeError as error:
        raise ObjectMetaError(str(error)) from None


def _decode_item(item: Any, kind: Any, go_field: str, path: str, unknown: list[str]) -> Any:
    if not isinstance(kind, tuple):
        _expect("" if item is None else item, str, go_field, kind)
        return item or ""
    struct, known = kind
    _expect({} if item is None else item, dict, go_field, f"v1.{struct}")
    return _decode_fields(item or {}, struct, known, f"{path}.", unknown)


def _expect(value: Any, wanted: type, go_field: str, go_type: str) -> None:
    fits = type(value) is wanted or (wanted is int and type(value) is float and value.is_integer())
    if not fits:
        found = json_kind(value)
        # Go's message names the struct and the field, but not the index in a list.
        field = re.sub(r"\[\d+\]", "", go_field)
        raise ObjectMetaError(
            f"json: cannot unmarshal {found} into Go struct field {field} of type {go_type}"
        )
