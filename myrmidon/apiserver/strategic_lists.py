"""How lists merge in a strategic merge patch: which elements, and in which order.

The order is that of the patch for the elements it names and that of the server for the others.
Where the two say nothing about each other, the elements of the patch come first: that is why a new
container stands before the old ones.
"""

from collections.abc import Callable
from typing import Any

from myrmidon.api.objects import Json
from myrmidon.apiserver.fields.checking import go_text

DIRECTIVE = "$patch"
BAD_DELETIONS = "invalid patch format of primitive list"
BAD_ORDER = "invalid patch format of setElementOrder list"

_GO_TYPES: dict[type, str] = {
    bool: "bool", int: "int64", float: "float64", str: "string", type(None): "<nil>",
    list: "[]interface {}", dict: "map[string]interface {}",
}  # fmt: skip


class StrategicPatchError(ValueError):
    """A patch that cannot be merged.  ``code`` is the status that the real server answers with."""

    def __init__(self, message: str, *, code: int = 500) -> None:
        self.code = code
        super().__init__(message)

    @classmethod
    def unknown_directive(cls, directive: Any, patch: Json) -> "StrategicPatchError":
        """A ``$patch`` that nobody knows."""
        return cls(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")

    @classmethod
    def wrong_type(cls, wanted: type, value: Any) -> "StrategicPatchError":
        """A value of another type than its directive needs."""
        found = _GO_TYPES.get(type(value), "<nil>")
        return cls(f"expected a {_GO_TYPES[wanted]}, but received a {found}")

    @classmethod
    def no_key(cls, item: Json, key: str) -> "StrategicPatchError":
        """An element that cannot be told from others."""
        return cls(f"map: {go_text(item)} does not contain declared merge key: {key}")


def plain(value: Any) -> Any:
    """A value of a patch as it goes into the object: no nulls in maps, no directives.

    None for a map that is a directive itself.
    """
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return None
        kept = {key: plain(item) for key, item in value.items() if item is not None}
        return {key: item for key, item in kept.items() if item is not None}
    if isinstance(value, list):
        return [plain(item) for item in value if not _is_directive(item)]
    return value


def _is_directive(item: Any) -> bool:
    return isinstance(item, dict) and DIRECTIVE in item


def check_same_kind(*lists: list[Any]) -> bool:
    """Whether the elements are maps; raises where they are of several kinds, or lists."""
    kinds = dict.fromkeys(type(item) for items in lists for item in items)
    if not kinds:
        raise StrategicPatchError("no elements in any of the given slices")
    if next(iter(kinds)) is list:
        raise StrategicPatchError("lists of lists are not supported", code=422)
    if len(kinds) > 1:
        raise StrategicPatchError(f"list element types are not identical: {go_text(list(lists))}")
    return dict in kinds


def merge_scalars(original: list[Any], patch: list[Any]) -> list[Any]:
    """Both lists, each value once."""
    return reordered(_once([*original, *patch]), patch, original, "")


def without_scalars(original: list[Any], gone: list[Any]) -> list[Any]:
    """The list without some values; checked as if they were merged."""
    if not original and not gone:
        return original
    check_same_kind(original, gone)
    return [item for item in original if item not in gone]


def _once(items: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for item in items:
        if item not in kept:
            kept.append(item)
    return kept


def merge_keyed(
    original: list[Any], patch: list[Any], key: str, merge: Callable[[Json, Json], Json]
) -> list[Any]:
    """Elements with the same key merge, new ones are added, ``$patch: delete`` takes one away."""
    merged, additions = _directed(original, patch, key)
    before = list(merged)
    for item in additions:
        wanted = _key_of(item, key)
        found = _find(merged, key, wanted)
        if found is None:
            merged.append(plain(item))
        else:
            merged[found] = merge(merged[found], item)
    return reordered(merged, additions, before, key)


def _directed(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """The list after deletions, and the elements of the patch that are no directives."""
    kept = list(original)
    additions: list[Any] = []
    replaces = False
    for item in patch:
        match item.get(DIRECTIVE, "") if DIRECTIVE in item else None:
            case None:
                additions.append(item)
            case "delete":
                wanted = _key_of(item, key)
                kept = [old for old in kept if not (key in old and old[key] == wanted)]
            case "replace":
                replaces = True
            case "merge":
                raise StrategicPatchError("merging lists cannot yet be specified in the patch")
            case unknown:
                raise StrategicPatchError.unknown_directive(unknown, item)
    return (additions, []) if replaces else (kept, additions)


def _key_of(item: Json, key: str) -> Any:
    if key not in item:
        raise StrategicPatchError.no_key(item, key)
    return item[key]


def _find(items: list[Any], key: str, wanted: Any) -> int | None:
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise StrategicPatchError(f"value for key {index} is not a map.")
        if key in item and item[key] == wanted:
            return index
    return None


def check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """The patch must name its elements in the order that it asks for."""
    if not patch or not order:
        return
    named = [item for item in patch if not _is_directive(item)] if key else patch
    position = 0
    for wanted in order:
        if position < len(named) and _same_item(named[position], wanted, key):
            position += 1
    if position < len(named):
        raise StrategicPatchError(
            f"The order in patch list:\n{go_text(patch)}\n doesn't match"
            f" $setElementOrder list:\n{go_text(order)}\n"
        )


def _same_item(left: Any, right: Any, key: str) -> bool:
    if not key:
        return bool(left == right)
    for item in (left, right):
        if not isinstance(item, dict):
            raise StrategicPatchError.wrong_type(dict, item)
    return bool(_key_of(left, key) == _key_of(right, key))


def reordered(items: list[Any], order: list[Any], server_order: list[Any], key: str) -> list[Any]:
    """Elements named in ``order`` by it, the others by the order they had, woven together."""
    wanted, server = _Places(order, key), _Places(server_order, key)
    named = sorted((item for item in items if wanted.has(item)), key=wanted.index)
    others = sorted((item for item in items if not wanted.has(item)), key=server.index)
    woven: list[Any] = []
    for item in others:
        while named and not server.before(item, named[0]):
            woven.append(named.pop(0))
        woven.append(item)
    return woven + named


class _Places:
    """Where elements stand in a list, by key or by value."""

    def __init__(self, items: list[Any], key: str) -> None:
        self._key = key
        self._known = [_key_of(item, key) if key else item for item in items]

    def has(self, item: Any) -> bool:
        """Whether the list has the element."""
        return self._value(item) in self._known

    def index(self, item: Any) -> int:
        """Where it is; -1 if it is not."""
        value = self._value(item)
        return self._known.index(value) if value in self._known else -1

    def before(self, left: Any, right: Any) -> bool:
        """Whether the list has both, in this order."""
        return -1 < self.index(left) < self.index(right)

    def _value(self, item: Any) -> Any:
        return _key_of(item, self._key) if self._key else item
