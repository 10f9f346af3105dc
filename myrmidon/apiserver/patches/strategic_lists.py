"""Merge lists in a strategic merge patch: which elements, and in which order.

Elements in the patch are in the order of the patch, the others in the order of the live list.
Where these two orders do not decide, the elements of the patch come first; a new container, for
example, is placed before the existing ones.
"""

from collections.abc import Callable
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.fields.checking import go_text
from myrmidon.apiserver.golang.types import go_type, go_type_name

DIRECTIVE = "$patch"
BAD_DELETIONS = "invalid patch format of primitive list"
BAD_ORDER = "invalid patch format of setElementOrder list"


class StrategicPatchError(ValueError):
    """The patch cannot be merged.  ``code`` is the HTTP status of the real server."""

    def __init__(self, message: str, *, code: int = 500) -> None:
        self.code = code
        super().__init__(message)

    @classmethod
    def unknown_directive(cls, directive: Any, patch: Json) -> "StrategicPatchError":
        """Return the error for an unknown ``$patch`` directive."""
        return cls(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")

    @classmethod
    def wrong_type(cls, wanted: type, value: Any) -> "StrategicPatchError":
        """Return the error for a value that does not have the type that its directive needs."""
        found = go_type(value)
        return cls(f"expected a {go_type_name(wanted)}, but received a {found}")

    @classmethod
    def no_key(cls, item: Json, key: str) -> "StrategicPatchError":
        """Return the error for an element without the merge key."""
        return cls(f"map: {go_text(item)} does not contain declared merge key: {key}")


def plain(value: Any) -> Any:
    """Return a patch value as it is stored in the object: without null fields and directives.

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
    """Whether the elements are maps; raise if their types differ, or if they are lists."""
    kinds = dict.fromkeys(type(item) for items in lists for item in items)
    if not kinds:
        raise StrategicPatchError("no elements in any of the given slices")
    if next(iter(kinds)) is list:
        raise StrategicPatchError("lists of lists are not supported", code=422)
    if len(kinds) > 1:
        raise StrategicPatchError(f"list element types are not identical: {go_text(list(lists))}")
    return dict in kinds


def merge_scalars(original: list[Any], patch: list[Any]) -> list[Any]:
    """Return the union of both lists, each value once."""
    return reordered(_once([*original, *patch]), patch, original, "")


def without_scalars(original: list[Any], gone: list[Any]) -> list[Any]:
    """Return the list without the values in ``gone``; both are checked as in a merge."""
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
    """Merge elements with the same key, add new ones, and remove those with ``$patch: delete``."""
    merged, additions = _directed(original, patch, key)
    before = list(merged)
    for item in additions:
        wanted = _key_of(item, key)
        found = _find(merged, key, wanted)
        if found is None:
            merged.append(item)  # unchanged: directives inside a new element are ignored
        else:
            merged[found] = merge(merged[found], item)
    return reordered(merged, additions, before, key)


def _directed(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Return the list after deletions, and the elements of the patch that are not directives."""
    kept = list(original)
    additions: list[Any] = []
    replaces = False
    for item in patch:
        match item.get(DIRECTIVE, "") if DIRECTIVE in item else None:
            case None:
                additions.append(item)
            case "delete":
                wanted = _key_of(item, key)
                kept = [old for old in kept if not (key in old and identical(old[key], wanted))]
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
        if key in item and identical(item[key], wanted):
            return index
    return None


def server_order(original: list[Any], patch: list[Any], key: str) -> list[Any]:
    """Return the order of the live list that the real server uses for ``$setElementOrder``.

    By then the real server has overwritten that list: deleted elements have left room at its end,
    and new elements have moved in there.
    """
    if not key:
        return original
    kept, additions = _directed(original, patch, key)
    new = [item for item in additions if _find(kept, key, _key_of(item, key)) is None]
    return [*kept, *new][: len(original)]


def check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """Raise if the elements of the patch are not in the order of its ``$setElementOrder``."""
    if not patch or not order:
        return
    named = [item for item in patch if not _deletes(item)] if key else patch
    position, place = 0, 0
    while position < len(named) and place < len(order):
        if _is_directive(named[position]):
            position += 1
            continue
        if _same_item(named[position], order[place], key):
            position += 1
        place += 1
    if position < len(named):
        raise StrategicPatchError(
            f"The order in patch list:\n{go_text(patch)}\n doesn't match"
            f" $setElementOrder list:\n{go_text(order)}\n"
        )


def _deletes(item: Any) -> bool:
    return _is_directive(item) and item[DIRECTIVE] == "delete"


def _same_item(left: Any, right: Any, key: str) -> bool:
    if not key:
        return identical(left, right)
    for item in (left, right):
        if not isinstance(item, dict):
            raise StrategicPatchError.wrong_type(dict, item)
    return identical(_key_of(left, key), _key_of(right, key))


def reordered(items: list[Any], order: list[Any], server_order: list[Any], key: str) -> list[Any]:
    """Return the elements in ``order`` merged with the other elements in ``server_order``."""
    wanted, server = _Places(order, key), _Places(server_order, key)
    named = wanted.sorted([item for item in items if wanted.has(item)])
    others = server.sorted([item for item in items if not wanted.has(item)])
    woven: list[Any] = []
    for item in others:
        while named and not server.before(item, named[0]):
            woven.append(named.pop(0))
        woven.append(item)
    return woven + named


class _Places:
    """The positions of elements in a list, by key or by value."""

    def __init__(self, items: list[Any], key: str) -> None:
        self._key = key
        self._known = [_key_of(item, key) if key else item for item in items]

    def has(self, item: Any) -> bool:
        """Whether the list has the element."""
        return self.index(item) >= 0

    def index(self, item: Any) -> int:
        """Return the position of the element, or -1."""
        value = self._value(item)
        return next((at for at, one in enumerate(self._known) if identical(one, value)), -1)

    def sorted(self, items: list[Any]) -> list[Any]:
        """Return the items in the order of the list.

        The real server uses an insertion sort in which an item that is not in the list is less than
        any other, so such items come out in reverse order.
        """
        result: list[Any] = []
        for item in items:
            place = len(result)
            while place > 0 and self._goes_before(item, result[place - 1]):
                place -= 1
            result.insert(place, item)
        return result

    def _goes_before(self, left: Any, right: Any) -> bool:
        places = self.index(left), self.index(right)
        return places[0] < places[1] if min(places) >= 0 else True

    def before(self, left: Any, right: Any) -> bool:
        """Whether the list has both elements, in this order."""
        return -1 < self.index(left) < self.index(right)

    def _value(self, item: Any) -> Any:
        return _key_of(item, self._key) if self._key else item
