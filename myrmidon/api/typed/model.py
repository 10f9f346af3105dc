"""``Model``: the base class of specs, statuses and everything inside them.

Fields are snake_case in Python and camelCase on the wire.  Only fields that were set are written:
unset, None and empty are three different things, because a merge patch treats them differently.
A model that was read from the server also keeps the fields that it does not know.

Values are validated as the API server validates them, not as Python would: ``"1"`` is not an
integer, and neither is ``true``.  Models are therefore read from JSON text: pydantic's strict mode
accepts a timestamp as a string only there.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, Self

import orjson
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.class_keywords import pass_on
from myrmidon.api.typed.field_arguments import check_field_arguments
from myrmidon.api.typed.frozen import FrozenDict, FrozenList, ReadOnlyError
from myrmidon.api.typed.markers import Rule, checked_rules
from myrmidon.api.typed.strictness import as_stored, as_the_server, resolved


class Model(BaseModel):
    """A part of a resource: a pydantic model that reads and writes JSON as Kubernetes does."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        extra="allow",  # from the wire; the constructor and assignments refuse unknown names
        strict=True,
        validate_assignment=True,
        allow_inf_nan=False,
        ser_json_inf_nan="constants",  # kept, so that the code that sends the model can refuse it
        regex_engine="rust-regex",  # the same family as RE2, which the server uses
    )

    __slots__ = ("_read_only_part",)

    RULES: ClassVar[tuple[Rule, ...]] = ()

    if not TYPE_CHECKING:  # a type checker sees the fields instead

        def __init__(self, /, **fields: Any) -> None:
            """Build the model; refuse names that are not fields."""
            self.__pydantic_validator__.validate_python(fields, self_instance=self, extra="forbid")

        def __setattr__(self, name: str, value: Any) -> None:
            part = getattr(self, "_read_only_part", None)
            if part is not None:
                raise ReadOnlyError(part)
            if name not in type(self).__pydantic_fields__ and not name.startswith("_"):
                raise AttributeError(_no_such_field(type(self), name))
            super().__setattr__(name, value)

        # Tells pydantic that validation need not come through here: extras are for the wire.
        __init__.__pydantic_base_init__ = True

    def __init_subclass__(cls, *, rules: Iterable[Rule] = (), **kwargs: Any) -> None:
        pass_on(cls, super().__init_subclass__, kwargs)
        cls.RULES = (*cls.RULES, *checked_rules(cls.__name__, rules))

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        check_field_arguments(cls.__name__, cls.__pydantic_fields__)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        judged: CoreSchema = as_the_server(handler(source), handler.resolve_ref_schema)
        return judged

    @classmethod
    def from_wire(cls, value: Any) -> Self:
        """Read JSON as the server sends it.  Raises pydantic's ``ValidationError``."""
        try:
            return cls._read(value)
        except ValidationError as error:
            stored = as_stored(value, [problem["loc"] for problem in error.errors()])
            if stored is None:
                raise
        return cls._read(stored)

    @classmethod
    def _read(cls, value: Any) -> Self:
        try:
            text: bytes | str = orjson.dumps(value)
        except TypeError:
            text = json.dumps(value)  # a number of more than 64 bits, a broken surrogate
        read: Self = cls.__pydantic_validator__.validate_json(text, by_alias=True, by_name=False)
        return read

    def to_wire(self, *, without: Collection[str] = ()) -> Json:
        """Return the fields that were set, as JSON, and unknown fields that the server sent.

        ``without`` leaves fields out, by their names in Python.
        """
        _notice_changes(self, without)
        said: Json = self.__pydantic_serializer__.to_python(
            self, mode="json", by_alias=True, exclude_unset=True, exclude=set(without)
        )
        return said


def problems_of(error: ValidationError, value: Any, root: str) -> list[str]:
    """Return the problems of a validation error, one line each, with the path as in a manifest."""
    said: dict[str, list[str]] = {}
    for problem in error.errors(include_url=False):
        place = problem["loc"] if problem["type"] == "missing" else resolved(value, problem["loc"])
        said.setdefault(_path(root, place), []).append(problem["msg"])
    return [f"{path}: {' or '.join(dict.fromkeys(said[path]))}" for path in said]


def unknown_fields(value: Any, path: str) -> list[str]:
    """Return a line for each field inside ``value`` that its model does not declare.

    The constructor refuses such names; this is for models that were read from JSON, which keep them.
    """
    match value:
        case Model():
            found = [
                f"{path}.{name} is not a field of {type(value).__name__}; {_meant(type(value), name)}"
                for name in value.__pydantic_extra__ or ()
            ]
            for name, item in value.__dict__.items():
                known = type(value).__pydantic_fields__[name]
                found += unknown_fields(item, f"{path}.{known.alias or name}")
            return found
        case list() | tuple():
            return [
                line
                for index, item in enumerate(value)
                for line in unknown_fields(item, f"{path}[{index}]")
            ]
        case dict():
            return [
                line
                for key, item in value.items()
                for line in unknown_fields(item, f"{path}.{key}")
            ]
        case _:
            return []


def seal(model: Model, part: str) -> None:
    """Make the model and everything in it read-only; ``part`` is its name in error messages."""
    object.__setattr__(model, "_read_only_part", part)
    values = model.__dict__
    for name, value in values.items():
        if type(value) not in _SCALARS:
            values[name] = _sealed(value, part)


def _sealed(value: Any, part: str) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is list:
        return FrozenList([_sealed(item, part) for item in value], part)
    if kind is dict:
        return FrozenDict({key: _sealed(item, part) for key, item in value.items()}, part)
    if isinstance(value, Model):
        seal(value, part)
    elif kind is tuple:
        return tuple(_sealed(item, part) for item in value)
    return value


def _notice_changes(value: Any, without: Collection[str] = ()) -> None:
    """Count a default that was changed in place (``hosts.append(...)``) as set."""
    match value:
        case Model():
            known = value.__pydantic_fields_set__
            if value.__pydantic_extra__:
                _forget_namesakes(value)
            for name, item in value.__dict__.items():
                if type(item) in _SCALARS or name in without:
                    continue
                _notice_changes(item)
                if name not in known and _differs_from_default(value, name, item):
                    known.add(name)
        case list() | tuple():
            for item in value:
                _notice_changes(item)
        case dict():
            for item in value.values():
                _notice_changes(item)
        case _:
            pass


def _forget_namesakes(model: Model) -> None:
    """Unset a field that counts as set only because an unknown field has its Python name."""
    for name in model.__pydantic_extra__ or ():
        if name in model.__dict__ and not _differs_from_default(model, name, model.__dict__[name]):
            model.__pydantic_fields_set__.discard(name)


def _differs_from_default(model: Model, name: str, value: Any) -> bool:
    field = type(model).__pydantic_fields__[name]
    if field.is_required():
        return True
    if field.default_factory is list or field.default_factory is dict:
        return bool(value)
    default = field.get_default(call_default_factory=True, validated_data=model.__dict__)
    return bool(value != default)


def _path(root: str, location: Iterable[int | str]) -> str:
    path = root
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return path


def _meant(model: type[Model], name: str) -> str:
    """Return which field of a manifest was probably meant; else all that there are."""
    written = [field.alias or known for known, field in model.__pydantic_fields__.items()]
    close = [to_camel(name)] if to_camel(name) in written else get_close_matches(name, written, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"it has {', '.join(map(repr, written)) or 'none'}"


def _no_such_field(model: type[Model], name: str) -> str:
    fields: Mapping[str, Any] = model.__pydantic_fields__
    close = get_close_matches(name, fields, n=1)
    fix = (
        f"did you mean {close[0]!r}?"
        if close
        else f"it has {', '.join(map(repr, fields)) or 'none'}"
    )
    return f"{model.__name__} has no field {name!r}; {fix}"


_SCALARS = frozenset({str, int, float, bool, type(None)})
