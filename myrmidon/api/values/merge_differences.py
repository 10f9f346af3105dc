"""The merge patch (RFC 7386) that turns one JSON document into another.

A null in a map and a missing key are the same here, because a merge patch cannot write a null.
"""

from typing import Any

from myrmidon.api.values.equality import same


def merge_patch_between(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the merge patch that turns ``before`` into ``after``; ``{}`` if they are equal.

    Lists are replaced as a whole.
    """
    patch: dict[str, Any] = {
        key: None for key, value in before.items() if key not in after and value is not None
    }
    for key, value in after.items():
        old = before.get(key)
        if value is None:
            if old is not None:
                patch[key] = None
        elif isinstance(value, dict) and isinstance(old, dict):
            inner = merge_patch_between(old, value)
            if inner:
                patch[key] = inner
        elif key not in before or not same(old, value):
            patch[key] = value
    return patch
