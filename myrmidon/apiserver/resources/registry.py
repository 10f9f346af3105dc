"""What is served: the resources of every group and version.

A ``ResourceType`` is one resource at one version.  Its ``strategy`` knows what is special about its
objects; the pipelines (creating, updating, deleting …) know what is the same for all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.resources.strategy import Strategy
from myrmidon.apiserver.schema_node import Schema

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, eq=False)
class ScalePaths:
    """Where the numbers of a scale subresource are, as paths of fields."""

    replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ResourceType:
    """One resource at one version."""

    kind: Kind
    strategy: Strategy
    verbs: tuple[str, ...] = ALL_VERBS
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    list_kind: str = ""
    status: bool = False
    scale: ScalePaths | None = None
    scale_kind: Kind | None = None
    subresources: tuple[str, ...] = ()  # further ones, by name
    storage: str = ""  # the name under which the store has the objects; versions share it
    storage_api_version: str = ""  # the version that the store has them in, if it is another one
    custom: bool = False
    deprecation: str = ""  # the warning that every answer carries

    @property
    def schema(self) -> Schema:
        """The type of the objects."""
        return self.strategy.schema

    @property
    def openapi(self) -> Json:
        """The schema as its definition has it."""
        return self.schema.source

    @property
    def storage_version(self) -> str:
        """The version that is stored."""
        return self.storage_api_version.rpartition("/")[2] or self.kind.version

    @property
    def is_storage(self) -> bool:
        """Whether the store has the objects in this very version."""
        return self.storage_api_version in {"", self.kind.api_version}

    @property
    def resource(self) -> str:
        """``widgets.example.com``: the name in failures."""
        return f"{self.kind.plural}.{self.kind.group}" if self.kind.group else self.kind.plural

    @property
    def stored_as(self) -> str:
        """The name of the resource in the store."""
        return self.storage or self.resource

    def key(self, namespace: str, name: str) -> str:
        """The key of an object in the store."""
        return f"{namespace}/{name}" if self.kind.namespaced else name

    def prefix(self, namespace: str) -> str:
        """The prefix of the keys of a namespace's objects; all of them without one."""
        return f"{namespace}/" if namespace and self.kind.namespaced else ""


class Registry:
    """All resource types, by group, version and plural.

    Built-in groups are known even where a resource is not: a miss in one of them is answered with a
    Status, a miss elsewhere with plain text.
    """

    def __init__(self, builtin: Iterable[ResourceType]) -> None:
        self._types: dict[tuple[str, str, str], ResourceType] = {}
        self._builtin_versions: dict[tuple[str, str], None] = {}
        self.epoch = 0  # grows with every change, so that documents made of it can be kept
        for resource_type in builtin:
            self._add(resource_type)
            self._builtin_versions[resource_type.kind.group, resource_type.kind.version] = None
        self._builtin_groups = {group for group, _ in self._builtin_versions}

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """The resource type that a path names."""
        return self._types.get((group, version, plural))

    def find_kind(self, group: str, version: str, kind: str) -> ResourceType | None:
        """The resource type of objects of a kind; the first one if there are several."""
        for found in self._types.values():
            if found.kind[:3] == (group, version, kind):
                return found
        return None

    def is_builtin_group(self, group: str) -> bool:
        """Whether the group belongs to the server itself."""
        return group in self._builtin_groups

    def is_builtin_version(self, group: str, version: str) -> bool:
        """Whether the group and version belong to the server itself."""
        return (group, version) in self._builtin_versions

    def builtin_versions(self) -> tuple[tuple[str, str], ...]:
        """The groups and versions of the server itself, in the order of their registration."""
        return tuple(self._builtin_versions)

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(tuple(self._types.values()))

    def served(self, group: str, version: str) -> tuple[ResourceType, ...]:
        """The resources of one version of a group."""
        return tuple(found for found in self._types.values() if found.kind[:2] == (group, version))

    def storages(self) -> dict[str, ResourceType]:
        """One resource type for every resource that the store may have, at its storage version."""
        found: dict[str, ResourceType] = {}
        for resource_type in self._types.values():
            if resource_type.stored_as not in found or resource_type.is_storage:
                found[resource_type.stored_as] = resource_type
        return found

    def install(self, types: Iterable[ResourceType], *, group: str, plural: str) -> None:
        """Serve the versions of a custom resource, and no others of it."""
        for key in [key for key in self._types if (key[0], key[2]) == (group, plural)]:
            del self._types[key]
        for resource_type in types:
            self._add(resource_type)
        self.epoch += 1

    def _add(self, resource_type: ResourceType) -> None:
        kind = resource_type.kind
        self._types[kind.group, kind.version, kind.plural] = resource_type
