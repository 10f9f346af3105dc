"""Compare two objects field by field: which fields were removed, modified and added.

Only branches that differ are walked field by field: values that are equal have no changed fields.
Equal means equal as JSON (``same``): the server's merge library compares ``1`` and ``1.0`` as one
number, and tells ``true`` from ``1``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from myrmidon.api.values.equality import same
from myrmidon.apiserver.fields.fieldset import Node, as_member, ordered, union
from myrmidon.apiserver.fields.listing import ShapeError, grouped
from myrmidon.apiserver.fields.owning import everything
from myrmidon.apiserver.fields.shapes import Shape


class Comparison(NamedTuple):
    """The removed, modified and added fields, each as the root node of a field set."""

    removed: Node
    modified: Node
    added: Node

    def filtered(self, keep: Callable[[Node], Node]) -> "Comparison":
        """Return the comparison with each set passed through a filter."""
        return Comparison(keep(self.removed), keep(self.modified), keep(self.added))

    def __bool__(self) -> bool:
        return bool(self.removed or self.modified or self.added)

    def written(self) -> Node:
        """Return the fields that the change wrote: modified and added."""
        return union(self.modified, self.added)


class _Change(NamedTuple):
    """The changes inside one field.  None: no change.  An empty node: the field itself changed."""

    removed: Node | None = None
    modified: Node | None = None
    added: Node | None = None


_MISSING: Any = object()
_NOTHING = _Change()
_MODIFIED = _Change(modified={})


def compare(old: Any, new: Any, shape: Shape) -> Comparison:
    """Compare two objects; raise ``ShapeError`` if one does not fit the schema."""
    change = _NOTHING if old is new or same(old, new) else _changed(old, new, shape)
    return Comparison(change.removed or {}, change.modified or {}, change.added or {})


def _changed(old: Any, new: Any, shape: Shape) -> _Change:
    """Return the changes between two values that both exist and are not equal."""
    was, now = shape.atoms_of(old), shape.atoms_of(new)
    if was == now:
        return _changed_as(was[0], old, new, shape)
    # The type changed, for example from a scalar to a map: the old value is removed, the new added.
    return _both(
        _changed_as(was[0], old, new, shape),
        _changed_as(now[0], old, new, shape),
    )


def _changed_as(atom: str, old: Any, new: Any, shape: Shape) -> _Change:
    if atom == "s":
        return _NOTHING if same(old, new) else _MODIFIED
    kind: type = dict if atom == "m" else list
    atomic = shape.atomic_map if atom == "m" else not shape.associative
    left: Any = old if isinstance(old, kind) else None
    right: Any = new if isinstance(new, kind) else None
    if atomic or not (left or right):
        return _MODIFIED
    if atom == "m":
        return _changed_map(left or {}, right or {}, shape)
    return _changed_list(left or [], right or [], shape)


def _changed_map(old: dict[str, Any], new: dict[str, Any], shape: Shape) -> _Change:
    removed: Node = {}
    modified: Node = {}
    added: Node = {}
    fields = shape.fields
    for name, now in new.items():
        was = old.get(name, _MISSING)
        if was is now or same(was, now):
            continue
        child = fields.get(name) or shape.element
        if child is None:
            raise ShapeError(f".{name}: field not declared in schema")
        if was is _MISSING:
            added["f:" + name] = everything(now, child)
        else:
            _collect("f:" + name, _changed(was, now, child), removed, modified, added)
    for name, was in old.items():
        if name not in new:
            child = fields.get(name) or shape.element
            removed["f:" + name] = {} if child is None else everything(was, child)
    return _change(removed, modified, added)


def _changed_list(old: list[Any], new: list[Any], shape: Shape) -> _Change:
    removed: Node = {}
    modified: Node = {}
    added: Node = {}
    before, after = grouped(old, shape), grouped(new, shape)
    for element, items in before.items():
        change = _changed_items(items, after.get(element, []), shape.item)
        _collect(element, change, removed, modified, added)
    for element, items in after.items():
        if element not in before:
            added[element] = everything(items[0], shape.item) if len(items) == 1 else {}
    return _change(removed, modified, added)


def _change(removed: Node, modified: Node, added: Node) -> _Change:
    return _Change(
        ordered(removed) if removed else None,
        ordered(modified) if modified else None,
        ordered(added) if added else None,
    )


def _changed_items(old: list[Any], new: list[Any], shape: Shape) -> _Change:
    """Compare the items of one path element.  Duplicates count as one leaf with one owner."""
    match len(old), len(new):
        case 1, 0:
            return _Change(removed=everything(old[0], shape))
        case 1, 1:
            return _NOTHING if same(old[0], new[0]) else _changed(old[0], new[0], shape)
        case 1, _:
            return _Change(removed=everything(old[0], shape), added={})
        case _, 0:
            return _Change(removed={})
        case _, 1:
            return _Change(removed={}, added=everything(new[0], shape))
        case _:
            return _NOTHING if same(old, new) else _MODIFIED


def _collect(element: str, change: _Change, removed: Node, modified: Node, added: Node) -> None:
    if change.removed is not None:
        removed[element] = change.removed
    if change.modified is not None:
        modified[element] = change.modified
    if change.added is not None:
        added[element] = change.added


def _both(first: _Change, second: _Change) -> _Change:
    return _Change(*map(_either, first, second))


def _either(left: Node | None, right: Node | None) -> Node | None:
    if left is None or right is None:
        return right if left is None else left
    if not left or not right:
        return as_member(left or right)
    return union(left, right)
