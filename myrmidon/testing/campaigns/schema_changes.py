"""A spec from a schema, and a change of each of its fields.

``myrmidon simulate`` needs edits of objects without any code of the user.  Values are not random: the
same sample and schema always lead to the same edits, so a stored plan keeps its meaning.

- ``smallest_spec`` has the required fields only, each with its default or the smallest value.
- ``changed_fields`` yields a few changes per field, as merge patches of the spec.  A field keeps its
  shape: ``shop:1`` becomes ``shop:2``, a number moves by one within its bounds, an enum takes its next
  value, a list gains or loses an item.  Fields that the sample does not set are set.

The schema, its rules and the model accept each of these changes.  A field without any is yielded with an
empty list, so that the caller can say so.
"""

import re
from collections.abc import Iterator
from copy import deepcopy
from itertools import islice
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.resource import Resource
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema.validation import check_object
from myrmidon.errors import UnfitObjectError, UsageError
from myrmidon.generate.schema.schema import schema_of_resource

AnyResource: TypeAlias = Resource[Any, Any]

_TEXTS = ("a", "a1", "1", "10", "10m", "1Mi", "a.example.com", "http://a.example.com", "a:1", "")
_TIME = "2026-01-01T00:00:00Z"
_NUMBER = re.compile(r"\d+")
_DEPTH_MAX = 3
_CHANGES_MAX = 3


def smallest_spec(resource: type[AnyResource]) -> Json:
    """Return a spec with the required fields; raise ``UsageError`` if the schema alone gives none."""
    schema = schema_of_resource(resource)
    node = schema["properties"]["spec"]
    spec: Json = _first(node)
    if not _problem(resource, schema, {}):
        return {}
    if not _problem(resource, schema, spec):
        return spec
    raise UsageError(
        f"a {resource.KIND.kind} cannot be made from its schema: {_problem(resource, schema, spec)}.\n"
        "  fix: name a YAML file with a sample"
    )


def changed_fields(resource: type[AnyResource], spec: Json) -> Iterator[tuple[str, list[Json]]]:
    """Yield each field of the spec by its path, with merge patches that change it, the best first."""
    schema = schema_of_resource(resource)
    node = schema["properties"]["spec"]
    for path, found in _fields(node, spec, ()):
        changes = _changes(resource, schema, spec, path, found)
        yield ".".join(path), list(islice(changes, _CHANGES_MAX))


def _fields(
    node: Json, value: Any, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Return the leaves of a schema; below an object that is not set there are none."""
    for name, inner in node.get("properties", {}).items():
        below = (*path, name)
        there = value.get(name) if isinstance(value, dict) else None
        nested = inner.get("properties") and isinstance(there, dict) and len(below) < _DEPTH_MAX
        if nested:
            yield from _fields(inner, there, below)
        else:
            yield below, inner


def _changes(
    resource: type[AnyResource], schema: Json, spec: Json, path: tuple[str, ...], node: Json
) -> Iterator[Json]:
    current: Any = spec
    for name in path:
        current = current.get(name) if isinstance(current, dict) else None
    for candidate in _candidates(node, node.get("default") if current is None else current):
        if candidate == current:
            continue
        edited = deepcopy(spec)
        inner = edited
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = candidate
        if not _problem(resource, schema, edited, old=spec):
            yield _nested(path, candidate)


def _nested(path: tuple[str, ...], value: Any) -> Json:
    made: Any = value
    for name in reversed(path):
        made = {name: made}
    return dict(made)


def _problem(resource: type[AnyResource], schema: Json, spec: Json, old: Json | None = None) -> str:
    """Return why the server or the model refuses a spec; "" if they accept it."""
    obj, before = _object(resource, spec), None if old is None else _object(resource, old)
    try:
        resource.from_json(deepcopy(obj))
    except UnfitObjectError as error:
        return str(error)
    causes = check_object(obj, compile_schema(schema), before)
    return "; ".join(f"{cause.field}: {cause.message}" for cause in causes)


def _object(resource: type[AnyResource], spec: Json) -> Json:
    return {
        "apiVersion": resource.KIND.api_version,
        "kind": resource.KIND.kind,
        "metadata": {"name": "sample"},
        "spec": spec,
    }


# ------------------------------------------------------------------------------- values


def _first(node: Json) -> Any:
    """Return the default of a schema, or its smallest value."""
    if "default" in node:
        return deepcopy(node["default"])
    if "enum" in node:
        return node["enum"][0]
    match node.get("type"):
        case "object":
            required = node.get("required", ())
            return {name: _first(node["properties"][name]) for name in required}
        case "array":
            return [_first(node["items"]) for _ in range(node.get("minItems", 0))]
        case "string":
            return next((text for text in _texts(node) if _fits(node, text)), "a")
        case "integer" | "number":
            return _bounded(node, 1)
        case "boolean":
            return False
        case _:
            return 1 if node.get("x-kubernetes-int-or-string") else {}


def _candidates(node: Json, value: Any) -> Iterator[Any]:
    """Return other values of a field, those nearest to the present one first."""
    if "enum" in node:
        at = node["enum"].index(value) if value in node["enum"] else -1
        yield from (*node["enum"][at + 1 :], *node["enum"][: max(at, 0)])
        return
    match value:
        case bool():
            yield not value
        case int() | float():
            step = node.get("multipleOf", 1)
            yield from (value + step, value - step)
        case str():
            yield from _other_texts(node, value)
        case list():
            yield from _other_lists(node, value)
        case dict():
            yield from _other_objects(node, value)
        case _:
            yield _first(node)
            if node.get("type") == "boolean":
                yield True
            if node.get("type") == "array":
                yield from _other_lists(node, [])
            if node.get("type") == "object":
                yield from _other_objects(node, {})


def _other_texts(node: Json, value: str) -> Iterator[str]:
    numbers = list(_NUMBER.finditer(value))
    for found in reversed(numbers):
        more = str(int(found[0]) + 1)
        yield value[: found.start()] + more + value[found.end() :]
    if node.get("format") == "date-time":
        yield _TIME
    for text in (f"{value}2", f"{value}-b", f"{value}b", value[:-1], *_TEXTS):
        if _fits(node, text):
            yield text


def _texts(node: Json) -> Iterator[str]:
    if node.get("format") == "date-time":
        yield _TIME
    if node.get("format") == "date":
        yield _TIME[:10]
    least = node.get("minLength", 0)
    yield from (text.ljust(least, "a") for text in _TEXTS)


def _other_lists(node: Json, value: list[Any]) -> Iterator[list[Any]]:
    items = node.get("items", {})
    for like in (value[-1], None) if value else (None,):
        found = next((one for one in _candidates(items, like) if one not in value), None)
        if found is not None:
            yield [*value, found]
        if like is not None:
            yield value[:-1]


def _other_objects(node: Json, value: Json) -> Iterator[Json]:
    if "additionalProperties" in node:
        yield {**value, "added": _first(node["additionalProperties"])}
        return
    for name, inner in node.get("properties", {}).items():
        for other in _candidates(inner, value.get(name, inner.get("default"))):
            if other != value.get(name):
                yield {**value, name: other}
                break


def _fits(node: Json, text: str) -> bool:
    """Whether a text may have this length and pattern; the schema is checked later in full."""
    if not node.get("minLength", 0) <= len(text) <= node.get("maxLength", 253):
        return False
    try:
        return re.search(node.get("pattern", ""), text) is not None
    except re.error:
        return True  # another dialect


def _bounded(node: Json, wanted: int) -> int:
    low, high = node.get("minimum"), node.get("maximum")
    if low is not None and wanted < low + bool(node.get("exclusiveMinimum")):
        wanted = int(low) + bool(node.get("exclusiveMinimum"))
    if high is not None and wanted > high:
        wanted = int(high) - bool(node.get("exclusiveMaximum"))
    step = int(node.get("multipleOf", 1)) or 1
    return -(-wanted // step) * step
