"""What is served: the groups, versions and resources of the server itself, in their real order."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.catalog import files


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object: ``status``, ``scale``, ``eviction`` …, and the kind it speaks."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""  # set where the kind belongs to another group, as a Scale does
    version: str = ""


@dataclass(frozen=True, slots=True)
class BuiltinResource:
    """One resource at one version."""

    kind: Kind
    verbs: tuple[str, ...]
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    subresources: tuple[Subresource, ...]
    hash: str  # of the storage version, as discovery shows it

    def subresource(self, name: str) -> Subresource | None:
        """The subresource of that name, if there is one."""
        return next((found for found in self.subresources if found.name == name), None)


@cache
def builtin_resources() -> tuple[BuiltinResource, ...]:
    """All of them: the core group first, then the others by their priority."""
    return tuple(
        _resource(group["name"], version["version"], resource)
        for group in files.served()["groups"]
        for version in group["versions"]
        for resource in version["resources"]
    )


@cache
def builtin_resource(group: str, version: str, plural: str) -> BuiltinResource:
    """The one with that name."""
    wanted = (group, version, plural)
    for found in builtin_resources():
        if (found.kind.group, found.kind.version, found.kind.plural) == wanted:
            return found
    raise KeyError(wanted)


def columns_of(kind: Kind) -> list[Json]:
    """The columns of the tables that ``kubectl get`` shows, with their descriptions."""
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
    """What ``/version`` answers."""
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
