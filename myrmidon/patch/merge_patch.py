"""JSON merge patch (RFC 7386) and its inverse.

``merge`` applies a patch and ``missing`` finds the smallest one.  They obey

    same(merge(current, missing(current, desired)), merge(current, desired))

so that sending less has the effect of sending everything.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import same


def merge(target: Any, patch: Any) -> Any:
    """Apply ``patch`` to ``target``: null deletes, objects merge, everything else replaces.

    Neither argument is changed; what is not touched is shared with ``target``.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def combine(first: Json, second: Json) -> Json:
    """Return the merge patch with the effect of two, one after the other; its nulls are kept."""
    both = dict(first)
    for key, value in second.items():
        inner = both.get(key)
        if isinstance(inner, dict) and isinstance(value, dict):
            both[key] = combine(inner, value)
        else:
            both[key] = value
    return both


def missing(current: Json, desired: Json) -> Json:
    """Return the part of ``desired`` that ``current`` lacks; ``{}`` if it lacks nothing.

    A null in ``desired`` asks for absence, so it is missing only while the key is there.
    """
    patch: Json = {}
    for key, wanted in desired.items():
        if key not in current:
            if wanted is not None:
                patch[key] = wanted
        elif isinstance(wanted, dict) and isinstance(current[key], dict):
            inner = missing(current[key], wanted)
            if inner:
                patch[key] = inner
        elif wanted is None or not same(current[key], merge(current[key], wanted)):
            patch[key] = wanted
    return patch


def without_nulls(value: Any) -> Any:
    """Return the value without null fields, at any depth; null elements of lists stay."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
