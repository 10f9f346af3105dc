"""Names of children that follow from their content."""

from typing import Any

from myrmidon.sets.fingerprints import fingerprint

_NAME_MAX = 63  # the shortest limit that any kind has for its names
_HASH_LENGTH = 10


def hashed_name(parent: Any, data: Any) -> str:
    """A name for an immutable child: the parent's name and a hash of what the child is made of.

    Another content gives another name, so the child is replaced rather than changed; the same
    content gives the same name in every pass and every process.
    """
    name = parent if isinstance(parent, str) else parent.name
    digest = fingerprint({"data": data})[:_HASH_LENGTH]
    return f"{name[: _NAME_MAX - _HASH_LENGTH - 1].rstrip('-.')}-{digest}"
