"""``External``: the base class for what a controller owns outside the cluster.

    class Database(External[DatabaseClaim, Record]):
        async def create(self, claim, token): ...         returns the id
        async def observe(self, claim, id): ...           returns the Record, None if it is gone
        async def delete(self, claim, id, observed): ...

A state uses it in one line, the finalizer state in another:

    database = await ctx.ensure(self.database)            a Record, or a Wait or Failed to return
    return await ctx.remove(self.database)

The framework decides which method to call and when (``fsm.external.ledger``), and calls them
(``runtime.reconcile.external``).  The controller lists the class in ``externals``; what is missing
is refused when the class is defined: a finalizer state, or a status with room for the ledger.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.class_keywords import pass_on
from myrmidon.api.typed.resource import Resource
from myrmidon.api.typed.status import ExternalStatus
from myrmidon.errors import DefinitionError
from myrmidon.fsm.machine.graph import Graph

R = TypeVar("R", bound=Resource[Any, Any])
Observed = TypeVar("Observed")

_CALLS = ("observe", "create", "delete")


class External(Generic[R, Observed]):
    """A resource outside the cluster that belongs to one object.

    Subclass it as ``External[YourResource, WhatObserveReturns]``.  Each method gets the object; it
    may be called any number of times, by several processes one after the other.  A method that the
    external system refuses raises ``ExternalRefusedError``; any other exception means that the
    outcome is unknown.
    """

    name: str = ""
    """The name of the ledger entry, unique within an object.  Default: the class name with a small
    first letter.  Set it if the class may be renamed, and in ``__init__`` if an object owns several
    resources of the class."""
    timeout: timedelta = timedelta(seconds=30)
    """Each call is cancelled after this time; its outcome is then unknown.  Default: 30 seconds."""
    grace: timedelta = timedelta(seconds=30)
    """How long after its creation a resource may be invisible to ``observe`` and ``find``.  Until
    then, absence proves nothing: it is neither created again nor taken for deleted.  ``timedelta()``
    for a system that shows a resource at once.  Default: 30 seconds."""
    recreate: bool = True
    """Create the resource again if another party deleted it.  With False the state fails with
    ``ExternalGone`` instead, for a resource that holds data.  Default: True."""

    resource: ClassVar[type[Resource[Any, Any]]]
    """The Resource class, from ``External[...]``."""
    can_find: ClassVar[bool]
    """Whether the class defines ``find``."""
    updates: ClassVar[bool]
    """Whether the class defines ``update`` and ``differs``."""

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: Any) -> None:
        pass_on(cls, super().__init_subclass__, kwargs)
        resource = _resource_of(cls)
        if resource is not None:
            cls.resource = resource
        cls.can_find, cls.updates = _defines(cls, "find"), _defines(cls, "update")
        if not cls.name:
            cls.name = cls.__name__[:1].lower() + cls.__name__[1:]
        if not abstract:
            _check(cls)

    async def observe(self, obj: R, id: str) -> Observed | None:  # noqa: A002 - the word of the field
        """Return the resource as the external system has it; None if it does not exist."""
        raise NotImplementedError

    async def create(self, obj: R, token: str) -> str:
        """Create the resource and return its id.

        ``token`` is the same in every attempt to create the same resource.  A system without
        ``find`` must return the id of the first attempt, even if the object has changed since.
        """
        raise NotImplementedError

    async def delete(self, obj: R, id: str, observed: Observed) -> None:  # noqa: A002
        """Delete the resource; called again until ``observe`` returns None."""
        raise NotImplementedError

    async def find(self, obj: R, token: str) -> str | None:
        """Return the id of the resource that was created with the token; None if there is none.

        Optional; needed if a second create with the same token makes a second resource.  Store the
        token with the resource, as its name or as a tag, and look for it here.
        """
        raise NotImplementedError

    def differs(self, obj: R, observed: Observed) -> bool:
        """Whether ``update`` has to be called.  Optional, together with ``update``."""
        del obj, observed
        return False

    async def update(self, obj: R, id: str, observed: Observed) -> None:  # noqa: A002
        """Change the resource to what the object wants; called only if it ``differs``."""
        raise NotImplementedError

    def late_init(self, obj: R, observed: Observed) -> Mapping[str, Any] | None:
        """Return values that the external system chose, for spec fields that the user left out.

        As JSON with the field names of the manifest.  Fields that are set are never changed.
        Optional; by default nothing is written to the spec.
        """
        del obj, observed
        return None


def late_defaults(spec: Any, chosen: Mapping[str, Any]) -> Json:
    """Return the part of ``chosen`` whose fields are not set in ``spec``, for a merge patch."""
    current = spec if isinstance(spec, dict) else {}
    unset: Json = {}
    for key, value in chosen.items():
        old = current.get(key)
        if isinstance(value, Mapping) and isinstance(old, dict):
            inner = late_defaults(old, value)
            if inner:
                unset[key] = inner
        elif old is None and value is not None:
            unset[key] = value
    return unset


# ---------------------------------------------------------------------------- definition


def checked_externals(
    controller: str, entries: Any, resource: type[Resource[Any, Any]], graph: Graph
) -> tuple[type[External[Any, Any]], ...]:
    """Return ``Controller.externals`` as a tuple; raise ``DefinitionError`` if one cannot work."""
    listed: Sequence[Any] = entries if isinstance(entries, tuple | list) else (entries,)
    for one in listed:
        if not (isinstance(one, type) and issubclass(one, External)):
            raise DefinitionError(
                f"{controller}.externals lists {one!r}, which is not a subclass of External.\n"
                "  fix: list the classes, not their instances: externals = (Database,)"
            )
        if not issubclass(resource, one.resource):
            raise DefinitionError(
                f"{controller}.externals lists {one.__name__}, which belongs to "
                f"{one.resource.__name__}, but {controller} controls {resource.__name__}.\n"
                f"  fix: write `class {one.__name__}(External[{resource.__name__}, ...])`"
            )
    if listed and graph.finalizer is None:
        raise DefinitionError(
            f"{controller} has externals, but no finalizer state: {listed[0].__name__} would be left "
            "behind when the object is deleted.\n"
            "  fix: add a state with finalizer=True that returns `await ctx.remove(...)`"
        )
    return tuple(listed)


def _check(cls: type[External[Any, Any]]) -> None:
    name = cls.__name__
    if not hasattr(cls, "resource"):
        raise DefinitionError(
            f"{name} does not say to which resource it belongs.\n"
            f"  fix: write `class {name}(External[YourResource, WhatObserveReturns])`, "
            "or pass abstract=True for a base class"
        )
    if not issubclass(cls.resource.STATUS, ExternalStatus):
        status = cls.resource.STATUS.__name__
        shown = f"{cls.resource.__name__}Status" if status == "Status" else status
        raise DefinitionError(
            f"{name} belongs to {cls.resource.__name__}, whose status has no room for its ledger.\n"
            f"  fix: write `class {shown}(ExternalStatus)`, then run `myrmidon generate crd`"
        )
    missing = [method for method in _CALLS if not _defines(cls, method)]
    if missing:
        raise DefinitionError(
            f"{name} does not define {missing[0]}.\n  fix: add `async def {missing[0]}(self, ...)`; "
            "the methods of External say what it gets and returns"
        )
    if _defines(cls, "differs") is not cls.updates:
        has, lacks = ("update", "differs") if cls.updates else ("differs", "update")
        raise DefinitionError(
            f"{name} defines {has}, but not {lacks}: it would never be updated.\n"
            f"  fix: define both, or neither"
        )


def _defines(cls: type, method: str) -> bool:
    defined: Callable[..., Any] = getattr(cls, method)
    return defined is not getattr(External, method)


def _resource_of(cls: type) -> type[Resource[Any, Any]] | None:
    """Return the Resource in this class's own ``External[...]`` base; None if it has none."""
    named = (
        argument
        for base in getattr(cls, "__orig_bases__", ())
        if issubclass(get_origin(base) or object, External)
        for argument in get_args(base)
        if isinstance(argument, type) and issubclass(argument, Resource)
    )
    return next(named, None)
