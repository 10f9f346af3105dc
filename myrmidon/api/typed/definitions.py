"""The definition of a resource: the arguments of its class statement, checked at import."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from myrmidon.api.objects.refs import Kind
from myrmidon.api.typed.markers import Column, Rule, Scale
from myrmidon.errors import DefinitionError

_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
_KIND = re.compile(r"[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?")
_LOWER_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_JSON_PATH = re.compile(r"\.[^\s]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The content of a CustomResourceDefinition for one version of a kind, except its schema."""

    kind: Kind
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: Mapping[str, Column]
    scale: Scale | None = None
    status_subresource: bool = True
    selectable_fields: tuple[str, ...] = ()
    served: bool = True
    storage: bool = True
    deprecated: str | bool = False
    rules: tuple[Rule, ...] = ()
    description: str = ""
    versions: tuple[type[Any], ...] = ()  # further versions of the same kind
    hub: type[Any] | None = None  # the version that this one converts to and from; None for a hub
    foreign: bool = False  # built in, or defined by another project: no CRD is generated


def plural_of(kind: str) -> str:
    """Return the plural as Kubernetes forms it: policies, ingresses, webapps."""
    name = kind.lower()
    if name.endswith(("s", "x", "z", "ch", "sh")):
        return name + "es"
    if name.endswith("y") and name[-2:-1] not in tuple("aeiou"):
        return name[:-1] + "ies"
    return name + "s"


def define(
    owner: str,
    *,
    group: str | None,
    version: str | None,
    kind: str | None,
    plural: str | None,
    namespaced: bool,
    singular: str | None,
    short_names: Sequence[str],
    categories: Sequence[str],
    columns: Mapping[str, str | Column],
    selectable_fields: Sequence[str],
    versions: Sequence[type[Any]],
    **rest: Any,
) -> Definition:
    """Check the arguments of a class statement and build the definition from them."""
    if not group or not version:
        missing = " and ".join(
            name for name, value in (("group", group), ("version", version)) if not value
        )
        raise mistake(
            f"{owner} is a Resource without {missing}",
            f'write class {owner}(Resource[Spec, Status], group="demo.example.com", version="v1")',
        )
    kind = kind or owner
    made = Kind(group, version, kind, plural or plural_of(kind), namespaced)
    singular = singular or kind.lower()
    _check_kind(owner, made)
    _match(owner, "singular", singular, _LOWER_NAME, 'lower case letters and digits, "webapp"')
    for attribute, names in (("short_names", short_names), ("categories", categories)):
        for name in _listed(owner, attribute, names):
            _match(owner, attribute, name, _LOWER_NAME, 'lower case letters and digits, "wa"')
    for path in _listed(owner, "selectable_fields", selectable_fields):
        _match_path(owner, "selectable_fields", path)
    _check_versions(owner, made, versions)
    return Definition(
        kind=made,
        singular=singular,
        short_names=tuple(short_names),
        categories=tuple(categories),
        columns=_columns(owner, columns),
        selectable_fields=tuple(selectable_fields),
        versions=tuple(versions),
        **rest,
    )


def foreign(owner: str, kind: Any, given: Mapping[str, Any]) -> Definition:
    """Build the definition of a class for a kind that exists already: no CRD is generated for it.

    ``given`` are the arguments that only a definition of a new kind may have.
    """
    if not isinstance(kind, Kind):
        raise mistake(
            f"{owner} has of={kind!r}, which is not a Kind",
            "use a constant of myrmidon.kinds, or Kind(group, version, kind, plural, namespaced)",
        )
    needless = ", ".join(name for name, value in given.items() if value)
    if needless:
        raise mistake(
            f"{owner} has both of={kind} and {needless}, but {kind} is defined elsewhere",
            f"drop {needless}",
        )
    return Definition(kind=kind, singular=kind.kind.lower(), columns={}, foreign=True)


def mistake(problem: str, fix: str) -> DefinitionError:
    """Return the error for a wrong declaration: what is wrong, and what to write instead."""
    return DefinitionError(f"{problem}.\n  fix: {fix}")


def _listed(owner: str, attribute: str, names: Sequence[str]) -> Sequence[str]:
    if isinstance(names, str):
        raise mistake(
            f"{owner} has {attribute}={names!r}, which is not a list",
            f"write {attribute}=[{names!r}]",
        )
    return names


def _match(owner: str, attribute: str, value: Any, pattern: re.Pattern[str], fix: str) -> None:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise mistake(
            f"{owner} has {attribute}={value!r}, which Kubernetes does not accept", f"use {fix}"
        )


def _match_path(owner: str, attribute: str, path: Any) -> None:
    _match(owner, attribute, path, _JSON_PATH, 'a path from the root, ".spec.image"')


def _check_kind(owner: str, kind: Kind) -> None:
    _match(
        owner, "group", kind.group, _DNS_NAME, 'a domain of yours in lower case, "demo.example.com"'
    )
    if kind.group.endswith((".k8s.io", ".kubernetes.io")):
        raise mistake(
            f"{owner} has group={kind.group!r}, which is reserved for the Kubernetes community",
            'use a domain of yours, "demo.example.com"; '
            "for a kind that exists already write of=kinds.INGRESS instead",
        )
    _match(owner, "version", kind.version, _VERSION, '"v1", "v1beta1" or "v1alpha1"')
    _match(owner, "kind", kind.kind, _KIND, 'letters and digits, "WebApp"')
    _match(owner, "plural", kind.plural, _LOWER_NAME, 'lower case letters and digits, "webapps"')


def _columns(owner: str, given: Mapping[str, str | Column]) -> dict[str, Column]:
    if not isinstance(given, Mapping):
        raise mistake(
            f"{owner} has columns={given!r}, which is not a mapping",
            'write columns={"Image": ".spec.image"}',
        )
    made = {
        name: column if isinstance(column, Column) else Column(column)
        for name, column in given.items()
    }
    for name, column in made.items():
        _match_path(owner, f"columns[{name!r}]", column.path)
    return made


def _check_versions(owner: str, kind: Kind, versions: Sequence[type[Any]]) -> None:
    seen = {kind.version}
    for other in versions:
        theirs = getattr(other, "KIND", None)
        if not isinstance(theirs, Kind):
            raise mistake(
                f"{owner} lists {other!r} in versions, which is not a Resource class",
                "list the Resource classes of the other versions",
            )
        if theirs._replace(version=kind.version) != kind:
            raise mistake(
                f"{owner} lists {other.__name__} in versions, but they differ in group, kind, plural or scope: "
                f"{kind.plural}.{kind.group} and {theirs.plural}.{theirs.group}",
                f"give {other.__name__} kind={kind.kind!r}, group={kind.group!r}, "
                f"plural={kind.plural!r}, namespaced={kind.namespaced}",
            )
        if theirs.version in seen:
            raise mistake(
                f"{owner} and {other.__name__} are both version {theirs.version!r} of {kind}",
                "give each version its own name",
            )
        seen.add(theirs.version)
