"""``metadata.managedFields``: which writer set which fields, as the API server records it.

Every write of a controller names the controller as its field manager.  That is the only evidence
of authorship that survives a restart and costs nothing on the object itself.  Caches drop
``managedFields``, so these questions need an object that was read live.

The server keeps one entry for each manager, operation and subresource, with the fields in a tree:
``f:name`` for a field, ``k:{...}`` or ``v:...`` for an element of a list, ``.`` for the item
itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from myrmidon.api.objects import Json, metadata

_MANAGER_CHARACTERS_MAX = 128  # the API server refuses longer names


def field_manager(controller: str) -> str:
    """The name under which a controller writes."""
    return controller[:_MANAGER_CHARACTERS_MAX]


def wrote(obj: Mapping[str, Any], manager: str) -> bool:
    """Whether the manager wrote the object itself, not only its status or another subresource."""
    name = field_manager(manager)
    return any(
        entry.get("manager") == name and not entry.get("subresource") for entry in _entries(obj)
    )


def managers_of(obj: Mapping[str, Any], field: Sequence[str]) -> dict[str, str]:
    """Return the managers of a field, or of a part of it, each with the time of its last write."""
    return {
        str(entry.get("manager") or "unknown"): str(entry.get("time") or "")
        for entry in _entries(obj)
        if _holds(entry.get("fieldsV1"), field)
    }


def _entries(obj: Mapping[str, Any]) -> Iterator[Json]:
    for entry in metadata(obj).get("managedFields") or ():
        if isinstance(entry, dict):
            yield entry


def _holds(tree: Any, field: Sequence[str]) -> bool:
    for name in field:
        tree = tree.get(f"f:{name}") if isinstance(tree, dict) else None
    return tree is not None
