"""Merge patches: several edits of a user as one."""

from typing import Any

from myrmidon.api.objects.accessors import Json


def combined(first: Json, second: Json) -> Json:
    """Return the merge patch that has the effect of two, one after the other."""
    made: Json = dict(first)
    for key, value in second.items():
        before = made.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            made[key] = combined(before, value)
        else:
            made[key] = value
    return made


def patched(document: Any, patch: Any) -> Any:
    """Return the document after a merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    made = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = patched(made.get(key), value)
    return made
