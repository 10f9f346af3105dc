"""Names of things: a kind, and one object of a kind.

Both are named tuples, because they are the keys of every dictionary in the process: hashing
and comparing them is done in C.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple


class Kind(NamedTuple):
    """What the API server calls a resource: where its objects live and what they are called.

    ``Kind("apps", "v1", "Deployment", "deployments")``; the core group is ``""``.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """``apps/v1``, or ``v1`` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path that all versions of this group's resources are below of."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class ObjectRef(NamedTuple):
    """One object: its kind and where it is.  ``namespace`` is ``""`` for cluster-scoped objects."""

    kind: Kind
    name: str
    namespace: str = ""

    @property
    def key(self) -> str:
        """``namespace/name``, or ``name`` for cluster-scoped objects."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


@cache
def kinds_by_name(kinds: tuple[Kind, ...]) -> Mapping[tuple[str, str], Kind]:
    """Kinds as manifests name them; every pass of a controller asks for the same ones."""
    return {(kind.api_version, kind.kind): kind for kind in kinds}


def split_api_version(api_version: str) -> tuple[str, str]:
    """Split ``apps/v1`` into group and version; ``v1`` is the core group."""
    group, _, version = api_version.rpartition("/")
    return group, version
