"""Field managers: who the API server says wrote which field (``metadata.managedFields``).

The server keeps one entry for each manager, operation and subresource, with the fields in a tree:
``f:name`` for a field, ``k:{...}`` or ``v:...`` for an element of a list, ``.`` for the item
itself.  Caches do not keep these entries; they are in answers and in live reads.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from myrmidon.api.objects import Json, metadata
from myrmidon.sets.output_set import Apply, Output

_CHARACTERS_MAX = 128  # the API server refuses longer names


def manager_of(output: Output) -> str:
    """Return the field manager that the output is written as: the controller, unless told otherwise."""
    chosen = output.options.field_manager if isinstance(output, Apply) else None
    name = chosen or output.author.partition(".")[0] or "myrmidon"
    return name[:_CHARACTERS_MAX]


def is_written_by(obj: Mapping[str, Any], manager: str) -> bool:
    """Whether the manager wrote the object itself, not only its status or another subresource."""
    return any(
        entry.get("manager") == manager and not entry.get("subresource") for entry in _entries(obj)
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
