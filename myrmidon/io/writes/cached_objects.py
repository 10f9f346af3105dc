"""CachedObjects: the reads of an applicator that cost no request."""

from typing import Protocol

from myrmidon.api.objects.accessors import Json, uid_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import UnreadableObjectError


class CachedObjects(Protocol):
    """Reads that cost no request."""

    def get(self, ref: ObjectRef) -> Json | None:
        """Return the cached object, None if it does not exist."""
        ...

    def stamp(self, ref: ObjectRef) -> int:
        """Return a hash of the cached object, 0 if it does not exist."""
        ...

    def size(self) -> int:
        """Return about how many outputs there can be: twice the cached objects of managed kinds."""
        ...


def cached_object(cached: CachedObjects, ref: ObjectRef) -> Json | None:
    """Return the cached object; None if it does not exist or is unreadable."""
    try:
        return cached.get(ref)
    except UnreadableObjectError:
        return None


def cached_uid(cached: CachedObjects, ref: ObjectRef) -> str | None:
    """Return the uid of the cached object, None if it does not exist."""
    try:
        held = cached.get(ref)
    except UnreadableObjectError as error:
        return error.uid
    return None if held is None else uid_of(held)
