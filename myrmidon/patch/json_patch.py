"""JSON patch (RFC 6902) with the departures of the library that kube-apiserver uses.

Clients have come to rely on these departures: ``replace`` of a missing
key adds it, ``test`` of a missing key against null holds, ``copy`` of a missing key copies null,
an ``add`` without a value adds null, negative indices count from the end, and anything
before the first slash of a path is ignored.

Documents are not changed: what an operation touches is copied, the rest is shared.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical

OPERATIONS_MAX = 10_000  # kube-apiserver refuses longer patches

_Container: TypeAlias = dict[str, Any] | list[Any]
_Edit: TypeAlias = Callable[[_Container, str], None]

_INDEX = re.compile(r"[+-]?[0-9]+\Z")
_ESCAPES = re.compile("~[01]")
_MISSING: Any = object()


class JsonPatchError(ValueError):
    """An operation that cannot be applied; the document is unchanged."""


def apply_json_patch(doc: Any, operations: Iterable[Any]) -> Any:
    """Return the document after all operations; raise ``JsonPatchError`` at the first that fails."""
    for operation in operations:
        if not isinstance(operation, dict):
            raise JsonPatchError("an operation must be a map")
        kind = operation.get("op")
        perform = _OPERATIONS.get(kind) if isinstance(kind, str) else None
        if perform is None:
            raise JsonPatchError(f"Unexpected kind: {kind}")
        doc = perform(doc, operation)
    return doc


def _add(doc: Any, operation: Json) -> Any:
    value = operation.get("value")
    return _edit(doc, _pointer(operation, "path"), lambda place, key: _insert(place, key, value))


def _remove(doc: Any, operation: Json) -> Any:
    return _edit(doc, _pointer(operation, "path"), _delete)


def _replace(doc: Any, operation: Json) -> Any:
    pointer, value = _pointer(operation, "path"), operation.get("value")
    if pointer == "":
        if not isinstance(value, dict | list):
            raise JsonPatchError("replace operation value must be object or array")
        return value

    def put(place: _Container, key: str) -> None:
        if isinstance(place, dict):
            place[key] = value
        else:
            place[_index(place, key)] = value

    return _edit(doc, pointer, put)


def _move(doc: Any, operation: Json) -> Any:
    source = _pointer(operation, "from")
    value = _get(doc, source)
    doc = _edit(doc, source, _delete)
    return _edit(doc, _pointer(operation, "path"), lambda place, key: _insert(place, key, value))


def _copy(doc: Any, operation: Json) -> Any:
    value = _get(doc, _pointer(operation, "from"))
    value = None if value is _MISSING else value
    return _edit(doc, _pointer(operation, "path"), lambda place, key: _insert(place, key, value))


def _test(doc: Any, operation: Json) -> Any:
    pointer, wanted = _pointer(operation, "path"), operation.get("value", _MISSING)
    value = doc if pointer == "" else _get(doc, pointer)
    if value is _MISSING or value is None:
        holds = wanted is _MISSING or wanted is None
    else:
        holds = wanted is not _MISSING and identical(value, wanted)
    if not holds:
        raise JsonPatchError(f"testing value {pointer} failed: test failed")
    return doc


_OPERATIONS: dict[str, Callable[[Any, Json], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _pointer(operation: Json, key: str) -> str:
    pointer = operation.get(key)
    if not isinstance(pointer, str):
        raise JsonPatchError(f"operation missing {key} field")
    return pointer


def _steps(pointer: str) -> list[str]:
    _, *steps = pointer.split("/")
    if not steps:
        raise JsonPatchError(f'doc is missing path: "{pointer}"')
    return [_ESCAPES.sub(lambda match: "~" if match[0] == "~0" else "/", step) for step in steps]


def _get(doc: Any, pointer: str) -> Any:
    """Return the value at a path, ``_MISSING`` for a missing key; raise if its parent is missing."""
    *parents, last = _steps(pointer)
    for step in parents:
        doc = _child(doc, step, pointer)
    if isinstance(doc, dict):
        return doc.get(last, _MISSING)
    return _child(doc, last, pointer)


def _child(doc: Any, step: str, pointer: str) -> Any:
    if isinstance(doc, list):
        return doc[_index(doc, step)]
    if isinstance(doc, dict) and doc.get(step) is not None:
        return doc[step]
    raise JsonPatchError(f'doc is missing path: "{pointer}"')


def _edit(doc: Any, pointer: str, edit: _Edit) -> Any:
    """Return the document with ``edit`` applied to the container in which the path ends."""
    *parents, last = _steps(pointer)
    root = place = _opened(doc, pointer)
    for step in parents:
        inner = _opened(_child(place, step, pointer), pointer)
        if isinstance(place, dict):
            place[step] = inner
        else:
            place[_index(place, step)] = inner
        place = inner
    edit(place, last)
    return root


def _opened(value: Any, pointer: str) -> _Container:
    """Return a shallow copy of a container, to write into."""
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, list):
        return list(value)
    raise JsonPatchError(f'doc is missing path: "{pointer}"')


def _insert(place: _Container, key: str, value: Any) -> None:
    if isinstance(place, dict):
        place[key] = value
    elif key == "-":
        place.append(value)
    else:
        place.insert(_index(place, key, extra=1), value)


def _delete(place: _Container, key: str) -> None:
    if isinstance(place, list):
        del place[_index(place, key)]
    elif key in place:
        del place[key]
    else:
        raise JsonPatchError(f"Unable to remove nonexistent key: {key}: missing value")


def _index(place: list[Any], key: str, *, extra: int = 0) -> int:
    """Return an index into a list, counted from the front; ``extra=1`` allows the place after the end."""
    if not _INDEX.match(key):
        raise JsonPatchError(f"value was not a proper array index: '{key}'")
    size = len(place) + extra
    index = int(key)
    if not -size <= index < size:
        raise JsonPatchError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + size if index < 0 else index
