"""Validation of defaults: each must be a valid value of its own schema."""

from collections.abc import Callable
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.schema.defaulting import copy_json
from myrmidon.apiserver.schema.embedded import EmbeddedError, check_embedded, coerce_embedded
from myrmidon.apiserver.schema.pruning import META_FIELDS, prune_value
from myrmidon.apiserver.schema.rules import check_rules
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema.validation import check_values
from myrmidon.apiserver.schema_node import Schema

_EITHER = "x-kubernetes-int-or-string"

# Builds the object around a value: wraps the value in its fields and lists, up to the root.
_Surround = Callable[[Any], Any]


def check_defaults(openapi_v3: Json, path: str) -> list[StatusCause]:
    """Return the errors of all defaults in a schema."""
    schema = compile_schema({**openapi_v3, "x-kubernetes-embedded-resource": True})
    found: list[StatusCause] = []
    _walk(schema, schema, path, _in_object, found, inside_meta=False)
    return found


def _in_object(value: Any) -> Any:
    return {"apiVersion": "validation/v1", "kind": "Validation", **value}


def _in_field(around: _Surround, name: str) -> _Surround:
    return lambda value: around({name: value})


def _in_list(around: _Surround) -> _Surround:
    return lambda value: around([value])


def _walk(
    schema: Schema,
    resource: Schema,
    path: str,
    around: _Surround,
    found: list[StatusCause],
    *,
    inside_meta: bool,
) -> None:
    if schema.embedded_resource:
        resource, around, inside_meta = schema, _in_object, False
    if schema.has_default:
        where = f"{path}.default"
        if inside_meta:
            found += _check_meta_default(schema, resource, where, around)
        else:
            found += _check_default(schema, where, root=schema is resource)
    if schema.items is not None:
        _walk(
            schema.items,
            resource,
            f"{path}.items",
            _in_list(around),
            found,
            inside_meta=inside_meta,
        )
    for name, child in schema.properties.items():
        is_meta = inside_meta or (schema.embedded_resource and name in META_FIELDS)
        _walk(
            child,
            resource,
            f"{path}.properties[{name}]",
            _in_field(around, name),
            found,
            inside_meta=is_meta,
        )


def _check_default(schema: Schema, path: str, *, root: bool) -> list[StatusCause]:
    value, has_unknown = copy_json(schema.default), prune_value(copy_json(schema.default), schema)
    found: list[StatusCause] = []
    try:
        coerce_embedded(value, schema, path)
    except EmbeddedError as error:
        found.append(error.cause)
    else:
        wrong = check_embedded(value, schema, path)
        found += wrong or _check_value(value, schema, path, root=root)
    if has_unknown:
        found.insert(0, causes.invalid(path, value, "must not have unknown fields"))
    return found


def _check_meta_default(
    schema: Schema, resource: Schema, path: str, around: _Surround
) -> list[StatusCause]:
    """Validate a default inside metadata, as part of an otherwise empty object."""
    obj = around(copy_json(schema.default))
    try:
        coerce_embedded(obj, resource)
    except EmbeddedError as error:
        problem = str(error)
    else:
        wrong = check_embedded(obj, resource)
        if not wrong:
            return _check_value(schema.default, schema, path, root=False)
        listed = [f"{cause.field}: {cause.message}" for cause in wrong]
        problem = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    return [causes.invalid(path, schema.default, f"must result in valid metadata: {problem}")]


def _check_value(value: Any, schema: Schema, path: str, *, root: bool) -> list[StatusCause]:
    """Validate a value against its schema and rules, first as an update, then as a create."""
    found = check_values(value, Schema(source=_relaxed(schema.source)), path=path)
    if found:
        return found
    found = check_rules(value, schema, value, path=path, root=root)
    return found or check_rules(value, schema, path=path, root=root)


def _relaxed(source: Json) -> Json:
    """Return the schema that defaults are validated with: without x-kubernetes-int-or-string."""
    relaxed = {name: value for name, value in source.items() if name != _EITHER}
    for name in ("items", "additionalProperties"):
        if isinstance(relaxed.get(name), dict):
            relaxed[name] = _relaxed(relaxed[name])
    if relaxed.get("properties"):
        children = relaxed["properties"].items()
        relaxed["properties"] = {name: _relaxed(child) for name, child in children}
    return relaxed
