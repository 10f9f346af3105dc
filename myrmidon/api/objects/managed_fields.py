"""``metadata.managedFields``: which writer set which fields, as the API server records it.

Every write of a controller names the controller as its field manager.  That is how a controller can
tell, even after a restart, that it wrote an object; no label or annotation is needed.  Caches drop
``managedFields``, so these functions need an object that was read from the server.

The server keeps one entry for each manager, operation and subresource, with the fields in a tree:
``f:name`` for a field, ``k:{...}`` or ``v:...`` for an element of a list, ``.`` for the item
itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from myrmidon.api.objects.accessors import Json, metadata

_MANAGER_CHARACTERS_MAX = 128  # the API server refuses longer names


def field_manager(controller: str) -> str:
    """Return the name of a controller's field manager, within the length limit of the server."""
    return controller[:_MANAGER_CHARACTERS_MAX]


def wrote(obj: Mapping[str, Any], controller: str) -> bool:
    """Whether a controller wrote the object itself, not only its status or another subresource."""
    return any(not entry.get("subresource") for entry in _entries_of(obj, controller))


def conditions_of(obj: Mapping[str, Any], controller: str) -> frozenset[str]:
    """Return the types of the conditions that a controller put on the object.

    The server records the managers of each condition if the schema makes ``type`` the key of the
    list (``x-kubernetes-list-type: map``), as definitions made by ``generate`` do.  For an atomic
    list it records only the manager of the whole list; then the result is empty.
    """
    return frozenset(
        kind
        for entry in _entries_of(obj, controller)
        for key, fields in _child(_child(entry.get("fieldsV1"), "f:status"), "f:conditions").items()
        if isinstance(fields, dict) and "f:type" in fields and (kind := _type_in(key))
    )


def managers_of(obj: Mapping[str, Any], field: Sequence[str]) -> dict[str, str]:
    """Return the managers of a field, or of a part of it, each with the time of its last write."""
    return {
        str(entry.get("manager") or "unknown"): str(entry.get("time") or "")
        for entry in _entries(obj)
        if _holds(entry.get("fieldsV1"), field)
    }


def holders_of(obj: Mapping[str, Any], field: Sequence[str]) -> set[str]:
    """Return the managers that hold a field, or a whole value that contains it.

    The server records a list or a map that its schema calls atomic as one value.
    """
    return {
        str(entry.get("manager") or "unknown")
        for entry in _entries(obj)
        if not entry.get("subresource") and _covers(entry.get("fieldsV1"), field)
    }


def _entries(obj: Mapping[str, Any]) -> Iterator[Json]:
    for entry in metadata(obj).get("managedFields") or ():
        if isinstance(entry, dict):
            yield entry


def _entries_of(obj: Mapping[str, Any], controller: str) -> Iterator[Json]:
    manager = field_manager(controller)
    return (entry for entry in _entries(obj) if entry.get("manager") == manager)


def _holds(tree: Any, field: Sequence[str]) -> bool:
    for name in field:
        tree = tree.get(f"f:{name}") if isinstance(tree, dict) else None
    return tree is not None


def _covers(tree: Any, field: Sequence[str]) -> bool:
    for name in field:
        if tree == {}:
            return True
        tree = tree.get(f"f:{name}") if isinstance(tree, dict) else None
    return tree is not None


def _child(fields: Any, name: str) -> Mapping[str, Any]:
    found = fields.get(name) if isinstance(fields, dict) else None
    return found if isinstance(found, dict) else {}


def _type_in(key: str) -> str:
    """Return the type in a key such as ``k:{"type":"Ready"}``; ``""`` for any other key."""
    if not key.startswith("k:"):
        return ""
    try:
        named = orjson.loads(key[2:])
    except orjson.JSONDecodeError:
        return ""
    return str(named.get("type") or "") if isinstance(named, dict) else ""
