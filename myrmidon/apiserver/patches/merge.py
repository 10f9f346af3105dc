"""Merge patch as kube-apiserver implements it, which differs from RFC 7386.

The RFC copies the lists of a patch unchanged.  kube-apiserver also removes null fields inside them,
unless the list replaces a map.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json


def merge_as_server(target: Json, patch: Json) -> Json:
    """Return the target with the patch merged into it; neither is changed."""
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
    """Return the value without null fields; null elements of lists stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
