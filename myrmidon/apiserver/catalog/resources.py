"""The built-in groups, versions and resources, in the order of the real server."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.catalog import files


@dataclass(frozen=True, slots=True)
class Subresource:
    """A subresource such as ``status``, ``scale`` or ``eviction``, and the kind of its body."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""  # set if the kind is in another group, like Scale
    version: str = ""


@dataclass(frozen=True, slots=True)
class BuiltinResource:
    """One built-in resource at one version."""

    kind: Kind
    verbs: tuple[str, ...]
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    subresources: tuple[Subresource, ...]
    hash: str  # the storageVersionHash of discovery

    def subresource(self, name: str) -> Subresource | None:
        """Return the subresource of that name, or None."""
        return next((found for found in self.subresources if found.name == name), None)


@cache
def builtin_resources() -> tuple[BuiltinResource, ...]:
    """Return all built-in resources: the core group first, then the others by priority."""
    return tuple(
        _resource(group["name"], version["version"], resource)
        for group in files.served()["groups"]
        for version in group["versions"]
        for resource in version["resources"]
    )


@cache
def builtin_resource(group: str, version: str, plural: str) -> BuiltinResource:
    """Return one built-in resource; raise ``KeyError`` if there is none."""
    wanted = (group, version, plural)
    for found in builtin_resources():
        if (found.kind.group, found.kind.version, found.kind.plural) == wanted:
            return found
    raise KeyError(wanted)


def columns_of(kind: Kind) -> list[Json]:
    """Return the columns of the tables that ``kubectl get`` shows, with their descriptions."""
    return _columns().get(kind[:4], [])


@cache
def _columns() -> dict[tuple[Any, ...], list[Json]]:
    return {
        (
            group["name"],
            version["version"],
            resource["responseKind"]["kind"],
            resource["resource"],
        ): resource["columns"]
        for group in files.served()["groups"]
        for version in group["versions"]
        for resource in version["resources"]
        if "columns" in resource
    }


def version_document() -> Json:
    """Return the document of ``/version``."""
    document: Json = files.served()["version"]
    return document


def _resource(group: str, version: str, source: Json) -> BuiltinResource:
    response = source["responseKind"]
    return BuiltinResource(
        kind=Kind(
            group,
            version,
            response["kind"],
            source["resource"],
            source["scope"] == "Namespaced",
        ),
        verbs=tuple(source["verbs"]),
        singular=source["singularResource"],
        short_names=tuple(source.get("shortNames", ())),
        categories=tuple(source.get("categories", ())),
        subresources=tuple(_subresource(below) for below in source.get("subresources", ())),
        hash=source["hash"],
    )


def _subresource(source: Json) -> Subresource:
    response = source["responseKind"]
    return Subresource(
        name=source["subresource"],
        kind=response["kind"],
        verbs=tuple(source["verbs"]),
        group=response["group"],
        version=response["version"],
    )
