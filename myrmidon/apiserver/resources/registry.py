"""The registry of the resources that are served, by group, version and plural.

A ``ResourceType`` is one resource at one version.  Its ``strategy`` implements the rules of its
kind; the verbs (create, update, delete …) implement the behaviour that all resources share.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.resources.strategy import Strategy
from myrmidon.apiserver.schema_node import Schema

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, eq=False)
class ScalePaths:
    """The paths of the fields that a scale subresource reads and writes."""

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
    subresources: tuple[str, ...] = ()  # besides status and scale
    storage: str = ""  # the resource name in the store; all versions share it
    storage_api_version: str = ""  # the stored apiVersion, if it differs
    custom: bool = False
    deprecation: str = ""  # a warning in every response

    @property
    def schema(self) -> Schema:
        """The schema of the objects."""
        return self.strategy.schema

    @property
    def openapi(self) -> Json:
        """The OpenAPI schema as its definition has it."""
        return self.schema.source

    @property
    def storage_version(self) -> str:
        """The version in which objects are stored."""
        return self.storage_api_version.rpartition("/")[2] or self.kind.version

    @property
    def is_storage(self) -> bool:
        """Whether the objects are stored in this version."""
        return self.storage_api_version in {"", self.kind.api_version}

    @property
    def resource(self) -> str:
        """The resource name in error messages: ``widgets.example.com``."""
        return f"{self.kind.plural}.{self.kind.group}" if self.kind.group else self.kind.plural

    @property
    def stored_as(self) -> str:
        """The name of the resource in the store."""
        return self.storage or self.resource

    def key(self, namespace: str, name: str) -> str:
        """Return the key of an object in the store."""
        return f"{namespace}/{name}" if self.kind.namespaced else name

    def prefix(self, namespace: str) -> str:
        """Return the key prefix of the objects in a namespace; ``""`` selects all objects."""
        return f"{namespace}/" if namespace and self.kind.namespaced else ""


class Registry:
    """All resource types, by group, version and plural.

    Built-in groups are remembered: an unknown resource in one of them is answered with a Status, an
    unknown resource in any other group with plain text.
    """

    def __init__(self, builtin: Iterable[ResourceType]) -> None:
        self._types: dict[tuple[str, str, str], ResourceType] = {}
        self._builtin_versions: dict[tuple[str, str], None] = {}
        self.epoch = 0  # grows with every change, so that discovery documents can be cached
        self.custom: tuple[ResourceType, ...] = ()  # all but the built-in ones
        self._by_kind: dict[tuple[str, str, str], ResourceType] = {}
        self._storages: dict[str, ResourceType] = {}  # empty until it is asked for
        for resource_type in builtin:
            self._add(resource_type)
            self._builtin_versions[resource_type.kind.group, resource_type.kind.version] = None
        self._builtin_groups = {group for group, _ in self._builtin_versions}

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Return the resource type of a path, or None."""
        return self._types.get((group, version, plural))

    def find_kind(self, group: str, version: str, kind: str) -> ResourceType | None:
        """Return the first resource type with this kind, or None."""
        if not self._by_kind:
            for found in reversed(self._types.values()):
                self._by_kind[found.kind.group, found.kind.version, found.kind.kind] = found
        return self._by_kind.get((group, version, kind))

    def is_builtin_group(self, group: str) -> bool:
        """Whether a built-in kind is in this group."""
        return group in self._builtin_groups

    def is_builtin_version(self, group: str, version: str) -> bool:
        """Whether a built-in kind is in this group and version."""
        return (group, version) in self._builtin_versions

    def builtin_versions(self) -> tuple[tuple[str, str], ...]:
        """Return the groups and versions of the built-in kinds, in order of registration."""
        return tuple(self._builtin_versions)

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(tuple(self._types.values()))

    def served(self, group: str, version: str) -> tuple[ResourceType, ...]:
        """Return the resource types of one version of a group."""
        return tuple(found for found in self._types.values() if found.kind[:2] == (group, version))

    def storages(self) -> Mapping[str, ResourceType]:
        """Return one resource type for each stored resource, if possible at its storage version."""
        if not self._storages:
            for resource_type in self._types.values():
                name = resource_type.stored_as
                if name not in self._storages or resource_type.is_storage:
                    self._storages[name] = resource_type
        return self._storages

    def install(self, types: Iterable[ResourceType], *, group: str, plural: str) -> None:
        """Serve these versions of a custom resource, in place of all its earlier ones."""
        for key in [key for key in self._types if (key[0], key[2]) == (group, plural)]:
            del self._types[key]
        for resource_type in types:
            self._add(resource_type)
        self._index_again()

    def checkpoint(self) -> tuple[ResourceType, ...]:
        """Return the resource types that are served now, for ``rollback``."""
        return tuple(self._types.values())

    def rollback(self, types: tuple[ResourceType, ...]) -> None:
        """Serve exactly these resource types again."""
        if types != tuple(self._types.values()):
            self._types.clear()
            for resource_type in types:
                self._add(resource_type)
            self._index_again()

    def _index_again(self) -> None:
        """Forget what was looked up among the earlier types."""
        self._by_kind, self._storages = {}, {}
        self.custom = tuple(found for found in self._types.values() if found.custom)
        self.epoch += 1

    def _add(self, resource_type: ResourceType) -> None:
        kind = resource_type.kind
        self._types[kind.group, kind.version, kind.plural] = resource_type
