"""Controller: the base class for controllers, checked when a subclass is defined.

A controller is a class with state methods and a few class attributes: the kinds that it manages
and reads, its watches and its options.  ``__init_subclass__`` collects the states, builds the
graph, resolves every kind, and raises a ``DefinitionError`` for what is wrong, so a mistake shows
up at import and not in the first pass.  After import the class holds all that tools need (the
graph, the conditions, the kinds written and read); generating CRDs, roles and diagrams runs no
state and talks to no server.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, get_args, get_origin

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.conditions import RECONCILING, STALLED
from myrmidon.api.objects.refs import Kind
from myrmidon.api.typed.class_keywords import pass_on
from myrmidon.api.typed.hubs import check_is_hub
from myrmidon.api.typed.object_types import KindLike, is_defined_here, kind_of, refuse_kind
from myrmidon.api.typed.status import ATTEMPTS, NEXT_ATTEMPT
from myrmidon.api.typed.unstructured import Unstructured, unstructured
from myrmidon.errors import DefinitionError, ManagedKindError
from myrmidon.fsm.children.readiness import ReadinessRule, ReadinessRules
from myrmidon.fsm.declaration.channel import Channel
from myrmidon.fsm.declaration.options import ControllerOptions
from myrmidon.fsm.declaration.permissions import Permission
from myrmidon.fsm.declaration.shapes import KindShape, Manages, Reads, shapes_of
from myrmidon.fsm.declaration.watches import Index, Watch, takes_lookup
from myrmidon.fsm.external.resource import External, checked_externals
from myrmidon.fsm.machine.declared_states import declared_states
from myrmidon.fsm.machine.graph import Graph, checked_graph
from myrmidon.fsm.machine.states import look_alikes

R = TypeVar("R")
E = TypeVar("E", Manages, Reads)
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_KSTATUS = (RECONCILING, STALLED)
IndexFunction: TypeAlias = Callable[[Json], Iterable[str]]


class Controller(Generic[R]):
    """A state machine over the objects of one kind.  Subclass it as ``Controller[WebApp]``.

    The type is what states get: a Resource class, a class derived from ``Unstructured``, or a
    kubernetes-asyncio model (``Controller[V1Namespace]``).  For any other kind,
    ``class Tenants(Controller[Unstructured], kind=kinds.NAMESPACE)``.

    States are the methods decorated with ``@state``, including those of base classes and mixins.  A
    subclass may override a state's method; without a new ``@state`` it keeps the inherited edges
    and condition.  Setting the name to None removes the state.
    """

    manages: ClassVar[tuple[KindLike | Manages, ...]] = ()
    """Kinds that the controller writes: ``Kind`` constants, Resource classes, kubernetes-asyncio
    model classes, or ``Manages(...)`` to limit what is cached and which changes count.  States can
    read them, too, and a change of a child gives its parent a pass.  Default: none."""
    reads: ClassVar[tuple[KindLike | Reads, ...]] = ()
    """Kinds that states read but do not write: ``Kind`` constants, Resource classes, or
    ``Reads(...)`` to limit what is cached and which changes count.  A change of an object that the
    last pass has read, or that one of its lists covers, triggers a pass.  Secrets need a
    ``Reads(...)``, so that not all of the cluster are cached by accident.  Default: none."""
    watches: ClassVar[tuple[Watch, ...]] = ()
    """Other kinds whose changes trigger passes, each with a function to the objects concerned; for
    objects that no state reads.
    Kinds watched on the same cluster can be read, too.  Default: none."""
    indexes: ClassVar[Mapping[KindLike, Mapping[str, IndexFunction]]] = {}
    """Indexes of the cache, by kind and index name.  Each is a function from an object to the
    values under which ``ctx.list(index=(name, value))`` finds it:
    ``{kinds.POD: {"node": lambda pod: [pod["spec"]["nodeName"]]}}``.  The controller must manage or
    read the kind.  Default: none."""
    readiness: ClassVar[Mapping[KindLike, ReadinessRule]] = {}
    """Readiness rules, by kind.  Each is a function from an object (JSON) to whether it is ready.
    It replaces the rule for that kind in ``ctx.is_ready``, ``when_children_ready`` and claims:
    ``{SERVICE_MONITOR: exists, TASK_RUN: has_condition("Succeeded")}``.  A custom kind needs one if
    it never reports a condition ``Ready`` or ``Available``.  Default: none."""
    externals: ClassVar[tuple[type[External[Any, Any]], ...]] = ()
    """The classes of resources outside the cluster that the objects own, for ``ctx.ensure`` and
    ``ctx.remove``.  A controller that has some needs a finalizer state.  Default: none."""
    channels: ClassVar[tuple[Channel, ...]] = ()
    """Sources of events from outside the cluster.  Default: none."""
    permissions: ClassVar[tuple[Permission, ...]] = ()
    """Rights for the generated role that the other declarations do not show, such as those for
    requests through ``ctx.api``.  Default: none."""
    options: ClassVar[ControllerOptions] = ControllerOptions()
    """Workers, pruning, timeouts and retries, and which objects the controller handles."""
    name: ClassVar[str] = ""
    """The controller's name in logs, metrics, its finalizer and its field manager.  Default: the
    kind in kebab-case."""

    resource: ClassVar[type[Any]]
    """The class of the objects, from ``Controller[...]``."""
    graph: ClassVar[Graph]
    """The states and edges."""
    managed_kinds: ClassVar[tuple[Kind, ...]]
    """The entries of ``manages`` as kinds."""
    read_kinds: ClassVar[tuple[Kind, ...]]
    """The entries of ``reads`` as kinds, and the kinds of ``watches`` on the same cluster."""

    shapes: ClassVar[Mapping[Kind, KindShape]]
    """What is cached of each kind, and which of its changes trigger passes."""
    _kind: ClassVar[Kind]
    _finalizer_domain: ClassVar[str]

    index_functions: ClassVar[Mapping[Kind, Mapping[str, IndexFunction]]]
    """``indexes`` with each key as a kind."""
    readiness_rules: ClassVar[ReadinessRules]
    """``readiness`` with each key as (group, kind)."""

    def __class_getitem__(cls, of: Any) -> Any:
        refuse_kind("Controller", of)
        return super().__class_getitem__(of)  # type: ignore[misc]

    def __init_subclass__(
        cls, *, abstract: bool = False, kind: Kind | None = None, **kwargs: Any
    ) -> None:
        pass_on(cls, super().__init_subclass__, kwargs)
        resource = _resource_of(cls, kind)
        if resource is not None:
            check_is_hub(cls.__name__, resource)
            cls.resource = resource
            found = kind_of(resource)
            assert found is not None, "_resource_of returns only classes that have a kind"
            cls._kind = found
            cls._finalizer_domain = found.group if is_defined_here(resource) else "myrmidon.dev"
        if abstract:
            return
        if not hasattr(cls, "resource"):
            raise DefinitionError(
                f"{cls.__name__} does not say which resource it controls{_instead(cls)}.\n"
                f"  fix: write `class {cls.__name__}(Controller[YourResource])`, "
                f"`class {cls.__name__}(Controller[Unstructured], kind=kinds.NAMESPACE)`, "
                "or pass abstract=True for a base class"
            )
        states = declared_states(
            cls, cls.resource, (*vars(Controller), *Controller.__annotations__)
        )
        cls.watches = _entries(cls, "watches", Watch, "Watch(kinds.CONFIG_MAP, to=...)")
        cls.channels = _entries(cls, "channels", Channel, 'Channel("name")')
        cls.permissions = _entries(
            cls, "permissions", Permission, 'Permission(kinds.POD, ("get", "list"))'
        )
        _check_options(cls)
        cls.graph = checked_graph(cls.__name__, states, look_alikes(cls))
        _check_written_fields(cls)
        cls.externals = checked_externals(cls.__name__, cls.externals, cls.resource, cls.graph)
        cls.manages, cls.reads = entries_of(cls.manages), entries_of(cls.reads)
        managed, read = _declared(cls, "manages", Manages), _declared(cls, "reads", Reads)
        watched, spaces = _watched(cls), cls.options.namespaces
        cls.shapes = shapes_of(cls.__name__, cls.kind(), managed, read, watched, namespaces=spaces)
        cls.managed_kinds = tuple(managed)
        cls.read_kinds = tuple(dict.fromkeys((*read, *(kind for kind, _ in watched))))
        cls.index_functions = _index_functions(cls)
        _check_targets(cls)
        cls.readiness_rules = _readiness_rules(cls)
        cls.name = cls.name or _kebab_case(cls.kind().kind)
        _check_name(cls)

    @classmethod
    def kind(cls) -> Kind:
        """Return the kind of the controller's objects."""
        return cls._kind

    @classmethod
    def finalizer(cls) -> str:
        """Return the name of the finalizer that the controller puts on its objects."""
        return f"{cls._finalizer_domain}/{cls.name}"

    def create(self, namespace: str, name: str) -> Any:
        """Build the missing object that a watch referred to.  Needed by ``create_if_not_found``."""
        raise NotImplementedError(
            f"{type(self).__name__} sets create_if_not_found but does not define create(namespace, name)"
        )


def _resource_of(cls: type, kind: Any) -> type[Any] | None:
    """Return the class in this class's own ``Controller[...]`` base; None if it has none."""
    named = _type_argument(cls)
    if kind is None:
        return None if named is Unstructured else named
    if not isinstance(kind, Kind) or named not in (None, Unstructured):
        raise DefinitionError(
            f"{cls.__name__} has kind={kind!r} and the type "
            f"{getattr(named, '__name__', 'Unstructured')}.\n"
            f"  fix: write `class {cls.__name__}(Controller[Unstructured], kind=kinds.NAMESPACE)`, "
            "with a Kind; a type other than Unstructured has a kind of its own"
        )
    return unstructured(kind)


def _type_argument(cls: type) -> type[Any] | None:
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        if isinstance(origin, type) and issubclass(origin, Controller):
            for argument in get_args(base):
                if argument is Unstructured or (
                    isinstance(argument, type) and kind_of(argument) is not None
                ):
                    return argument
    return None


def _instead(cls: type) -> str:
    """Return the part of the error message that names a type argument which is not a kind."""
    named = [
        argument.__name__
        for base in getattr(cls, "__orig_bases__", ())
        for argument in get_args(base)
        if isinstance(argument, type)
    ]
    if named == [Unstructured.__name__]:
        return ": Unstructured objects can be of any kind"
    return f": {named[0]} is not a Resource or the model of a built-in kind" if named else ""


def _entries(cls: type, attribute: str, of: type, example: str) -> tuple[Any, ...]:
    """Return the entries of a class attribute as a tuple; a single value counts as one entry."""
    found = getattr(cls, attribute)
    entries = tuple(found) if isinstance(found, list | tuple | set | frozenset) else (found,)
    if isinstance(found, Kind):
        entries = (found,)  # a Kind is itself a tuple
    for entry in entries:
        if not isinstance(entry, of):
            raise DefinitionError(
                f"{cls.__name__}.{attribute} lists {entry!r}, which is not a {of.__name__}.\n"
                f"  fix: write {attribute} = ({example},)"
            )
    return entries


def _check_options(cls: type[Controller[Any]]) -> None:
    if not isinstance(cls.options, ControllerOptions):
        raise DefinitionError(
            f"{cls.__name__}.options is {cls.options!r}, which is not a ControllerOptions.\n"
            "  fix: write options = ControllerOptions(workers=4)"
        )


def _check_name(cls: type[Controller[Any]]) -> None:
    name: Any = cls.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        example = re.sub(r"[^A-Za-z0-9._-]+", "-", name) if isinstance(name, str) else "things"
        raise DefinitionError(
            f"{cls.__name__}.name is {cls.name!r}, which cannot be a part of a finalizer.\n"
            f'  fix: write name = "{example}": letters, digits, dashes, dots and underscores, at most 63'
        )


def _check_written_fields(cls: type[Controller[Any]]) -> None:
    """Refuse conditions and status fields that an option writes and the class has as its own."""
    taken = [state for state in cls.graph.states.values() if state.condition in _KSTATUS]
    if cls.options.kstatus and taken:
        raise DefinitionError(
            f"{cls.__name__}.{taken[0].name} owns the condition {taken[0].condition!r}, which "
            "ControllerOptions(kstatus=True) writes.\n"
            "  fix: choose another condition, or switch kstatus off"
        )
    if not cls.options.report_attempts or not is_defined_here(cls.resource):
        return
    fields = {name: field.alias for name, field in cls.resource.STATUS.model_fields.items()}
    own = [name for name, alias in fields.items() if alias in (ATTEMPTS, NEXT_ATTEMPT)]
    if own:
        raise DefinitionError(
            f"{cls.resource.STATUS.__name__}.{own[0]} is a field that "
            f"ControllerOptions(report_attempts=True) of {cls.__name__} writes.\n"
            "  fix: rename the field, or switch report_attempts off"
        )


def entries_of(entries: Any) -> tuple[Any, ...]:
    """Return ``manages`` or ``reads`` as a tuple, also if it is a list or one kind without a comma."""
    alone = isinstance(entries, Kind) or not isinstance(entries, tuple | list)  # a Kind is a tuple
    return (entries,) if alone else tuple(entries)


def _declared(cls: type, attribute: str, of: type[E]) -> dict[Kind, E]:
    """Return the entries of ``manages`` or ``reads`` by kind; a plain kind as an entry of its own."""
    found: dict[Kind, E] = {}
    for each in getattr(cls, attribute):
        entry = each if isinstance(each, of) else of(each)
        kind = kind_of(entry.kind)
        if kind is None:
            raise ManagedKindError(cls.__name__, attribute, each)
        if found.setdefault(kind, entry) != entry:
            raise DefinitionError(
                f"{cls.__name__}.{attribute} lists {kind} twice, in different ways.\n"
                f"  fix: write one {of.__name__}(...) for it"
            )
    return found


def _index_functions(cls: type[Controller[Any]]) -> dict[Kind, Mapping[str, IndexFunction]]:
    found = {_known_kind(cls, "indexes", entry): by_name for entry, by_name in cls.indexes.items()}
    for kind in found:
        if not cls.shapes[kind].cached:
            raise DefinitionError(
                f"{cls.__name__}.indexes lists {kind}, which is not cached.\n"
                f"  fix: drop the index, or cached=False in {cls.__name__}.reads"
            )
    return found


def _readiness_rules(cls: type[Controller[Any]]) -> ReadinessRules:
    if not isinstance(cls.readiness, Mapping):
        raise DefinitionError(
            f"{cls.__name__}.readiness is {cls.readiness!r}, which is not a mapping.\n"
            "  fix: write readiness = {SERVICE_MONITOR: exists}"
        )
    found: dict[tuple[str, str], ReadinessRule] = {}
    for entry, rule in cls.readiness.items():
        kind = _known_kind(cls, "readiness", entry)
        if not _takes_one(rule):
            raise DefinitionError(
                f"{cls.__name__}.readiness[{kind.kind}] is {rule!r}, which is not a function of one object.\n"
                '  fix: write exists, has_condition("Succeeded"), or lambda obj: ...'
            )
        found[kind.group, kind.kind] = rule
    return found


def _takes_one(rule: Any) -> bool:
    if not callable(rule) or isinstance(rule, type):
        return False
    try:
        signature(rule).bind(None)
    except TypeError:
        return False
    except ValueError:  # a function of a C library, whose signature is unknown
        return True
    return True


def _known_kind(cls: type[Controller[Any]], attribute: str, entry: Any) -> Kind:
    """Return the kind of an entry; raise unless the controller manages, reads or controls it."""
    kind = kind_of(entry)
    if kind is None:
        raise ManagedKindError(cls.__name__, attribute, entry)
    if kind not in (cls.kind(), *cls.managed_kinds, *cls.read_kinds):
        raise DefinitionError(
            f"{cls.__name__}.{attribute} lists {kind}, which the controller does not read.\n"
            f"  fix: add it to {cls.__name__}.reads"
        )
    return kind


def _watched(cls: type[Controller[Any]]) -> list[tuple[Kind, Watch]]:
    """Return the watches of the controller's own cluster, with their kinds."""
    found: list[tuple[Kind, Watch]] = []
    for watch in cls.watches:
        kind = kind_of(watch.kind)
        if kind is None:
            raise ManagedKindError(cls.__name__, "watches", watch.kind)
        if watch.remote is None:
            found.append((kind, watch))
    return found


def _check_targets(cls: type[Controller[Any]]) -> None:
    """Raise unless ``to`` of each watch is an index of the controller's kind or a function."""
    known = cls.index_functions.get(cls.kind(), {})
    for watch in cls.watches:
        where = f"{cls.__name__}.watches: to of the Watch of {kind_of(watch.kind)}"
        if isinstance(watch.to, Index):
            if watch.to.name not in known:
                raise DefinitionError(
                    f"{where} names the index {watch.to.name!r} of {cls.kind()}, which is not declared.\n"
                    f"  fix: add it to {cls.__name__}.indexes, "
                    f"{{{cls.resource.__name__}: {{{watch.to.name!r}: lambda obj: [...]}}}}"
                )
            continue
        try:
            takes_lookup(watch.to)
        except TypeError:
            raise DefinitionError(
                f"{where} is {watch.to!r}, which is not a function of an object, or of an object and a lookup.\n"
                '  fix: write lambda obj: [...], lambda obj, lookup: [...], or Index("name")'
            ) from None


def _kebab_case(kind: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", kind).lower()


def state_methods(controller: Controller[Any]) -> Mapping[str, Any]:
    """Return the bound methods of a controller's states, by state name."""
    return {name: getattr(controller, name) for name in controller.graph.states}
