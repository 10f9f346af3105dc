"""Ratcheting: an update may keep an invalid value that it does not change.

A schema may become stricter while objects are stored.  An update that changes another field must
not fail because of that, so errors about unchanged values are dropped.  This module decides which
values count as unchanged, and pairs the items of old and new lists by their keys.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.schema.problems import UNCORRELATED

_SCALARS = (str, int, float, bool)


def is_unchanged(value: Any, old: Any, source: Json) -> bool:
    """Whether a value equals the old one.

    Items of a list with keys are compared by their keys, in any order.  An object with a field that
    is not in the schema never counts as unchanged.
    """
    if isinstance(value, dict) and isinstance(old, dict):
        return len(value) == len(old) and all(
            _is_field_unchanged(key, value[key], old, source) for key in value
        )
    keys = map_keys(source)
    if keys and isinstance(value, list) and isinstance(old, list):
        if len(value) != len(old):
            return False
        earlier = by_keys(old, keys)
        pairs = ((item, earlier.get(key_of(item, keys), UNCORRELATED)) for item in value)
        return all(
            before is not UNCORRELATED and is_unchanged(item, before, source["items"])
            for item, before in pairs
        )
    return identical(value, old)


def _is_field_unchanged(key: str, value: Any, old: Json, source: Json) -> bool:
    properties = source.get("properties") or {}
    known = properties.get(key, source.get("additionalProperties"))
    return isinstance(known, dict) and key in old and is_unchanged(value, old[key], known)


def map_keys(source: Json) -> tuple[str, ...]:
    """Return the keys of a list of type map; an empty tuple for any other schema."""
    if source.get("type") == "array" and source.get("x-kubernetes-list-type") == "map":
        return tuple(source.get("x-kubernetes-list-map-keys") or ())
    return ()


def key_of(item: Any, keys: tuple[str, ...]) -> tuple[Any, ...] | None:
    """Return the keys of a list item with their types; None if one is missing or not a scalar."""
    if not isinstance(item, dict):
        return None
    found = tuple((type(item.get(key)), item.get(key)) for key in keys)
    return found if all(kind in _SCALARS for kind, _ in found) else None


def by_keys(items: list[Any], keys: tuple[str, ...]) -> dict[tuple[Any, ...] | None, Any]:
    """Return the items of a list by their keys; the first of several items with the same keys."""
    found: dict[tuple[Any, ...] | None, Any] = {}
    for item in items:
        key = key_of(item, keys)
        if key is not None:
            found.setdefault(key, item)
    return found
