"""Read-only lists and maps, for the parts of an object that a state must not change.

They are subclasses of ``list`` and ``dict``, so they can be used in manifests, JSON and comparisons
like any other.  A copy of one is an ordinary list or dict, which can be changed.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NoReturn

READ_ONLY = "{what} is read only; what a state may change is obj.status"
_FIXES = {
    "obj.labels": "use out.label_self(...)",
    "obj.annotations": "use out.annotate_self(...)",
    "obj.spec": "write what was observed to obj.status; leave the spec to its author",
}


class ReadOnlyError(AttributeError, TypeError):
    """An attempt to change an object that was read from the server."""

    def __init__(self, what: str) -> None:
        fix = _FIXES.get(what)
        super().__init__(READ_ONLY.format(what=what) + (f".\n  fix: {fix}" if fix else ""))


def _refuse(self: Any, *_: object, **__: object) -> NoReturn:
    raise ReadOnlyError(self.what)


class FrozenList(list[Any]):
    """A list of ``obj.spec`` or ``obj.metadata``."""

    __slots__ = ("what",)

    def __init__(self, items: Any, what: str) -> None:
        super().__init__(items)
        self.what = what

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [deepcopy(item, memo) for item in self]

    def __reduce_ex__(self, _: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return list, (list(self),)

    def copy(self) -> list[Any]:
        """Return an ordinary list of the same items."""
        return list(self)


class FrozenDict(dict[str, Any]):
    """A map of ``obj.spec`` or ``obj.metadata``."""

    __slots__ = ("what",)

    def __init__(self, items: Any, what: str) -> None:
        super().__init__(items)
        self.what = what

    pop = popitem = clear = update = setdefault = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: deepcopy(value, memo) for key, value in self.items()}

    def __reduce_ex__(self, _: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return dict, (dict(self),)

    def copy(self) -> dict[str, Any]:
        """Return an ordinary dict of the same items."""
        return dict(self)


def frozen(value: Any, what: str) -> Any:
    """Return the JSON value with every list and map in it read-only."""
    match value:
        case dict():
            return FrozenDict({key: frozen(item, what) for key, item in value.items()}, what)
        case list():
            return FrozenList([frozen(item, what) for item in value], what)
        case _:
            return value
