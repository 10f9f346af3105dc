"""Formats that mean nothing: not refused, but warned of."""

from collections.abc import Iterator
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.schema.formats import is_recognized


def unrecognized_formats(definition: Json, old: Json | None = None) -> list[str]:
    """Formats in the schemas of a definition that the server does not know, new ones only."""
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
    """The schemas of all versions; a single one where they are the same."""
    listed = list(schemas)
    return listed[:1] if all(schema == listed[0] for schema in listed) else listed


def nodes(schema: Any) -> Iterator[Json]:
    """A schema and all schemas inside it, whatever they are for."""
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
