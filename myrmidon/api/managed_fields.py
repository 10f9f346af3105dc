"""``metadata.managedFields``: which writer set which fields, as the API server records it.

Every write of a controller names the controller as its field manager.  That is the only evidence
of authorship that survives a restart and costs nothing on the object itself.  Caches drop
``managedFields``, so these questions need an object that was read live.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

_MANAGER_CHARACTERS_MAX = 128  # the API server refuses longer names


def field_manager(controller: str) -> str:
    """The name under which a controller writes."""
    return controller[:_MANAGER_CHARACTERS_MAX]


def wrote(obj: Mapping[str, Any], controller: str) -> bool:
    """Whether a controller wrote the object itself; its status does not count."""
    return any(not entry.get("subresource") for entry in _entries(obj, controller))


def conditions_of(obj: Mapping[str, Any], controller: str) -> frozenset[str]:
    """The types of the conditions that a controller put on the object.

    The server tells entries of the list apart if its schema makes ``type`` the key of the list
    (``x-kubernetes-list-type: map``), as definitions made by ``generate`` do.  Of an atomic list
    it knows only who last changed it as a whole; then the answer is empty.
    """
    return frozenset(
        kind
        for entry in _entries(obj, controller)
        for key, fields in _child(_child(entry.get("fieldsV1"), "f:status"), "f:conditions").items()
        if isinstance(fields, dict) and "f:type" in fields and (kind := _type_in(key))
    )


def _entries(obj: Mapping[str, Any], controller: str) -> Iterator[Mapping[str, Any]]:
    manager = field_manager(controller)
    for entry in (obj.get("metadata") or {}).get("managedFields") or ():
        if entry.get("manager") == manager:
            yield entry


def _child(fields: Any, name: str) -> Mapping[str, Any]:
    found = fields.get(name) if isinstance(fields, dict) else None
    return found if isinstance(found, dict) else {}


def _type_in(key: str) -> str:
    """The type in a key such as ``k:{"type":"Ready"}``; ``""`` for any other key."""
    if not key.startswith("k:"):
        return ""
    try:
        named = orjson.loads(key[2:])
    except orjson.JSONDecodeError:
        return ""
    return str(named.get("type") or "") if isinstance(named, dict) else ""
