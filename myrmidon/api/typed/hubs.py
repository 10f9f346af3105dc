"""Versions of a kind: spokes, which convert to and from one hub.

``class WebAppV1Beta1(Resource[...], version="v1beta1", converts=WebApp)`` is a spoke of the hub
``WebApp``.  It takes group, kind, plural, scope and names from the hub, and has two functions::

    def to_hub(self) -> WebApp: ...

    @classmethod
    def from_hub(cls, hub: WebApp) -> Self: ...

Two spokes are converted into each other by way of the hub, so n versions need 2(n-1) functions.  The
class statement of a spoke registers it with its hub (``Definition.versions``): the module of the spoke
must be imported wherever definitions are generated or objects are converted.

This module checks the class statement.  ``myrmidon.webhooks.versions`` converts objects.
"""

from collections.abc import Mapping
from dataclasses import replace
from inspect import ismethod
from typing import Any

from myrmidon.api.typed.definitions import Definition, mistake

_INHERITED = ("group", "kind", "plural", "namespaced")


def from_hub_definition(owner: str, hub: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a spoke's class statement with those that it takes from its hub.

    ``given`` are the arguments as written; None stands for an argument that was left out.
    """
    definition = getattr(hub, "DEFINITION", None)
    if not isinstance(definition, Definition):
        raise mistake(
            f"{owner} has converts={hub!r}, which is not a Resource class",
            "name the class of the version that the controllers work with: converts=WebApp",
        )
    name = hub.__name__
    if definition.foreign:
        raise mistake(
            f"{owner} has converts={name}, but {definition.kind} is defined by another project",
            "versions of a kind are converted by the project that defines it; drop converts",
        )
    if definition.hub is not None:
        raise mistake(
            f"{owner} has converts={name}, but {name} itself converts to {definition.hub.__name__}: "
            "all versions of a kind convert to the same hub",
            f"write converts={definition.hub.__name__}",
        )
    _check_same_kind(owner, hub, given)
    if given["version"] == definition.kind.version:
        raise mistake(
            f"{owner} and {name} are both version {given['version']!r} of {definition.kind}",
            "give each version its own name",
        )
    if given["storage"] and definition.storage:
        raise mistake(
            f"{owner} has storage=True, but {name} ({definition.kind.version}) is the storage version already; "
            "the server needs exactly one",
            f"drop storage=True, or write storage=False on {name}",
        )
    if given["versions"]:
        raise mistake(f"{owner} has both converts and versions", f"list them on {name} instead")
    kind = definition.kind
    names = {
        "singular": definition.singular,
        "short_names": definition.short_names,
        "categories": definition.categories,
    }
    return {
        **given,
        **{key: given[key] or value for key, value in names.items()},
        "group": kind.group,
        "kind": kind.kind,
        "plural": kind.plural,
        "namespaced": kind.namespaced,
        "storage": bool(given["storage"]),
    }


def add_spoke(spoke: Any, hub: Any) -> None:
    """Check the two functions of a spoke, and list it among the versions of its hub.

    A class that is defined again (a module that is loaded again) takes the place of the earlier one.
    """
    _check_functions(spoke, hub)
    version, definition = spoke.KIND.version, hub.DEFINITION
    others = tuple(other for other in definition.versions if not _is_older_self(other, spoke))
    for other in others:
        if other.DEFINITION.hub is not hub:
            raise mistake(
                f"{hub.__name__} lists {other.__name__} in versions, but it has no conversion",
                f"write converts={hub.__name__} on {other.__name__}, with to_hub and from_hub",
            )
        if other.KIND.version == version:
            raise mistake(
                f"{spoke.__name__} and {other.__name__} are both version {version!r} of {hub.KIND}",
                "give each version its own name",
            )
        if spoke.DEFINITION.storage and other.DEFINITION.storage:
            raise mistake(
                f"{spoke.__name__} and {other.__name__} are both the storage version of {hub.KIND}; "
                "the server needs exactly one",
                "write storage=True on one of them",
            )
    hub.DEFINITION = replace(definition, versions=(*others, spoke))


def hub_of(resource: Any) -> Any:
    """Return the hub that a class converts to; the class itself if it is not a spoke."""
    return resource.DEFINITION.hub or resource


def check_is_hub(controller: str, resource: Any) -> None:
    """Raise if a controller reconciles a spoke: there is one desired state, and the hub has all of it."""
    hub = getattr(getattr(resource, "DEFINITION", None), "hub", None)
    if hub is not None:
        raise mistake(
            f"{controller} reconciles {resource.__name__}, which converts to {hub.__name__}",
            f"write Controller[{hub.__name__}]; objects that users write as {resource.KIND.version} reach it as "
            f"{hub.KIND.version}",
        )


def _check_same_kind(owner: str, hub: Any, given: Mapping[str, Any]) -> None:
    kind = hub.DEFINITION.kind._asdict()
    differing = [name for name in _INHERITED if given[name] not in (None, kind[name])]
    if differing:
        said = ", ".join(f"{name}={given[name]!r}" for name in differing)
        theirs = ", ".join(f"{name}={kind[name]!r}" for name in differing)
        raise mistake(
            f"{owner} has converts={hub.__name__}, but also {said}, where {hub.__name__} has {theirs}: "
            "versions of a kind differ in their version only",
            f"drop {', '.join(differing)}",
        )


def _check_functions(spoke: Any, hub: Any) -> None:
    to_hub, from_hub = getattr(spoke, "to_hub", None), getattr(spoke, "from_hub", None)
    missing = " and ".join(
        name for name, function in (("to_hub", to_hub), ("from_hub", from_hub)) if function is None
    )
    if missing:
        raise mistake(
            f"{spoke.__name__} has converts={hub.__name__}, but does not define {missing}",
            f"write def to_hub(self) -> {hub.__name__}, and "
            f"@classmethod def from_hub(cls, hub: {hub.__name__}) -> Self",
        )
    if not callable(to_hub) or ismethod(to_hub):
        raise mistake(
            f"{spoke.__name__}.to_hub is not a method of the object",
            f"write def to_hub(self) -> {hub.__name__}, without a decorator",
        )
    if not ismethod(from_hub):
        raise mistake(
            f"{spoke.__name__}.from_hub is not a class method",
            "write @classmethod above it",
        )


def _is_older_self(other: Any, spoke: Any) -> bool:
    return (other.__module__, other.__qualname__) == (spoke.__module__, spoke.__qualname__)
