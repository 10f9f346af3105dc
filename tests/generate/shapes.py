"""Models of every shape that a structural schema can express, for tests of agreement."""

from datetime import date, datetime
from enum import Enum, IntEnum, StrEnum
from types import new_class
from typing import Annotated, Any, Literal, NewType

from pydantic import Field, StringConstraints, create_model

from myrmidon.api import (
    AtomicMap,
    Base64,
    Duration,
    Embedded,
    IntOrString,
    ListMap,
    ListSet,
    Model,
    OpenApi,
    PreserveUnknown,
    Quantity,
    Resource,
    Rule,
    Status,
)


class Color(StrEnum):
    """Texts to choose from."""

    RED = "red"
    GREEN = "green"


class Level(IntEnum):
    """Numbers to choose from."""

    LOW = 1
    HIGH = 10


class Plain(Enum):
    """An enum that is not a str itself."""

    A = "a"
    B = "b"


class Leaf(Model):
    """A model without models."""

    leaf_name: str
    size: int = Field(default=3, ge=0)


class Branch(Model):
    """A model with models."""

    leaf: Leaf
    leaves: list[Leaf] = Field(default_factory=list)
    by_name: dict[str, Leaf] = Field(default_factory=dict)


class AllDefaults(Model):
    """A model that may be empty."""

    first: int = 1
    second: str = "two"
    third: list[int] = Field(default_factory=lambda: [3])


class Port(Model):
    """An element of a list that is a map."""

    port_name: str = Field(min_length=1, max_length=15)
    number: int = Field(ge=1, le=65535)
    protocol: Literal["TCP", "UDP"] = "TCP"


class Pair(Model, rules=[Rule("self.low <= self.high", message="low must not pass high")]):
    """A model with a rule."""

    low: int = 0
    high: int = 10


UserId = NewType("UserId", int)

FIELDS: dict[str, Any] = {
    "Text": str,
    "TextOptional": (str | None, None),
    "TextNullableRequired": str | None,
    "TextDefault": (str, "a"),
    "TextLength": Annotated[str, Field(min_length=2, max_length=3)],
    "TextPattern": Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$")],
    "TextPatternClasses": Annotated[str, Field(pattern=r"^\w+\s\d+$")],
    "TextPatternInside": Annotated[str, Field(pattern=r"[[\w&&\d~.-]+x")],
    "TextPatternBoundary": Annotated[str, Field(pattern=r"\bab\b")],
    "TextConstraints": Annotated[str, StringConstraints(max_length=4, pattern="^a")],
    "Whole": int,
    "WholeOptional": (int | None, None),
    "WholeDefault": (int, 7),
    "WholeBounds": Annotated[int, Field(ge=-2, lt=9)],
    "WholeExclusive": Annotated[int, Field(gt=0, le=4)],
    "WholeMultiple": Annotated[int, Field(multiple_of=3)],
    "WholeNewType": UserId,
    "Number": float,
    "NumberBounds": Annotated[float, Field(gt=0.5, le=2.5)],
    "NumberOrWhole": int | float,
    "Flag": bool,
    "FlagDefault": (bool, True),
    "FlagOptional": (bool | None, None),
    "EnumText": Color,
    "EnumTextDefault": (Color, Color.RED),
    "EnumTextOptional": (Color | None, None),
    "EnumTextNullableDefault": (Color | None, Color.RED),
    "ListEnumNullable": list[Color | None],
    "EnumNumber": Level,
    "EnumNumberOptional": (Level | None, None),
    "EnumPlain": Plain,
    "LiteralText": Literal["a", "b"],
    "LiteralNumber": Literal[1, 2],
    "LiteralUnion": Color | Literal["blue"] | None,
    "Moment": datetime,
    "MomentOptional": (datetime | None, None),
    "Day": date,
    "Amount": Quantity,
    "AmountDefault": (Quantity, Quantity("100m")),
    "AmountOptional": (Quantity | None, None),
    "PortNumberOrName": IntOrString,
    "PortDefault": (IntOrString, "http"),
    "PortUnion": int | str,
    "PortOptional": (IntOrString | None, None),
    "Span": Duration,
    "SpanOptional": (Duration | None, None),
    "Bytes": Base64,
    "ListText": list[str],
    "ListTextDefault": (list[str], Field(default_factory=list)),
    "ListTextBounded": Annotated[
        list[Annotated[str, Field(max_length=2)]], Field(min_length=1, max_length=2)
    ],
    "ListTextNullable": list[str | None],
    "ListTextSet": (Annotated[list[str], ListSet()], Field(default_factory=list)),
    "ListWholeSet": Annotated[list[int], ListSet()],
    "Tuple": tuple[int, ...],
    "ListOfLists": list[list[int]],
    "TextMap": dict[str, str],
    "WholeMap": (dict[str, int], Field(default_factory=dict, max_length=2)),
    "MapNullable": dict[str, int | None],
    "MapOfLists": dict[str, list[str]],
    "MapAtomic": Annotated[dict[str, str], AtomicMap()],
    "Nested": Leaf,
    "NestedOptional": (Leaf | None, None),
    "NestedDeep": Branch,
    "NestedDefault": (AllDefaults, Field(default_factory=AllDefaults)),
    "NestedDefaultSet": (Leaf, Field(default_factory=lambda: Leaf(leaf_name="x"))),
    "NestedAllDefaults": AllDefaults,
    "NestedPreserve": Annotated[Leaf, PreserveUnknown()],
    "NestedAtomic": Annotated[Leaf, AtomicMap()],
    "ListNested": list[Leaf],
    "NestedMap": dict[str, Leaf],
    "ListPort": (Annotated[list[Port], ListMap("port_name")], Field(default_factory=list)),
    "ListPortTwoKeys": Annotated[list[Port], ListMap("number", "protocol")],
    "Anything": Any,
    "AnythingOptional": (Any, None),
    "Object": dict[str, Any],
    "ObjectBare": (dict, Field(default_factory=dict)),
    "ListOfAnything": list[Any],
    "EmbeddedObject": Annotated[dict[str, Any], Embedded()],
    "ByHand": Annotated[str, OpenApi({"type": "string"})],
    "Ruled": (Annotated[str, Rule("self == '' || self.startsWith('a')")], ""),
    "RuledModel": (Pair, Field(default_factory=Pair)),
    "Aliased": (str, Field(alias="theURL")),
}


def _spec(name: str, field: Any) -> type[Model]:
    declared = field if isinstance(field, tuple) else (field, ...)
    made: dict[str, Any] = {"value_of": declared, "other_field": (int | None, None)}
    spec: type[Model] = create_model(f"{name}Spec", __base__=Model, **made)
    return spec


def _resource(name: str, spec: type[Model]) -> type[Resource[Any, Any]]:
    bases = (Resource[spec, Status],)  # type: ignore[valid-type]
    return new_class(name, bases, {"group": "shapes.myrmidon.dev", "version": "v1"})


RESOURCES: dict[str, type[Resource[Any, Any]]] = {
    name: _resource(f"Shape{name}", _spec(name, field)) for name, field in FIELDS.items()
}
RULED = frozenset({"Ruled", "RuledModel"})
"""Shapes with CEL rules, which the server evaluates and Python does not."""
