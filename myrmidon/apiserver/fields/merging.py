"""Merge an applied object into the live one: applied fields win, the other fields stay."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from myrmidon.apiserver.fields.elements import Element
from myrmidon.apiserver.fields.listing import ShapeError, element_of, grouped
from myrmidon.apiserver.fields.shapes import Shape

_MISSING: Any = object()


def merge(live: Any, applied: Any, shape: Shape) -> Any:
    """Return the merged object; raise ``ShapeError`` if a value does not fit the schema."""
    merged = _merge(live, applied, shape)
    return {} if merged is _MISSING else merged


def _merge(live: Any, applied: Any, shape: Shape) -> Any:
    if applied is _MISSING:
        return live
    atoms = shape.atoms_of(applied)
    if atoms[0] == "s":
        return applied
    kind: type = dict if atoms[0] == "m" else list
    left: Any = live if isinstance(live, kind) else None
    right: Any = applied if isinstance(applied, kind) else None
    atomic = shape.atomic_map if kind is dict else not shape.associative
    if atomic or not (left or right):
        return applied  # both are empty or null: the applied one wins
    if kind is dict:
        return _merge_maps(left or {}, right or {}, shape)
    return _merge_lists(left or [], right or [], shape)


def _merge_maps(live: dict[str, Any], applied: dict[str, Any], shape: Shape) -> Any:
    merged = dict(live)
    for name, value in applied.items():
        child = shape.child(name)
        if child is None:
            raise ShapeError(f".{name}: field not declared in schema")
        result = _merge(live.get(name, _MISSING), value, child)
        if result is not _MISSING:
            merged[name] = result
    return merged or _MISSING


def _merge_lists(live: list[Any], applied: list[Any], shape: Shape) -> Any:
    """Merge lists: items in the order of the applied list, the others near their old neighbours."""
    rights = {element: items[0] for element, items in grouped(applied, shape).items()}
    lefts = [(element_of(item, shape), item) for item in live]
    alone = {element: items for element, items in grouped(live, shape).items() if len(items) == 1}
    merged = []
    for element, index in _weave([element for element, _ in lefts], list(rights)):
        if index is not None:
            merged.append(lefts[index][1])  # no manager applies it
            continue
        # Duplicates are not merged: the applied item replaces all of them.
        before = alone[element][0] if element in alone else _MISSING
        merged.append(_merge(before, rights[element], shape.item))
    return merged or _MISSING


def _weave(live: list[Element], applied: list[Element]) -> Iterator[tuple[Element, int | None]]:
    """Merge the order of two lists of items.

    Items that only the live list has stay between their old neighbours, and are returned with their
    index in it.  Where the two orders contradict each other, the applied list wins.
    """
    in_live, in_applied = frozenset(live), frozenset(applied)
    shared = deque(element for element in applied if element in in_live)
    taken: set[Element] = set()
    left, right = 0, 0
    while left < len(live) or right < len(applied):
        here = live[left] if left < len(live) else None
        upcoming = applied[right] if right < len(applied) else None
        if here is not None and here not in in_applied:
            yield here, left
            left += 1
        elif None not in (here, upcoming) and here != upcoming and shared and shared[0] != here:
            left += 1  # it is added where the applied list has it
        else:
            if here == upcoming or here in taken:
                left += 1
            if upcoming is not None:
                yield upcoming, None
                taken.add(upcoming)
                right += 1
                if shared and shared[0] == upcoming:
                    shared.popleft()
