"""Read access of the built-in kinds to other objects of the cluster."""

from collections.abc import Iterable
from typing import Protocol

from myrmidon.api.objects.accessors import Json


class ObjectLookup(Protocol):
    """Read access to the store."""

    def objects(self, group: str, plural: str) -> Iterable[Json]:
        """All objects of a resource, in all namespaces.  Shared: not to be changed."""
        ...


class EmptyLookup:
    """A cluster with nothing in it, for tests and for reading single objects."""

    def objects(self, group: str, plural: str) -> Iterable[Json]:  # noqa: ARG002 - a protocol
        """Nothing."""
        return ()
