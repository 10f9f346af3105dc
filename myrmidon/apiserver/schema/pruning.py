"""Prune the fields that are not in the schema."""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.schema_node import Schema

META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))
CONTAINERS = frozenset((dict, list))
_NOTHING = Schema()


def prune(obj: Json, schema: Schema) -> list[str]:
    """Drop the unknown fields of an object, in place; return their paths, sorted.

    ``apiVersion``, ``kind`` and ``metadata`` stay, at the root and in embedded objects: every
    object has them, even if the schema does not mention them.
    """
    dropped: list[str] = []
    _prune_map(obj, schema, "", dropped, embedded=True)
    dropped.sort()
    return dropped


def prune_value(value: Any, schema: Schema) -> list[str]:
    """Drop the unknown fields of a part of an object, in place; return their paths.

    ``apiVersion``, ``kind`` and ``metadata`` count as known only in embedded objects.
    """
    dropped: list[str] = []
    if type(value) in CONTAINERS:
        _prune_value(value, schema, "", dropped)
    return dropped


def _prune_map(
    fields: Json, schema: Schema, path: str, dropped: list[str], *, embedded: bool
) -> None:
    properties, additional = schema.properties, schema.additional
    unknown: list[str] = []
    for key, value in fields.items():
        if embedded and key in META_FIELDS:
            continue
        known = properties.get(key, additional)
        if known is None:
            unknown.append(key)
        elif type(value) in CONTAINERS:
            _prune_value(value, known, f"{path}.{key}" if path else key, dropped)
    if unknown and not schema.preserve_unknown:
        for key in unknown:
            del fields[key]
            dropped.append(f"{path}.{key}" if path else key)


def _prune_value(value: Any, schema: Schema, path: str, dropped: list[str]) -> None:
    if isinstance(value, dict):
        _prune_map(value, schema, path, dropped, embedded=schema.embedded_resource)
    elif schema.preserve_unknown:
        _keep_items(value, schema, path, dropped)
    else:
        items = schema.items or _NOTHING
        for index, item in enumerate(value):
            if type(item) in CONTAINERS:
                _prune_value(item, items, f"{path}[{index}]", dropped)


def _keep_items(value: list[Any], schema: Schema, path: str, dropped: list[str]) -> None:
    """Prune inside a list that preserves unknown fields; its items preserve theirs, too."""
    if schema.items is None:
        return
    for index, item in enumerate(value):
        where = f"{path}[{index}]"
        if isinstance(item, dict):
            _keep_unknown(item, schema.items, where, dropped)
        elif isinstance(item, list):
            _keep_items(item, schema.items, where, dropped)


def _keep_unknown(fields: Json, schema: Schema, path: str, dropped: list[str]) -> None:
    for key, value in fields.items():
        if schema.embedded_resource and key in META_FIELDS:
            continue
        known = schema.properties.get(key, schema.additional)
        if known is not None and type(value) in CONTAINERS:
            _prune_value(value, known, f"{path}.{key}", dropped)
