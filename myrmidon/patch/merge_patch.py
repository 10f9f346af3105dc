"""JSON merge patch (RFC 7386) and its inverse.

``merge`` applies a patch, ``missing`` finds the smallest one, ``same`` compares.  They obey

    same(merge(current, missing(current, desired)), merge(current, desired))

so that sending less has the effect of sending everything.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json


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


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: ``1`` equals ``1.0``, ``true`` does not equal ``1``."""
    # Python compares in C, but says True == 1.
    return bool(left == right) and same_booleans(left, right)


def same_booleans(left: Any, right: Any) -> bool:
    """Whether two values that are equal in Python have their booleans in the same places.

    ``right`` may hold more fields than ``left``.
    """
    if left is right:
        return True
    if isinstance(left, dict):
        for key, value in left.items():
            if type(value) is str:
                continue
            other = right[key]
            if value is not other and not same_booleans(value, other):
                return False
        return True
    if isinstance(left, list):
        return all(map(same_booleans, left, right))
    return (type(left) is bool) is (type(right) is bool)
