"""Strategic merge patch: a merge patch that merges some lists by key.

The schema says which lists merge and by which key (``patchStrategy``, ``patchMergeKey``).  Besides
values, a patch may have directives: ``$patch`` (replace or delete a map, or an element of a list),
``$retainKeys`` (drop all other keys), ``$setElementOrder/list`` and
``$deleteFromPrimitiveList/list``.

Only built-in kinds support it, because the schemas of custom resources do not have these settings.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.patches.strategic_lists import (
    BAD_DELETIONS,
    BAD_ORDER,
    DIRECTIVE,
    StrategicPatchError,
    check_order,
    check_same_kind,
    merge_keyed,
    merge_scalars,
    plain,
    reordered,
    server_order,
    without_scalars,
)
from myrmidon.apiserver.schema_node import Schema

__all__ = ["StrategicPatchError", "strategic_merge"]

_RETAIN_KEYS = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"
_NO_SCHEMA = Schema()


def strategic_merge(original: Json, patch: Json, schema: Schema) -> Json:
    """Return the original with the patch merged into it; neither is changed.

    Raise ``StrategicPatchError`` if the patch is invalid.
    """
    return _merge_map(original, patch, schema)


def _merge_map(original: Json, patch: Json, schema: Schema) -> Json:
    if DIRECTIVE in patch:
        return _directed(patch)
    merged = _retained(original, patch)
    ordered = _merge_ordered(merged, patch, schema)
    for key, value in patch.items():
        if key == _RETAIN_KEYS or key in ordered:
            continue
        name, is_deletion = _name_of(key)
        if value is None:
            merged.pop(name, None)
        elif is_deletion:
            _delete_scalars(merged, name, value, schema)
        elif name not in merged or not _alike(merged[name], value):
            kept = plain(value)
            merged.pop(name, None)
            if kept is not None:
                merged[name] = kept
        else:
            merged[name] = _merge_value(merged[name], value, _field(schema, name))
    return merged


def _directed(patch: Json) -> Json:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != DIRECTIVE}
    if directive == "delete":
        return {}
    raise StrategicPatchError.unknown_directive(directive, patch)


def _name_of(key: str) -> tuple[str, bool]:
    if not key.startswith(_DELETE.rstrip("/")):
        return key, False
    if not key.startswith(_DELETE):
        raise StrategicPatchError(BAD_DELETIONS, code=400)
    return key[len(_DELETE) :], True


def _merge_value(original: Any, patch: Any, schema: Schema) -> Any:
    """Return the merge of two values of the same type."""
    strategy = next((one for one in schema.patch_strategy if one != "retainKeys"), "")
    if isinstance(patch, dict):
        return patch if strategy == "replace" else _merge_map(original, patch, schema)
    if isinstance(patch, list):
        return _merge_list(original, patch, schema) if strategy == "merge" else patch
    return patch


def _merge_list(original: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    if not original and not patch:
        return original
    if not check_same_kind(original, patch):
        return merge_scalars(original, patch)
    items = schema.items or _NO_SCHEMA
    if not schema.merge_key:
        raise StrategicPatchError("cannot merge lists without merge key for type struct")
    return merge_keyed(
        original, patch, schema.merge_key, lambda old, new: _merge_map(old, new, items)
    )


def _delete_scalars(merged: Json, name: str, value: Any, schema: Schema) -> None:
    old = merged.get(name)
    if isinstance(old, list) and isinstance(value, list):
        if "merge" in _field(schema, name).patch_strategy:
            merged[name] = without_scalars(old, value)
        else:
            merged[name] = value


def _retained(original: Json, patch: Json) -> Json:
    """Return a copy of the original, with only the keys that ``$retainKeys`` lists, if present."""
    if _RETAIN_KEYS not in patch:
        return dict(original)
    keys = patch[_RETAIN_KEYS]
    stray = [
        key
        for key, value in patch.items()
        if value is not None
        and key != _RETAIN_KEYS
        and not key.startswith((_ORDER[:-1], _DELETE[:-1]))
        and not (isinstance(keys, list) and key in keys)
    ]
    if not isinstance(keys, list) or stray:
        raise StrategicPatchError("invalid patch format of retainKeys", code=400)
    return {key: value for key, value in original.items() if key in keys}


def _merge_ordered(merged: Json, patch: Json, schema: Schema) -> set[str]:
    """Merge the lists for which the patch sets an order; return the keys that were handled."""
    done: set[str] = set()
    for key, order in patch.items():
        if not key.startswith(_ORDER[:-1]):
            continue
        _check_list(order)
        if not key.startswith(_ORDER):
            raise StrategicPatchError(BAD_ORDER, code=400)
        name = key[len(_ORDER) :]
        done.add(key)
        for lists in (merged, patch):
            if name in lists:
                _check_list(lists[name])
        if name in merged or name in patch:
            merged[name] = _in_order(merged.get(name), patch.get(name), order, _field(schema, name))
            done.add(name)
    return done


def _in_order(
    original: list[Any] | None, patch: list[Any] | None, order: list[Any], schema: Schema
) -> list[Any]:
    """Return a list, merged with that of the patch if any, in the order that the patch sets."""
    old, new, key = original or [], patch or [], schema.merge_key
    check_order(new, order, key)
    if original is None:
        both: list[Any] = plain(new)
    else:
        both = old if patch is None else _merge_value(old, new, schema)
    check_same_kind(old, new)
    return reordered(both, order, server_order(old, new, key), key)


def _check_list(value: Any) -> None:
    if not isinstance(value, list):
        raise StrategicPatchError.wrong_type(list, value)


def _field(schema: Schema, name: str) -> Schema:
    return schema.properties.get(name) or schema.additional or _NO_SCHEMA


def _alike(left: Any, right: Any) -> bool:
    return type(left) is type(right)
