"""Python types to the structural schemas of a CustomResourceDefinition.

A structural schema gives the type of every node once, outside any ``anyOf``.  Types that it cannot
express (a union of two models, a recursive model, a set) are refused here,
with the path of the field and what to write instead, because the server's own refusal comes late
and names a path that the author never wrote.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import Enum
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.markers import ListMap, OpenApi, Rule
from myrmidon.api.typed.model import Model, problems_of
from myrmidon.api.typed.ready_made_rules import immutable_of, immutable_rule
from myrmidon.api.typed.resource import Resource
from myrmidon.api.typed.scalars import INT_OR_STRING, Quantity
from myrmidon.api.typed.status import OCCASIONAL_FIELDS
from myrmidon.api.values.quantities import QUANTITY_PATTERN
from myrmidon.errors import DefinitionError
from myrmidon.generate.schema.constraints import (
    check_correlated,
    drop_null_choice,
    flattened,
    put_constraints,
    put_markers,
    put_null_choice,
)
from myrmidon.generate.schema.docstrings import field_docs
from myrmidon.generate.schema.refusals import fix_for

PRESERVE = "x-kubernetes-preserve-unknown-fields"


@dataclass(frozen=True, slots=True)
class Place:
    """The place in a declaration, for error messages and to notice recursive models."""

    path: str
    inside: tuple[type[Model], ...] = ()
    defaults: bool = True

    def below(self, step: str) -> "Place":
        """The place of a part."""
        return replace(self, path=self.path + step)

    def refuse(self, problem: str, fix: str) -> DefinitionError:
        """The error for what stands here."""
        return DefinitionError(f"{self.path} {problem}.\n  fix: {fix}")


def schema_of_resource(resource: type[Resource[Any, Any]]) -> Json:
    """The schema of a whole object: spec, status and the rules that see both."""
    spec = schema_of_model(resource.SPEC)
    if not spec.get("required") and _has_defaults(spec):
        # Without a default for spec itself, the server would not fill in the defaults inside it.
        spec["default"] = _filled(resource.SPEC()).to_wire() if _has_rules(resource.SPEC) else {}
    status = schema_of_model(resource.STATUS, defaults=False)
    for name, schema in OCCASIONAL_FIELDS.items():
        status["properties"].setdefault(name, dict(schema))
    root: Json = {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    }
    if resource.DEFINITION.description:
        root["description"] = resource.DEFINITION.description
    if spec.get("required"):
        root["required"] = ["spec"]
    if resource.DEFINITION.rules:
        root["x-kubernetes-validations"] = [rule.to_json() for rule in resource.DEFINITION.rules]
    return root


def schema_of_model(model: type[Model], *, defaults: bool = True) -> Json:
    """The schema of a model.

    ``defaults=False`` leaves them out: a status says what its controller found, and the server must
    not add to that.
    """
    return _model(model, Place(model.__name__, defaults=defaults))


def _model(model: type[Model], place: Place) -> Json:
    if model in place.inside:
        raise place.refuse(
            f"is a {model.__name__} inside a {model.__name__}, which a structural schema cannot describe",
            "declare it as dict[str, Any], which the server keeps as it is",
        )
    if model.model_computed_fields:
        name = next(iter(model.model_computed_fields))
        raise place.below(f".{name}").refuse(
            "is a computed field; it would be sent but is not declared", "make it a plain property"
        )
    here = replace(place, inside=(*place.inside, model))
    docs = field_docs(model)
    properties: Json = {}
    for name, field in model.model_fields.items():
        wire = _wire_name(field, name, here)
        if wire in properties:
            raise here.below(f".{name}").refuse(
                f"is called {wire!r} on the wire, and so is another field",
                f"rename it or give it an alias: {name}: ... = Field(alias=...)",
            )
        properties[wire] = _field(model, name, field, here.below(f".{name}"))
        description = field.description or docs.get(name)
        if description:
            properties[wire]["description"] = cleandoc(description)
    node: Json = {"type": "object"}
    if model.__doc__ and "__doc__" in vars(model):
        node["description"] = cleandoc(model.__doc__)
    if properties:
        node["properties"] = properties
    required = [
        _wire_name(field, name, here)
        for name, field in model.model_fields.items()
        if field.is_required()
    ]
    if required:
        node["required"] = sorted(required)
    rules = [*_immutable_rules(model, here), *model.RULES]
    if rules:
        node["x-kubernetes-validations"] = [rule.to_json() for rule in rules]
    return node


def _immutable_rules(model: type[Model], place: Place) -> Iterator[Rule]:
    for name, field in model.model_fields.items():
        marker = immutable_of(flattened(field.metadata), field)
        if marker is not None:
            absent = not field.is_required() and field.get_default() is None
            yield immutable_rule(_wire_name(field, name, place), marker, may_be_absent=absent)


def _field(model: type[Model], name: str, field: FieldInfo, place: Place) -> Json:
    node = _type(field.annotation, list(field.metadata), place)
    if not field.is_required() and field.default is None:
        drop_null_choice(node)
    put_null_choice(node, place.refuse)
    if place.defaults and not field.is_required():
        default = _default(model, name, field, place)
        if default is not None:
            node["default"] = default
    return node


def _default(model: type[Model], name: str, field: FieldInfo, place: Place) -> Any:
    """The default as JSON; None for none, because an absent field reads as None anyway."""
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return None
    wire = _wire_name(field, name, place)
    if isinstance(value, Model) and _has_rules(type(value)):
        value = _filled(value)
    said = model.model_construct(_fields_set={name}, **{name: value}).to_wire()
    try:
        model.from_wire(said)
    except ValidationError as error:
        lines = [line for line in problems_of(error, said, "") if line.startswith(f".{wire}")]
        if lines:
            problem = lines[0].partition(": ")[2]
            raise place.refuse(
                f"has the default {said[wire]!r}, which does not fit: {problem}",
                "change the default",
            ) from error
    return said[wire]


def _has_rules(model: type[Model]) -> bool:
    return "x-kubernetes-validations" in repr(schema_of_model(model, defaults=False))


def _filled(model: Model) -> Model:
    """A copy with all defaults said: rules are checked on a default before it is filled in."""
    filled = model.model_copy()
    for name, value in filled.__dict__.items():
        if isinstance(value, Model):
            filled.__dict__[name] = _filled(value)
        if value is not None:
            filled.__pydantic_fields_set__.add(name)
    return filled


def _type(annotation: Any, metadata: Sequence[Any], place: Place) -> Json:
    annotation, metadata = _unwrapped(annotation, metadata)
    node = _node(annotation, metadata, place)
    put_constraints(node, metadata, place.refuse)
    put_markers(node, metadata, place.refuse)
    return node


def _node(annotation: Any, metadata: Sequence[Any], place: Place) -> Json:
    written = next((item for item in metadata if isinstance(item, OpenApi)), None)
    if written is not None:
        return deepcopy(written.schema)
    if annotation is Any:
        return {PRESERVE: True, "nullable": True}
    scalar = _SCALARS.get(annotation) if isinstance(annotation, type) else None
    if scalar is not None:
        return deepcopy(scalar)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _choices([member.value for member in annotation], place)
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return _model(annotation, place)
    return _composed(annotation, metadata, place)


def _composed(annotation: Any, metadata: Sequence[Any], place: Place) -> Json:
    origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
    if origin is Literal:
        return _choices(list(arguments), place)
    if origin in (Union, UnionType):
        return _union(arguments, place)
    if origin is list or (origin is tuple and arguments[1:] == (Ellipsis,)):
        return _list(arguments[0] if arguments else Any, metadata, place)
    if origin is dict:
        return _map(arguments or (str, Any), place)
    problem, fix = fix_for(annotation)
    raise place.refuse(problem, fix)


def _list(element: Any, metadata: Iterable[Any], place: Place) -> Json:
    items = _type(element, [], place.below("[]"))
    put_null_choice(items, place.refuse)
    node: Json = {"type": "array", "items": items}
    check_correlated(items, metadata, place.refuse)
    for marker in metadata:
        if isinstance(marker, ListMap):
            node["x-kubernetes-list-map-keys"] = [
                _list_key(element, key, node["items"], place) for key in marker.keys
            ]
    return node


def _list_key(element: Any, key: str, items: Json, place: Place) -> str:
    element, _ = _unwrapped(element, [])
    if isinstance(element, type) and issubclass(element, Model) and key in element.model_fields:
        key = _wire_name(element.model_fields[key], key, place)
    described = items.get("properties", {}).get(key)
    if described is None or described.get("type") in (None, "object", "array"):
        known = [
            name
            for name, node in items.get("properties", {}).items()
            if node.get("type") in _KEY_TYPES
        ]
        raise place.refuse(
            f"has ListMap({key!r}), which is not a scalar field of its elements",
            f"use one of {', '.join(known)}"
            if known
            else "make the elements a Model with such a field",
        )
    if key not in items.get("required", ()) and "default" not in described:
        raise place.refuse(
            f"has ListMap({key!r}), but that field may be absent",
            "take its default away, or give it one",
        )
    return key


def _map(arguments: tuple[Any, ...], place: Place) -> Json:
    key, value = arguments
    key, key_metadata = _unwrapped(key, [])
    if key is not str:
        raise place.refuse(
            f"is a map whose keys are {_name(key)}",
            "use str; the keys of a JSON object are strings",
        )
    if key_metadata:
        raise place.refuse(
            "has constraints on the keys of a map, which a structural schema cannot express",
            "use a rule on the field: Rule(\"self.all(key, key.matches('...'))\")",
        )
    if value is Any:
        return {"type": "object", PRESERVE: True}
    values = _type(value, [], place.below("{}"))
    put_null_choice(values, place.refuse)
    return {"type": "object", "additionalProperties": values}


def _union(arguments: Sequence[Any], place: Place) -> Json:
    members = [argument for argument in arguments if argument is not NoneType]
    nodes = [_type(member, [], place) for member in members]
    node = _joined(nodes)
    if node is None:
        names = " | ".join(map(_name, members))
        models = all(item.get("type") == "object" for item in nodes)
        raise place.refuse(
            f"is {names}, a union that a structural schema cannot express",
            "use one model with an optional field for each case, and a rule that one of them is set: "
            'Rule("has(self.a) != has(self.b)")'
            if models
            else "use one type; int | str, X | None and several Literals are the unions that there are",
        )
    if len(members) < len(arguments):
        node["nullable"] = True
    return node


def _joined(nodes: list[Json]) -> Json | None:
    """One node that takes what any of these takes, if there is one."""
    first = nodes[0]
    if all(node == first for node in nodes):
        return first
    if all("enum" in node and node.keys() <= {"type", "enum"} for node in nodes):
        types = {node["type"] for node in nodes}
        values = [value for node in nodes for value in node["enum"]]
        return (
            {"type": first["type"], "enum": list(dict.fromkeys(values))}
            if len(types) == 1
            else None
        )
    plain = {node.get("type") for node in nodes if node.keys() <= {"type", "format"}}
    if len(plain) != len(nodes) or any(node.get("format") not in (None, "int64") for node in nodes):
        return None
    if plain == {"integer", "string"}:
        return deepcopy(INT_OR_STRING)
    return {"type": "number"} if plain == {"integer", "number"} else None


def _choices(values: list[Any], place: Place) -> Json:
    for python, name in ((str, "string"), (bool, "boolean"), (int, "integer"), (float, "number")):
        if all(
            type(value) is python or (isinstance(value, python) and python is not int)
            for value in values
        ):
            return {"type": name, "enum": [python(value) for value in values]}
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return {"type": "integer", "enum": [int(value) for value in values]}
    raise place.refuse(
        f"offers values of several types: {', '.join(map(repr, values))}",
        "use texts only, or numbers only",
    )


def _unwrapped(annotation: Any, metadata: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The type without ``Annotated``, ``NewType`` and aliases, and all that was said about it."""
    said = flattened(metadata)
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            said = [*flattened(more), *said]
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        else:
            return annotation, said


def _wire_name(field: FieldInfo, name: str, place: Place) -> str:
    wire = field.serialization_alias or name
    if field.validation_alias != wire:
        raise place.below(f".{name}").refuse(
            f"is read as {field.validation_alias!r} and written as {wire!r}",
            "use Field(alias=...) for both",
        )
    return wire


def _has_defaults(schema: Json) -> bool:
    return any(
        "default" in node or (node.get("type") == "object" and _has_defaults(node))
        for node in schema.get("properties", {}).values()
    )


def _name(annotation: Any) -> str:
    return (
        annotation.__name__
        if isinstance(annotation, type)
        else str(annotation).replace("typing.", "")
    )


_KEY_TYPES = ("string", "integer", "boolean", "number")
_SCALARS: dict[type, Json] = {
    str: {"type": "string"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    Quantity: {**INT_OR_STRING, "pattern": QUANTITY_PATTERN},
}
