"""What was wrong before may stay wrong, as long as a write does not change it.

A schema may become stricter while objects are stored.  An update that changes another field must
not fail because of it, so findings about values that are as they were are forgiven.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.schema.problems import UNCORRELATED

_SCALARS = (str, int, float, bool)


def is_unchanged(value: Any, old: Any, source: Json) -> bool:
    """Whether a value is what it was.

    The elements of a list with keys are found by their keys, in whatever order they are.  An object
    with a field that the schema does not know never counts as unchanged.
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
    """The keys of a list with keys, none for other lists."""
    if source.get("type") == "array" and source.get("x-kubernetes-list-type") == "map":
        return tuple(source.get("x-kubernetes-list-map-keys") or ())
    return ()


def key_of(item: Any, keys: tuple[str, ...]) -> tuple[Any, ...] | None:
    """What tells an element of a list apart; None if it lacks a key."""
    if not isinstance(item, dict):
        return None
    found = tuple((type(item.get(key)), item.get(key)) for key in keys)
    return found if all(kind in _SCALARS for kind, _ in found) else None


def by_keys(items: list[Any], keys: tuple[str, ...]) -> dict[tuple[Any, ...] | None, Any]:
    """The elements of a list by their keys; the first one of several with the same."""
    found: dict[tuple[Any, ...] | None, Any] = {}
    for item in items:
        key = key_of(item, keys)
        if key is not None:
            found.setdefault(key, item)
    return found
