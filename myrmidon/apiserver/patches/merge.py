"""Merge patch as kube-apiserver implements it, which differs from RFC 7386.

The RFC copies the lists of a patch unchanged.  kube-apiserver also removes null fields inside them,
unless the list replaces a map.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.patch.merge_patch import without_nulls


def merge_as_server(target: Json, patch: Json) -> Json:
    """Return the target with the patch merged into it; neither is changed."""
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif merged.get(key) is None:
            merged[key] = without_nulls(value)
        else:
            merged[key] = _merged(merged[key], value)
    return merged


def _merged(current: Any, patch: Any) -> Any:
    if not isinstance(current, dict):
        return without_nulls(patch)
    return merge_as_server(current, patch) if isinstance(patch, dict) else patch
