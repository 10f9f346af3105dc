"""Structural schemas from Python types."""

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, create_model

from myrmidon.api import (
    AtomicMap,
    Embedded,
    IntOrString,
    ListMap,
    ListSet,
    Model,
    OpenApi,
    PreserveUnknown,
    Quantity,
    Rule,
)
from myrmidon.errors import DefinitionError
from myrmidon.generate import schema_of_model, schema_of_resource
from tests.generate.shapes import RESOURCES, Color, Leaf, Level, Pair, Port
from tests.generate.webapp import WebApp

QUANTITY = r"^([+-])?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
LEAF = {
    "type": "object",
    "description": "A model without models.",
    "properties": {
        "leafName": {"type": "string"},
        "size": {"type": "integer", "format": "int64", "minimum": 0, "default": 3},
    },
    "required": ["leafName"],
}


def of(annotation: Any, default: Any = ...) -> Any:
    """Return the schema of one field."""
    model = create_model("One", __base__=Model, the_field=(annotation, default))
    return schema_of_model(model)["properties"]["theField"]


SCHEMAS: list[tuple[Any, Any, dict[str, Any]]] = [
    (str, ..., {"type": "string"}),
    (int, 3, {"type": "integer", "format": "int64", "default": 3}),
    (float, ..., {"type": "number"}),
    (bool, False, {"type": "boolean", "default": False}),
    (str | None, None, {"type": "string", "nullable": True}),
    (int | None, 3, {"type": "integer", "format": "int64", "nullable": True, "default": 3}),
    (dt.datetime, ..., {"type": "string", "format": "date-time"}),
    (dt.date, ..., {"type": "string", "format": "date"}),
    (Quantity, Quantity("1Gi"), {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True, "pattern": QUANTITY, "default": "1Gi"}),
    (IntOrString, 80, {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True, "default": 80}),
    (int | str, ..., {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}),
    (int | float, ..., {"type": "number"}),
    (Color, Color.RED, {"type": "string", "enum": ["red", "green"], "default": "red"}),
    (Color | None, None, {"type": "string", "enum": ["red", "green"]}),
    (Color | None, ..., {"type": "string", "pattern": "^(red|green)$", "nullable": True}),
    (Level, ..., {"type": "integer", "enum": [1, 10]}),
    (Literal["a", "b"], ..., {"type": "string", "enum": ["a", "b"]}),
    (Color | Literal["blue"], ..., {"type": "string", "enum": ["red", "green", "blue"]}),
    (list[str], Field(default_factory=list), {"type": "array", "items": {"type": "string"}, "default": []}),
    (tuple[int, ...], ..., {"type": "array", "items": {"type": "integer", "format": "int64"}}),
    (dict[str, int], ..., {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}}),
    (dict[str, Any], ..., {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    (Any, None, {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}),
    (Leaf, ..., LEAF),
    (Leaf, Field(default_factory=lambda: Leaf(leaf_name="x")), {**LEAF, "default": {"leafName": "x"}}),
    (list[Leaf], ..., {"type": "array", "items": LEAF}),
    (Annotated[int, Field(gt=0, le=9, multiple_of=3)], ..., {"type": "integer", "format": "int64", "minimum": 0, "exclusiveMinimum": True, "maximum": 9, "multipleOf": 3}),
    (Annotated[str, Field(min_length=1, max_length=3, pattern="^a")], ..., {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a"}),
    (Annotated[list[str], ListSet(), Field(max_length=3)], ..., {"type": "array", "items": {"type": "string"}, "maxItems": 3, "x-kubernetes-list-type": "set"}),
    (Annotated[dict[str, str], AtomicMap(), Field(max_length=3)], ..., {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3, "x-kubernetes-map-type": "atomic"}),
    (Annotated[dict[str, Any], Embedded()], ..., {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-embedded-resource": True}),
    (Annotated[Leaf, PreserveUnknown()], ..., {**LEAF, "x-kubernetes-preserve-unknown-fields": True}),
    (Annotated[str, OpenApi({"type": "string", "format": "uuid"})], "x", {"type": "string", "format": "uuid", "default": "x"}),
    (Annotated[int, Rule("self > oldSelf", message="grow", reason="FieldValueForbidden")], ..., {"type": "integer", "format": "int64", "x-kubernetes-validations": [{"rule": "self > oldSelf", "message": "grow", "reason": "FieldValueForbidden"}]}),
    (str, Field(description="What it is."), {"type": "string", "description": "What it is."}),
]  # fmt: skip


# Numbers, because types may print their addresses, which differ from process to process.
IDS = [f"{number} {schema.get('type')}" for number, (_, _, schema) in enumerate(SCHEMAS)]


@pytest.mark.parametrize(("annotation", "default", "schema"), SCHEMAS, ids=IDS)
def test_type_has_a_schema(annotation: Any, default: Any, schema: dict[str, Any]) -> None:
    """One case per type."""
    assert of(annotation, default) == schema


def test_list_maps_name_their_keys_as_the_wire_does() -> None:
    """The field `port_name` is `portName` in the schema."""
    schema = of(Annotated[list[Port], ListMap("port_name", "protocol")])

    assert schema["x-kubernetes-list-type"] == "map"
    assert schema["x-kubernetes-list-map-keys"] == ["portName", "protocol"]


def test_descriptions_come_from_docstrings_and_fields() -> None:
    """The description of a field takes precedence over that of its type."""

    class Inner(Model):
        """Said of the type."""

        a: int = 1

    class Outer(Model):
        one: Inner = Field(default_factory=Inner)
        two: Inner = Field(default_factory=Inner)
        """Said below the field."""
        three: int = Field(default=1, description="Said in Field.")

    properties = schema_of_model(Outer)["properties"]

    assert [properties[name]["description"] for name in ("one", "two", "three")] == [
        "Said of the type.",
        "Said below the field.",
        "Said in Field.",
    ]
    assert "description" not in schema_of_model(Outer)


def test_defaults_below_rules_are_complete() -> None:
    """The server checks rules on a default before it fills it in."""

    class Whole(Model):
        pair: Pair = Field(default_factory=Pair)
        leaf: Leaf = Field(default_factory=lambda: Leaf(leaf_name="x"))

    properties = schema_of_model(Whole)["properties"]

    assert properties["pair"]["default"] == {"low": 0, "high": 10}
    assert properties["leaf"]["default"] == {"leafName": "x"}


def test_a_status_has_no_defaults() -> None:
    """The controller reports in it, and the server must not add values."""
    schema = schema_of_resource(WebApp)

    assert "default" not in str(schema["properties"]["status"])
    assert schema["properties"]["status"]["properties"]["conditions"][
        "x-kubernetes-list-map-keys"
    ] == ["type"]
    assert schema["required"] == ["spec"]


def test_a_spec_that_may_be_absent_is_filled_in() -> None:
    """Otherwise its defaults would not be filled in."""
    schema = schema_of_resource(RESOURCES["TextDefault"])

    assert schema["properties"]["spec"]["default"] == {}
    assert "required" not in schema


def test_models_of_every_shape_have_a_schema() -> None:
    """At least forty models."""
    assert len(RESOURCES) >= 40
    for resource in RESOURCES.values():
        assert schema_of_resource(resource)["type"] == "object"


class Foreign(BaseModel):
    """A model of another sort."""


class Tree(Model):
    """A model inside itself."""

    children: "list[Tree]" = Field(default_factory=list)


class Twins(Model):
    """Two fields of one name."""

    a_b: int = 1
    aB: int = 2  # noqa: N815 - that is the point


class Split(Model):
    """Read under one name and written under another."""

    a: int = Field(default=1, validation_alias="x", serialization_alias="y")


NO_SCHEMA = "One.the_field has the type {}, which has no structural schema.\n  fix: {}"
NO_UNION = "One.the_field is {}, a union that a structural schema cannot express.\n  fix: {}"
ONE_MODEL = (
    "use one model with an optional field for each case, and a rule that one of them is set: "
    'Rule("has(self.a) != has(self.b)")'
)
ONE_TYPE = "use one type; int | str, X | None and several Literals are the unions that there are"
ANY_FIX = (
    "use str, int, float, bool, datetime, date, Quantity, Duration, IntOrString, Enum, Literal, "
    "a Model, list[X], dict[str, X] or Any; or say the schema yourself: Annotated[..., OpenApi({...})]"
)
MISPLACED = 'take it away, or write it as a rule: Annotated[..., Rule("self > ...")]'
REFUSED: list[tuple[Any, Any, str]] = [
    (dt.timedelta, ..., NO_SCHEMA.format("timedelta", "use myrmidon.api.Duration, which is written 1h30m")),
    (dt.time, ..., NO_SCHEMA.format("time", "use str with a pattern")),
    (bytes, ..., NO_SCHEMA.format("bytes", "use myrmidon.api.Base64, which is text on the wire")),
    (set[str], ..., NO_SCHEMA.format("set[str]", "use Annotated[list[...], ListSet()], which keeps its order")),
    (Decimal, ..., NO_SCHEMA.format("Decimal", "use myrmidon.api.Quantity, or float")),
    (UUID, ..., NO_SCHEMA.format("UUID", "use str with a pattern")),
    (Path, ..., NO_SCHEMA.format("Path", "use str")),
    (tuple[int, str], ..., NO_SCHEMA.format("tuple[int, str]", "use list[X] or tuple[X, ...]; elements of a list share one type")),
    (Foreign, ..., NO_SCHEMA.format("Foreign", "derive it from myrmidon.Model instead of pydantic.BaseModel")),
    (Sequence[int], ..., NO_SCHEMA.format("collections.abc.Sequence[int]", ANY_FIX)),
    (Mapping[str, int], ..., NO_SCHEMA.format("collections.abc.Mapping[str, int]", ANY_FIX)),
    (Leaf | Port, ..., NO_UNION.format("Leaf | Port", ONE_MODEL)),
    (str | list[str], ..., NO_UNION.format("str | list[str]", ONE_TYPE)),
    (str | bool, ..., NO_UNION.format("str | bool", ONE_TYPE)),
    (Literal["a", 1], ..., "One.the_field offers values of several types: 'a', 1.\n  fix: use texts only, or numbers only"),
    (Level | None, ..., ("One.the_field offers numbers or None, which a structural schema cannot express.\n"
     "  fix: take None away, or make None its default and leave the field out instead")),
    (dict[int, str], ..., "One.the_field is a map whose keys are int.\n  fix: use str; the keys of a JSON object are strings"),
    (dict[Annotated[str, Field(max_length=3)], str], ...,
     ("One.the_field has constraints on the keys of a map, which a structural schema cannot express.\n"
     "  fix: use a rule on the field: Rule(\"self.all(key, key.matches('...'))\")")),
    (Annotated[list[Leaf], ListSet()], ..., 'One.the_field is a ListSet whose elements are not scalars.\n  fix: use ListMap("name") for a list of models'),
    (Annotated[list[Leaf], ListMap("nme")], ..., "One.the_field has ListMap('nme'), which is not a scalar field of its elements.\n  fix: use one of leafName, size"),
    (Annotated[list[str], ListMap("name")], ..., ("One.the_field has ListMap('name'), which is not a scalar field of its elements.\n"
     "  fix: make the elements a Model with such a field")),
    (Annotated[str, AtomicMap()], ..., "One.the_field has AtomicMap() but is not a Model or dict.\n  fix: take AtomicMap() away"),
    (Annotated[dt.date, Field(ge=dt.date(2030, 1, 1))], ..., f"One.the_field has ge, gt, le or lt, which a schema cannot say about this type.\n  fix: {MISPLACED}"),
    (int, "x", "One.the_field has the default 'x', which does not fit: Input should be a valid integer.\n  fix: change the default"),
    (Tree, ..., ("One.the_field.children[] is a Tree inside a Tree, which a structural schema cannot describe.\n"
     "  fix: declare it as dict[str, Any], which the server keeps as it is")),
    (Twins, ..., ("One.the_field.aB is called 'aB' on the wire, and so is another field.\n"
     "  fix: rename it or give it an alias: aB: ... = Field(alias=...)")),
    (Split, ..., "One.the_field.a is read as 'x' and written as 'y'.\n  fix: use Field(alias=...) for both"),
]  # fmt: skip


REFUSED_IDS = [f"{number} {message[:50]}" for number, (_, _, message) in enumerate(REFUSED)]


@pytest.mark.parametrize(("annotation", "default", "message"), REFUSED, ids=REFUSED_IDS)
@pytest.mark.filterwarnings(
    "ignore::UserWarning"
)  # pydantic warns of the default that does not fit
def test_type_without_a_structural_form_is_refused_with_a_fix(
    annotation: Any, default: Any, message: str
) -> None:
    """The error has the path of the field, in Python's spelling."""
    with pytest.raises(DefinitionError) as error:
        of(annotation, default)

    assert str(error.value) == message
