"""Check lists of type set and map for duplicates."""

from typing import Any

from myrmidon.apiserver.golang import text as go_text
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.schema.trails import Trail, trail_to
from myrmidon.apiserver.schema_node import Schema


def check_lists(obj: Any, schema: Schema) -> list[StatusCause]:
    """Return the errors of duplicates.  Only the first repetition of a value is reported."""
    trail = trail_to(schema, "lists", lambda node: node.list_type != "atomic")
    found: list[StatusCause] = []
    if trail is not None:
        _walk(obj, trail, "", found)
    return found


def _walk(value: Any, trail: Trail, path: str, found: list[StatusCause]) -> None:
    if trail.here and isinstance(value, list):
        if trail.schema.list_type == "set":
            _check_unique(value, path, found)
        else:
            _check_keys(value, trail.schema.list_map_keys, path, found)
    for child, item, where in trail.below(value, path):
        _walk(item, child, where, found)


def _check_keys(
    items: list[Any], keys: tuple[str, ...], path: str, found: list[StatusCause]
) -> None:
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            detail = "must be an object for an array of list-type map"
            found.append(causes.invalid(f"{path}[{index}]", item, detail))
            return
    if len(items) > 1 and _may_repeat(items, keys):
        shown = [{key: item[key] for key in keys if key in item} if item else {} for item in items]
        _check_unique(shown, path, found)


def _may_repeat(items: list[Any], keys: tuple[str, ...]) -> bool:
    """Whether duplicates are possible: not if all items have a different string as their key."""
    if len(keys) != 1:
        return True
    values = [item.get(keys[0]) for item in items if item]
    texts = {value for value in values if isinstance(value, str)}
    return len(texts) != len(items)


def _check_unique(items: list[Any], path: str, found: list[StatusCause]) -> None:
    if len(items) <= 1:
        return
    times: dict[Any, int] = {}
    for index, item in enumerate(items):
        key = _identity(item)
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            found.append(causes.duplicate(f"{path}[{index}]", item))


def _identity(item: Any) -> Any:
    """Return a key that only equal values share; ``1``, ``1.0`` and ``true`` are not equal."""
    if isinstance(item, dict | list):
        return dict, go_text.to_json(item)
    return item if isinstance(item, str) else (type(item), item)
