"""``Resource``: the base class of typed custom resources.

A subclass serves three purposes: states read ``app.spec`` and ``app.name``; outputs are built by
calling the class; and ``generate`` makes the CustomResourceDefinition from the class statement.

An object that was read from the server is read-only, except its status: the fields that a state
changes there are written at the end of the pass.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from inspect import getdoc
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast, get_args, get_origin

from pydantic import ValidationError

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.typed.class_keywords import pass_on
from myrmidon.api.typed.definitions import Definition, define, foreign, mistake
from myrmidon.api.typed.frozen import ReadOnlyError
from myrmidon.api.typed.hubs import add_spoke, from_hub_definition
from myrmidon.api.typed.markers import Column, Rule, Scale, checked_rules
from myrmidon.api.typed.metadata import HasMetadata
from myrmidon.api.typed.model import Model, problems_of, seal, unknown_fields
from myrmidon.api.typed.status import Status, difference
from myrmidon.errors import OutputError, UnfitObjectError

SpecT = TypeVar("SpecT", bound=Model)
StatusT = TypeVar("StatusT", bound=Status)


class Resource(HasMetadata, Generic[SpecT, StatusT]):
    """A custom resource.  The class statement is its definition.

    ``class WebApp(Resource[WebAppSpec, WebAppStatus], group="demo.myrmidon.dev", version="v1"): ...``

    With ``of``, the class describes a kind that exists already, and no definition is generated:
    ``class Certificate(Resource[CertificateSpec, Status], of=CERTIFICATE): ...``

    With ``converts``, it is another version of a kind; see ``hubs``:
    ``class WebAppV1Beta1(Resource[OldSpec, WebAppStatus], version="v1beta1", converts=WebApp): ...``
    """

    KIND: ClassVar[Kind]
    DEFINITION: ClassVar[Definition]
    SPEC: ClassVar[type[Model]]
    STATUS: ClassVar[type[Status]]

    __slots__ = ("_may_have_changed", "_raw", "_spec", "_status")

    _raw: Json | None
    _spec: SpecT | None
    _status: StatusT | None
    _may_have_changed: bool  # whether the status may differ from the one in ``_raw``

    @classmethod
    def __class_getitem__(cls, arguments: Any) -> Any:
        """Return the generic base for a class statement; refuse ``Resource[Spec]`` with the fix."""
        if cls is Resource and not isinstance(arguments, tuple):
            raise mistake(
                f"Resource[{_called(arguments)}] names one class, but a resource has a spec and a status",
                f"write Resource[{_called(arguments)}, Status]; derive from Status to add fields to it",
            )
        return super().__class_getitem__(arguments)  # type: ignore[misc]

    def __init_subclass__(
        cls,
        *,
        of: Kind | None = None,
        group: str | None = None,
        version: str | None = None,
        kind: str | None = None,
        plural: str | None = None,
        singular: str | None = None,
        namespaced: bool | None = None,
        short_names: Sequence[str] = (),
        categories: Sequence[str] = (),
        columns: Mapping[str, str | Column] | None = None,
        scale: Scale | None = None,
        status_subresource: bool = True,
        selectable_fields: Sequence[str] = (),
        served: bool = True,
        storage: bool | None = None,
        deprecated: str | bool = False,
        versions: Sequence[type["Resource[Any, Any]"]] = (),
        converts: type["Resource[Any, Any]"] | None = None,
        rules: Sequence[Rule] = (),
        **kwargs: Any,
    ) -> None:
        pass_on(cls, super().__init_subclass__, kwargs)
        arguments = _type_arguments(cls)
        if any(isinstance(argument, TypeVar) for argument in arguments):
            return  # a generic base: its subclasses are the resources
        cls.SPEC, cls.STATUS = _checked_types(cls, arguments)
        given: dict[str, Any] = {
            "group": group,
            "version": version,
            "kind": kind,
            "plural": plural,
            "versions": versions,
        }
        if of is not None:
            more = {"columns": columns, "scale": scale, "rules": rules, "converts": converts}
            cls.DEFINITION = foreign(cls.__name__, of, {**given, **more})
            cls.KIND = of
            return
        given |= {"singular": singular, "short_names": short_names, "categories": categories}
        given |= {"namespaced": namespaced, "storage": storage}
        cls.DEFINITION = define(
            cls.__name__,
            **_placed(cls.__name__, converts, given),
            columns=columns or {},
            scale=scale,
            status_subresource=status_subresource,
            selectable_fields=selectable_fields,
            served=served,
            deprecated=deprecated,
            rules=checked_rules(cls.__name__, rules),
            description=(getdoc(cls) or "") if cls.__doc__ else "",
            hub=converts,
        )
        cls.KIND = cls.DEFINITION.kind
        if converts is not None:
            add_spoke(cls, converts)

    def __init__(
        self,
        *,
        name: str,
        namespace: str = "",
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        finalizers: Sequence[str] | None = None,
        owner_references: Sequence[Mapping[str, Any]] | None = None,
        spec: SpecT | Mapping[str, Any] | None = None,
        status: StatusT | Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Build an object to be applied; only the fields that are given are sent.

        ``spec`` and ``status`` may also be JSON, with field names in camelCase.
        """
        said: Json = {"name": name, **(metadata or {})}
        if namespace:
            said["namespace"] = namespace
        if labels is not None:
            said["labels"] = dict(labels)
        if annotations is not None:
            said["annotations"] = dict(annotations)
        if finalizers is not None:
            said["finalizers"] = list(finalizers)
        if owner_references is not None:
            said["ownerReferences"] = [dict(owner) for owner in owner_references]
        self._fill(None, said, self._part("spec", spec), self._part("status", status))

    @classmethod
    def from_json(cls, obj: Json) -> Self:
        """Build a resource from the server's JSON; raise ``UnfitObjectError`` if it does not fit.

        The JSON is kept, not copied, so the caller must not change it afterwards.
        """
        problems: list[str] = []
        spec = _read(cls.SPEC, obj, "spec", problems)
        status = _read(cls.STATUS, obj, "status", problems)
        metadata = obj.get("metadata") or {}
        if problems:
            where = f"{metadata.get('namespace')}/" if metadata.get("namespace") else ""
            raise UnfitObjectError(f"{cls.KIND} {where}{metadata.get('name', '')}", problems)
        assert spec is not None
        assert status is not None
        seal(spec, "obj.spec")
        self = cls.__new__(cls)
        self._fill(obj, metadata, cast("SpecT", spec), cast("StatusT", status))
        return self

    def to_json(self) -> Json:
        """Return the object as JSON: as it was read, or exactly the fields that were set."""
        made: Json = dict(self._raw) if self._raw is not None else {}
        made["apiVersion"], made["kind"] = self.KIND.api_version, self.KIND.kind
        made["metadata"] = deepcopy(self._metadata)
        if self._raw is not None:
            if "spec" in made:
                made["spec"] = deepcopy(made["spec"])
        elif self._spec is not None:
            made["spec"] = self._spec.to_wire()
        if self._status is not None:
            status = self._status.to_wire()
            if status or "status" in made or self._raw is None:
                made["status"] = status
        return made

    def copy(self) -> Self:
        """Return a copy that can be changed and applied, with the resourceVersion that was read."""
        spec = None if self._spec is None else self.SPEC.from_wire(self._spec.to_wire())
        return type(self)(name=self.name, metadata=deepcopy(self._metadata), spec=cast("Any", spec))

    # ------------------------------------------------------------------- what it holds

    @property
    def raw(self) -> Json:
        """The JSON as it was read; ``{}`` for an object that was built."""
        return self._raw if self._raw is not None else {}

    @property
    def spec(self) -> SpecT:
        """The desired state.  Read-only if the object was read from the server."""
        if self._spec is None:
            self._set("_spec", self.SPEC())
        return cast("SpecT", self._spec)

    @spec.setter
    def spec(self, value: SpecT) -> None:
        self._refuse_if_read("spec")
        self._set("_spec", self._part("spec", value))

    @property
    def status(self) -> StatusT:
        """The observed state.  What a state changes here is written at the end of the pass."""
        self._set("_may_have_changed", True)
        if self._status is None:
            self._set("_status", self.STATUS())
        return cast("StatusT", self._status)

    @status.setter
    def status(self, value: StatusT) -> None:
        self._set("_may_have_changed", True)
        self._set("_status", self._part("status", value))

    @property
    def ref(self) -> ObjectRef:
        """The reference of this object."""
        return ObjectRef(self.KIND, self.name, self.namespace if self.KIND.namespaced else "")

    # ------------------------------------------------------------------------- changes

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __setattr__(self, name: str, value: Any) -> None:
            match getattr(type(self), name, None):
                case property(fset=None):
                    raise ReadOnlyError(f"obj.{name}")
                case property():
                    object.__setattr__(self, name, value)
                case _:
                    raise AttributeError(
                        f"{type(self).__name__} has no attribute {name!r} that can be set; there are spec, "
                        "status, labels, annotations, finalizers, owner_references, resource_version"
                    )

    def __repr__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{type(self).__name__}({where})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_json() == cast("Self", other).to_json()

    __hash__ = None  # type: ignore[assignment]

    def _refuse_if_read(self, part: str) -> None:
        if self._raw is not None:
            raise ReadOnlyError(f"obj.{part}")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _fill(self, raw: Json | None, metadata: Json, spec: Any, status: Any) -> None:
        set_slot = object.__setattr__
        set_slot(self, "_raw", raw)
        set_slot(self, "_metadata", metadata)
        set_slot(self, "_spec", spec)
        set_slot(self, "_status", status)
        set_slot(self, "_may_have_changed", raw is None)

    def _part(self, part: str, value: Any) -> Any:
        model = self.SPEC if part == "spec" else self.STATUS
        if value is None or isinstance(value, model):
            return value
        if isinstance(value, Mapping):
            return _from_mapping(type(self).__name__, model, part, value)
        raise TypeError(
            f"{type(self).__name__}.{part} must be a {model.__name__}, not {type(value).__name__}"
        )


def status_patch(resource: Resource[Any, Any]) -> Json:
    """Return the merge patch from the status as it was read to its current value; ``{}`` for none.

    Conditions, observedGeneration and resourceRefs are left out: the framework writes those.  The
    two are compared only if ``resource.status`` was used since the object was read.
    """
    if not resource._may_have_changed:  # noqa: SLF001  the other half of the class above
        return {}
    return difference(resource.status, resource.raw.get("status"))


_TOO_DEEP = "it is nested deeper than the 200 levels that a model can have"


def _read(model: type[Model], obj: Json, part: str, problems: list[str]) -> Model | None:
    value = obj.get(part)
    if value is None:
        value = {}
    try:
        return model.from_wire(value)
    except ValidationError as error:
        if any(problem["type"] == "json_invalid" for problem in error.errors()):
            problems.append(
                f"{part}: {_TOO_DEEP}"
            )  # it was decoded from JSON, so only its depth can be refused
        else:
            problems.extend(problems_of(error, value, part))
    except RecursionError:
        problems.append(f"{part}: {_TOO_DEEP}")
    return None


def _from_mapping(resource: str, model: type[Model], part: str, value: Mapping[str, Any]) -> Model:
    """Build a part from JSON that a person wrote: unlike the server's, it has no unknown fields."""
    try:
        made = model.from_wire(value)
    except ValidationError as error:
        problems = problems_of(error, value, part)
    else:
        problems = unknown_fields(made, part)
        if not problems:
            return made
    raise OutputError(
        f"{resource} cannot be built: {', '.join(problems)}\n"
        f"  fix: write the fields of {model.__name__}, with names in camelCase, or pass "
        f"{part}={model.__name__}(...)"
    )


def _placed(owner: str, hub: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a class statement: those of a spoke come from its hub as well."""
    if hub is not None:
        return from_hub_definition(owner, hub, given)
    return given | {key: given[key] is not False for key in ("namespaced", "storage")}


def _type_arguments(cls: type[Any]) -> tuple[Any, ...]:
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        if isinstance(origin, type) and issubclass(origin, Resource):
            if origin is Resource:
                return get_args(base)
            # A generic base may have settled one of the two already.
            chosen = dict(zip(_parameters(origin), get_args(base), strict=True))
            return tuple(chosen.get(argument, argument) for argument in _type_arguments(origin))
    inherited = (getattr(cls, "SPEC", None), getattr(cls, "STATUS", None))
    if None not in inherited:
        return inherited
    raise mistake(
        f"{cls.__name__} does not say what its spec and status are",
        f"write class {cls.__name__}(Resource[{cls.__name__}Spec, Status], ...)",
    )


def _parameters(generic: Any) -> tuple[Any, ...]:
    parameters: tuple[Any, ...] = generic.__parameters__
    return parameters


def _checked_types(cls: type[Any], arguments: tuple[Any, ...]) -> tuple[type[Model], type[Status]]:
    spec, status = arguments
    if not (isinstance(spec, type) and issubclass(spec, Model)):
        raise mistake(
            f"the spec of {cls.__name__} is {_called(spec)}, which is not a Model",
            f"write class {_class_name(cls, spec)}(Model) with one field per line",
        )
    if not (isinstance(status, type) and issubclass(status, Status)):
        raise mistake(
            f"the status of {cls.__name__} is {_called(status)}, which is not a Status",
            f"write class {_called(status)}(Status), or give plain Status where there is nothing to add",
        )
    required = [name for name, field in status.model_fields.items() if field.is_required()]
    if required:
        raise mistake(
            f"{status.__name__}.{required[0]} has no default, but a new {cls.__name__} has no status yet",
            f"write {required[0]}: ... | None = None",
        )
    return spec, status


def _class_name(cls: type[Any], spec: Any) -> str:
    """Return the name of the class to write: that of the spec, unless it is a type of Python."""
    is_users = isinstance(spec, type) and spec.__module__ != "builtins"
    return spec.__name__ if is_users else f"{cls.__name__}Spec"


def _called(thing: Any) -> str:
    return thing.__name__ if isinstance(thing, type) else repr(thing)
