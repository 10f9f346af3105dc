"""CachedObjects: what an applicator needs of the caches."""

from typing import Protocol

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef


class CachedObjects(Protocol):
    """Reads that cost no request."""

    def get(self, ref: ObjectRef) -> Json | None:
        """Return the cached object, None if it does not exist."""
        ...

    def stamp(self, ref: ObjectRef) -> int:
        """Return a hash of the cached object, 0 if it does not exist."""
        ...
