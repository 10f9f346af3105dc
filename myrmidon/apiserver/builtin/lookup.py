"""Read access of a strategy to other objects of the cluster."""

from collections.abc import Iterable
from typing import Protocol

from myrmidon.api.objects.accessors import Json


class ObjectLookup(Protocol):
    """Read access to stored objects."""

    def objects(self, group: str, plural: str) -> Iterable[Json]:
        """Return all objects of a resource, in all namespaces.  They must not be changed."""
        ...


class EmptyLookup:
    """A lookup that finds no objects, for tests and for decoding single objects."""

    def objects(self, group: str, plural: str) -> Iterable[Json]:  # noqa: ARG002 - a protocol
        """Return no objects."""
        return ()
