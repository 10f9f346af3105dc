"""Child names that contain a hash of the child's content."""

from typing import Any

from myrmidon.api.objects.accessors import name_of
from myrmidon.api.typed.object_types import raw_of
from myrmidon.sets.fingerprints import fingerprint

_NAME_MAX = 63  # the shortest limit of any kind (Service, for example)
_HASH_LENGTH = 10


def hashed_name(parent: Any, data: Any) -> str:
    """Return a name for an immutable child: the parent's name and a hash of ``data``.

    Other data gives another name, so the child is replaced rather than changed; the same data gives
    the same name in every pass and every process.  ``parent`` is an object or a name.
    """
    name = parent if isinstance(parent, str) else _name_of(parent)
    digest = fingerprint({"data": data})[:_HASH_LENGTH]
    return f"{name[: _NAME_MAX - _HASH_LENGTH - 1].rstrip('-.')}-{digest}"


def _name_of(parent: Any) -> str:
    """Return the name of a typed resource, a manifest or a kubernetes-asyncio model."""
    named = getattr(parent, "name", None) or name_of(raw_of(parent))
    return str(named)
