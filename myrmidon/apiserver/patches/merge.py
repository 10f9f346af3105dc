"""Merge patch the way kube-apiserver does it, which is not quite RFC 7386.

The RFC keeps the lists of a patch as they are.  Here nulls inside them go, too, as long as the
list does not take the place of a map.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json


def merge_as_server(target: Json, patch: Json) -> Json:
    """The target with the patch merged into it; neither is changed."""
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif merged.get(key) is None:
            merged[key] = _without_nulls(value)
        else:
            merged[key] = _merged(merged[key], value)
    return merged


def _merged(current: Any, patch: Any) -> Any:
    if not isinstance(current, dict):
        return _without_nulls(patch)
    return merge_as_server(current, patch) if isinstance(patch, dict) else patch


def _without_nulls(value: Any) -> Any:
    """The value without null fields; elements of lists that are null stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
