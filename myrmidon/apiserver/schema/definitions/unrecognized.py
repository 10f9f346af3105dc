"""Warnings about unknown formats in the schemas of a definition."""

from collections.abc import Iterator
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.schema.formats import is_recognized


def unrecognized_formats(definition: Json, old: Json | None = None) -> list[str]:
    """Return the formats that the server does not know, without those that ``old`` had already."""
    known = set(_unrecognized(old)) if old is not None else set()
    return [name for name in _unrecognized(definition) if name not in known]


def _unrecognized(definition: Json) -> Iterator[str]:
    versions = (definition.get("spec") or {}).get("versions") or ()
    for schema in _common(version.get("schema") for version in versions):
        for node in nodes((schema or {}).get("openAPIV3Schema")):
            name = node.get("format") or ""
            if name and not is_recognized(name, node.get("type") or ""):
                yield name


def _common(schemas: Iterator[Any]) -> list[Any]:
    """Return the schemas of all versions; only one if they are all the same."""
    listed = list(schemas)
    return listed[:1] if all(schema == listed[0] for schema in listed) else listed


def nodes(schema: Any) -> Iterator[Json]:
    """Yield a schema and all schemas inside it, including those in ``anyOf`` and the like."""
    if not isinstance(schema, dict):
        return
    yield schema
    items = schema.get("items")
    inside: list[Any] = list(items) if isinstance(items, list) else [items]
    for name in ("allOf", "anyOf", "oneOf"):
        inside.extend(schema.get(name) or ())
    inside.append(schema.get("not"))
    inside.extend((schema.get("properties") or {}).values())
    inside.append(schema.get("additionalProperties"))
    for child in inside:
        yield from nodes(child)
