"""Embedded objects (``x-kubernetes-embedded-resource``): decode and validate them.

An embedded object has an apiVersion, a kind and metadata, with the rules of any other object.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes, names
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.schema.object_meta import ObjectMetaError, decode_object_meta
from myrmidon.apiserver.schema.trails import Trail, trail_to
from myrmidon.apiserver.schema_node import Schema

_ANNOTATIONS_MAX = 256 * 1024


class EmbeddedError(ValueError):
    """The kind or the metadata of an embedded object is of the wrong type."""

    def __init__(self, cause: StatusCause) -> None:
        super().__init__(f"{cause.field}: {cause.message}")
        self.cause = cause


def _trail(schema: Schema) -> Trail | None:
    return trail_to(schema, "embedded", lambda node: node.embedded_resource)


def coerce_embedded(obj: Any, schema: Schema, path: str = "") -> list[str]:
    """Decode the metadata of embedded objects, in place; return the unknown fields dropped, sorted.

    Raises ``EmbeddedError`` if it cannot be decoded: the request is malformed.
    """
    trail = _trail(schema)
    dropped: list[str] = []
    if trail is not None:
        _coerce(obj, trail, path, dropped)
    dropped.sort()
    return dropped


def _coerce(value: Any, trail: Trail, path: str, dropped: list[str]) -> None:
    if trail.here and isinstance(value, dict):
        for name in ("apiVersion", "kind"):
            if name in value and not isinstance(value[name], str):
                where = causes.child(path, name)
                raise EmbeddedError(causes.invalid(where, value[name], "must be a string"))
        if "metadata" in value:
            where = causes.child(path, "metadata")
            try:
                value["metadata"], unknown = decode_object_meta(value["metadata"])
            except ObjectMetaError as error:
                cause = causes.invalid(where, value["metadata"], str(error))
                raise EmbeddedError(cause) from error
            dropped.extend(f"{where}.{name}" for name in unknown)
    for child, item, where in trail.below(value, path):
        _coerce(item, child, where, dropped)


def check_embedded(obj: Any, schema: Schema, path: str = "") -> list[StatusCause]:
    """Return the errors in the apiVersion, kind and metadata of embedded objects."""
    trail = _trail(schema)
    found: list[StatusCause] = []
    if trail is not None:
        _check(obj, trail, path, found)
    return found


def _check(value: Any, trail: Trail, path: str, found: list[StatusCause]) -> None:
    if trail.here and isinstance(value, dict):
        _check_api_version(value.get("apiVersion"), causes.child(path, "apiVersion"), found)
        _check_kind(value.get("kind"), causes.child(path, "kind"), found)
        if isinstance(value.get("metadata"), dict):
            check_metadata(value["metadata"], causes.child(path, "metadata"), found)
    for child, item, where in trail.below(value, path):
        _check(item, child, where, found)


def _check_api_version(value: Any, path: str, found: list[StatusCause]) -> None:
    if _is_named(value, path, found) and value.count("/") > 1:
        found.append(causes.invalid(path, value, f"unexpected GroupVersion string: {value}"))


def _check_kind(value: Any, path: str, found: list[StatusCause]) -> None:
    if _is_named(value, path, found) and (broken := names.label1035_problems(value.lower())):
        detail = "may have mixed case, but should otherwise match: " + ",".join(broken)
        found.append(causes.invalid(path, value, detail))


def _is_named(value: Any, path: str, found: list[StatusCause]) -> bool:
    """Whether the value is a string that is not empty; otherwise add the error to ``found``."""
    if value is None:
        found.append(causes.required(path))
    elif not isinstance(value, str):
        found.append(causes.invalid(path, value, "must be a string"))
    elif not value:
        found.append(causes.invalid(path, value, "must not be empty"))
    else:
        return True
    return False


def check_metadata(metadata: Json, path: str, found: list[StatusCause]) -> None:
    """Add the errors of metadata to ``found``.  The name may be any segment of a URL path."""
    _complain(
        found,
        f"{path}.generateName",
        metadata.get("generateName") or "",
        names.path_segment_problems,
    )
    _complain(found, f"{path}.name", metadata.get("name") or "", names.path_segment_problems)
    if metadata.get("namespace"):
        _complain(found, f"{path}.namespace", metadata["namespace"], names.label_problems)
    for key, value in (metadata.get("labels") or {}).items():
        _complain(found, f"{path}.labels", key, names.qualified_problems)
        _complain(found, f"{path}.labels", value, names.label_value_problems)
    _check_annotations(metadata.get("annotations") or {}, f"{path}.annotations", found)
    for owner in metadata.get("ownerReferences") or ():
        _check_owner(owner, f"{path}.ownerReferences", found)
    for finalizer in metadata.get("finalizers") or ():
        _complain(found, f"{path}.finalizers", finalizer, names.qualified_problems)
    for index, entry in enumerate(metadata.get("managedFields") or ()):
        if entry.get("operation") not in ("Apply", "Update"):
            where = f"{path}.managedFields[{index}].operation"
            detail = "must be `Apply` or `Update`"
            found.append(causes.invalid(where, entry.get("operation") or "", detail))


def _complain(found: list[StatusCause], path: str, value: str, rule: names.Rule) -> None:
    found.extend(causes.invalid(path, value, text) for text in rule(value))


def _check_annotations(annotations: Json, path: str, found: list[StatusCause]) -> None:
    for key in annotations:
        found.extend(
            causes.invalid(path, key, text) for text in names.qualified_problems(key.lower())
        )
    if sum(len(f"{key}{value}".encode()) for key, value in annotations.items()) > _ANNOTATIONS_MAX:
        found.append(causes.too_long(path, _ANNOTATIONS_MAX))


def _check_owner(owner: Json, path: str, found: list[StatusCause]) -> None:
    version = str(owner.get("apiVersion") or "").rpartition("/")[2]
    if not version:
        detail = "version must not be empty"
        found.append(causes.invalid(f"{path}.apiVersion", owner.get("apiVersion") or "", detail))
    found.extend(
        causes.invalid(f"{path}.{name}", "", "must not be empty")
        for name in ("kind", "name", "uid")
        if not owner.get(name)
    )
