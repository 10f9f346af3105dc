"""Validation that a schema is structural.

The types of all fields must be given outside ``anyOf``, ``oneOf``, ``allOf`` and ``not``, so that
pruning and defaulting do not depend on which alternative holds.  Schemas inside those may only
restrict the values of fields that are also declared outside.
"""

from typing import Any, Literal

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang.regex import PatternError, compile_pattern
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause

_Level = Literal["root", "item", "field"]
_MISSING_TYPE: dict[_Level, str] = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_PRESERVE, _EMBEDDED = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"
_EITHER = "x-kubernetes-int-or-string"
# The keywords that are forbidden in nested schemas: "must be ... to be structural".
_FORBIDDEN_INSIDE = {
    "type": "empty",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    _PRESERVE: "false",
    _EMBEDDED: "false",
    _EITHER: "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}
_UNSUPPORTED = {
    "id": "id",
    "$schema": "schema",
    "$ref": "$ref",
    "patternProperties": "patternProperties",
    "dependencies": "dependencies",
    "additionalItems": "additionalItems",
    "definitions": "definitions",
}


def why_not_structural(schema: Any) -> str | None:
    """Return why a schema cannot be read as a structural one at all, None if it can."""
    if not isinstance(schema, dict):
        return None
    for name, shown in _UNSUPPORTED.items():
        if schema.get(name) or (name == "additionalItems" and name in schema):
            return f"OpenAPIV3Schema '{shown}' is not supported"
    if schema.get(_PRESERVE) is False:
        return f"internal error: '{_PRESERVE}' must be true or undefined"
    items = schema.get("items")
    if isinstance(items, list) and items:
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    inside = [items, schema.get("not"), schema.get("additionalProperties")]
    for word in ("allOf", "anyOf", "oneOf"):
        inside.extend(schema.get(word) or ())
    inside.extend((schema.get("properties") or {}).values())
    return next(filter(None, map(why_not_structural, inside)), None)


def check_structure(schema: Json, path: str) -> list[StatusCause]:
    """Return the errors that keep a schema from being structural, sorted as by the real server."""
    found: list[StatusCause] = []
    _check_node(schema, "root", path, found)
    _check_counterparts(schema, schema, path, path, found)
    return sorted(found, key=lambda cause: f"{cause.field}: {cause.message}")


def _check_node(schema: Json, level: _Level, path: str, found: list[StatusCause]) -> None:
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if schema.get("type") == "array" and items is None:
        found.append(causes.required(f"{path}.items", "must be specified"))
    if isinstance(items, dict):
        _check_node(items, "item", f"{path}.items", found)
    for name, child in (schema.get("properties") or {}).items():
        _check_node(child, "field", f"{path}.properties[{name}]", found)
    if additional is not None:
        where = f"{path}.additionalProperties"
        if level == "root":
            found.append(causes.forbidden(where, "must not be used at the root"))
        if isinstance(additional, dict):
            _check_node(additional, "field", where, found)
        if schema.get(_EMBEDDED):
            detail = f"must not be used if {_EMBEDDED} is set"
            found.append(causes.forbidden(where, detail))
    _check_extensions(schema, path, found)
    all_of = schema.get("allOf") or [{}]
    _check_values(
        schema,
        path,
        found,
        skip_any_of=schema.get("anyOf") == _INT_OR_STRING,
        skip_first_all_of=all_of[0].get("anyOf") == _INT_OR_STRING,
    )
    _check_own_type(schema, level, path, found)
    _check_meta(schema, level, path, found)


def _check_extensions(schema: Json, path: str, found: list[StatusCause]) -> None:
    if not schema.get(_EITHER):
        return
    for name in (_PRESERVE, _EMBEDDED):
        if schema.get(name):
            detail = f"must be false if {_EITHER} is true"
            found.append(causes.invalid(f"{path}.{name}", True, detail))


def _check_own_type(schema: Json, level: _Level, path: str, found: list[StatusCause]) -> None:
    kind, where = schema.get("type") or "", f"{path}.type"
    if schema.get(_EMBEDDED) and kind != "object":
        detail = f"must be object if {_EMBEDDED} is true"
        cause = causes.invalid(where, kind, detail) if kind else causes.required(where, detail)
        found.append(cause)
    elif not kind and not schema.get(_EITHER) and not schema.get(_PRESERVE):
        found.append(causes.required(where, _MISSING_TYPE[level]))
    if level == "root" and kind and kind != "object":
        found.append(causes.invalid(where, kind, "must be object at the root"))


def _check_meta(schema: Json, level: _Level, path: str, found: list[StatusCause]) -> None:
    """Add the errors of ``apiVersion``, ``kind`` and ``metadata``.

    These are the same for all objects; a schema may only restrict ``name`` and ``generateName``.
    """
    properties = schema.get("properties") or {}
    is_object = level == "root" or bool(schema.get(_EMBEDDED))
    for name in ("kind", "apiVersion"):
        kind = (properties.get(name) or {}).get("type") or ""
        if is_object and name in properties and kind != "string":
            where = f"{path}.properties[{name}].type"
            found.append(causes.invalid(where, kind, "must be string"))
    if "metadata" in properties:
        where, metadata = f"{path}.properties[metadata]", properties["metadata"]
        kind = metadata.get("type") or ""
        if is_object and kind != "object":
            found.append(causes.invalid(f"{where}.type", kind, "must be object"))
        if level == "root" and not _restricts_names_only(metadata):
            detail = (
                "must not specify anything other than name and generateName, but metadata is "
                "implicitly specified"
            )
            found.append(causes.forbidden(where, detail))
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not properties:
        detail = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        found.append(causes.required(f"{path}.properties", detail))


def _restricts_names_only(metadata: Json) -> bool:
    names_only = set(metadata.get("properties") or {}) <= {"name", "generateName"}
    rest = {name: value for name, value in metadata.items() if value}
    return names_only and rest.keys() <= {"type", "properties", "default"}


def _check_values(
    schema: Json,
    path: str,
    found: list[StatusCause],
    *,
    skip_any_of: bool = False,
    skip_first_all_of: bool = False,
) -> None:
    """Add the errors in the restrictions of values, including nested schemas."""
    if not skip_any_of:
        for index, child in enumerate(schema.get("anyOf") or ()):
            _check_nested(child, f"{path}.anyOf[{index}]", found)
    for index, child in enumerate(schema.get("allOf") or ()):
        skip = skip_first_all_of and index == 0
        _check_nested(child, f"{path}.allOf[{index}]", found, skip_any_of=skip)
    for index, child in enumerate(schema.get("oneOf") or ()):
        _check_nested(child, f"{path}.oneOf[{index}]", found)
    if isinstance(schema.get("not"), dict):
        _check_nested(schema["not"], f"{path}.not", found)
    pattern = schema.get("pattern") or ""
    try:
        compile_pattern(pattern)
    except PatternError as error:
        detail = f"must be a valid regular expression, but isn't: {error}"
        found.append(causes.invalid(f"{path}.pattern", pattern, detail))


def _check_nested(
    schema: Json, path: str, found: list[StatusCause], *, skip_any_of: bool = False
) -> None:
    _check_values(schema, path, found, skip_any_of=skip_any_of)
    if isinstance(schema.get("items"), dict):
        _check_nested(schema["items"], f"{path}.items", found)
    properties = schema.get("properties") or {}
    for name, child in properties.items():
        _check_nested(child, f"{path}.properties[{name}]", found)
    if schema.get("additionalProperties") not in (None, False):
        where = f"{path}.additionalProperties"
        found.append(causes.forbidden(where, "must be undefined to be structural"))
    for name, wanted in _FORBIDDEN_INSIDE.items():
        value = schema.get(name)
        if value or (value is not None and wanted == "undefined"):
            found.append(causes.forbidden(f"{path}.{name}", f"must be {wanted} to be structural"))
    if "metadata" in properties:
        where = f"{path}.properties[metadata]"
        found.append(causes.forbidden(where, "must not be specified in a nested context"))


def _check_counterparts(
    nested: Json, schema: Json | None, path: str, nested_path: str, found: list[StatusCause]
) -> None:
    """Add an error for each field of a nested schema that is not declared outside it."""
    if schema is None:
        found.append(causes.required(path, f"because it is defined in {nested_path}"))
        return
    if isinstance(nested.get("not"), dict):
        _check_inside(nested["not"], schema, path, f"{nested_path}.not", found)
    for word in ("allOf", "anyOf", "oneOf"):
        for index, child in enumerate(nested.get(word) or ()):
            _check_inside(child, schema, path, f"{nested_path}.{word}[{index}]", found)


def _check_inside(
    nested: Json, schema: Json, path: str, nested_path: str, found: list[StatusCause]
) -> None:
    _check_counterparts(nested, schema, path, nested_path, found)
    if isinstance(nested.get("items"), dict):
        where, inside = f"{path}.items", f"{nested_path}.items"
        if isinstance(schema.get("items"), dict):
            _check_inside(nested["items"], schema["items"], where, inside, found)
        else:
            found.append(causes.required(where, f"because it is defined in {inside}"))
    properties = schema.get("properties") or {}
    for name, child in (nested.get("properties") or {}).items():
        where, inside = f"{path}.properties[{name}]", f"{nested_path}.properties[{name}]"
        if name in properties:
            _check_inside(child, properties[name], where, inside, found)
        else:
            found.append(causes.required(where, f"because it is defined in {inside}"))
