"""``Kind`` and ``ObjectRef``: the identity of a kind, and of one object.

Both are named tuples, because they are dictionary keys everywhere, and tuples are hashed and
compared in C.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of object: group, version, kind, plural and scope (a resource of the API server).

    ``Kind("apps", "v1", "Deployment", "deployments")``; the core group is ``""``.  ``cluster`` names a
    remote cluster, ``""`` is the home cluster: the same kind on two clusters is two kinds here, so
    caches, children and roles are told apart without any further rule.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    cluster: str = ""

    def at(self, cluster: str) -> "Kind":
        """Return the kind on a remote cluster: ``kinds.CONFIG_MAP.at("edge")``."""
        return self._replace(cluster=cluster)

    @property
    def api_version(self) -> str:
        """``apps/v1``, or ``v1`` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path under which the API server serves this group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def __str__(self) -> str:
        name = f"{self.kind}.{self.group}" if self.group else self.kind
        return f"{name}@{self.cluster}" if self.cluster else name


class ObjectRef(NamedTuple):
    """A reference to one object.  ``namespace`` is ``""`` for cluster-scoped objects."""

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
def kinds_by_name(kinds: tuple[Kind, ...], cluster: str = "") -> Mapping[tuple[str, str], Kind]:
    """Return the kinds of one cluster by (apiVersion, kind).

    Cached, because every pass uses the same kinds.
    """
    return {(kind.api_version, kind.kind): kind for kind in kinds if kind.cluster == cluster}


def split_api_version(api_version: str) -> tuple[str, str]:
    """Split ``apps/v1`` into group and version; ``v1`` is the core group."""
    group, _, version = api_version.rpartition("/")
    return group, version
