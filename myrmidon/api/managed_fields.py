"""``metadata.managedFields``: which writer set which fields, as the API server records it.

Every write of a controller names the controller as its field manager.  That is the only evidence
of authorship that survives a restart and costs nothing on the object itself.  Caches drop
``managedFields``, so these questions need an object that was read live.
"""

from collections.abc import Mapping
from typing import Any

_MANAGER_CHARACTERS_MAX = 128  # the API server refuses longer names


def field_manager(controller: str) -> str:
    """The name under which a controller writes."""
    return controller[:_MANAGER_CHARACTERS_MAX]


def wrote(obj: Mapping[str, Any], controller: str) -> bool:
    """Whether a controller wrote the object itself; its status does not count."""
    manager = field_manager(controller)
    entries = (obj.get("metadata") or {}).get("managedFields") or ()
    return any(
        entry.get("manager") == manager and not entry.get("subresource") for entry in entries
    )
