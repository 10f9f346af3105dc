"""Convert the JSON values of an object into CEL values, by its schema.

``type: number`` becomes a double, ``format: date-time`` a timestamp and ``format: byte`` bytes.
Objects have typed fields, and lists with a list type are compared as that type demands.  Adapters
are built once per rule, and convert a value when the rule accesses it.  Lists of plain strings are
passed on without a copy.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from myrmidon.api.values.cel_names import escape
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.escaping import unescape
from myrmidon.apiserver.cel.times import parse_date, parse_date_time, parse_schema_duration
from myrmidon.apiserver.cel.values import Adapt, MapList, Mapped, SetList, Value
from myrmidon.apiserver.golang.types import go_type
from myrmidon.apiserver.schema_node import Schema

STRING_SCHEMA = Schema(type="string")
METADATA_SCHEMA = Schema(
    type="object", properties={"name": STRING_SCHEMA, "generateName": STRING_SCHEMA}
)
ALWAYS_THERE = {
    "kind": STRING_SCHEMA,
    "apiVersion": STRING_SCHEMA,
    "metadata": METADATA_SCHEMA,
}


def resource_properties(schema: Schema) -> dict[str, Schema]:
    """Return the fields of a resource that rules see: those of the schema, and a few standard ones.

    The standard fields are ``apiVersion``, ``kind``, ``metadata.name`` and
    ``metadata.generateName``.
    """
    if _declares_all(schema):
        return schema.properties
    return {**schema.properties, **ALWAYS_THERE}


def _declares_all(schema: Schema) -> bool:
    own = schema.properties
    meta = own.get("metadata")
    return (
        meta is not None
        and meta.type == "object"
        and all(name in own and own[name].type == "string" for name in ("kind", "apiVersion"))
        and all(
            name in meta.properties and meta.properties[name].type == "string"
            for name in ("name", "generateName")
        )
    )


class Adapters:
    """The adapters of one rule, by schema node."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], Adapt] = {}
        self._alive: list[Schema] = []  # keeps the nodes alive, so that their ids stay unique

    def of(self, schema: Schema, *, resource: bool = False) -> Adapt:
        """Return the adapter of a node; ``resource`` if the node is the root of a resource."""
        resource = resource or schema.embedded_resource
        key = (id(schema), resource)
        if key not in self._known:
            self._alive.append(schema)
            made = self._make(schema, resource=resource)
            self._known[key] = made if schema.int_or_string else _refusing_null(made, schema)
        return self._known[key]

    def _make(self, schema: Schema, *, resource: bool) -> Adapt:
        if schema.int_or_string:
            return _refusing_null(_int_or_string, schema)
        match schema.type:
            case "object":
                return self._object(schema, resource=resource)
            case "array":
                return self._array(schema)
            case "string":
                return _STRINGS.get(schema.format, _string)
            case "number":
                return _number
            case "integer":
                return _integer
            case "boolean":
                return _boolean
            case _:
                return _untyped

    def _object(self, schema: Schema, *, resource: bool) -> Adapt:
        if not (resource or schema.properties) and schema.additional is not None:
            values = self.of(schema.additional)
            return lambda raw: _Entries(raw, values)
        fields = resource_properties(schema) if resource else schema.properties
        adapters = {name: _lazy(self, node) for name, node in fields.items()}
        return lambda raw: _Fields(raw, adapters)

    def _array(self, schema: Schema) -> Adapt:
        assert schema.items is not None, "the checker hides lists without items"
        item = self.of(schema.items)
        plain = schema.items.type in ("string", "boolean") and item in _UNCHANGED

        def items(raw: Any) -> list[Value]:
            return raw if plain else [item(element) for element in raw]

        if schema.list_type == "set":
            return lambda raw: SetList(items(raw))
        if schema.list_type == "map":
            keys = tuple(escape(key) or key for key in schema.list_map_keys)
            return lambda raw: MapList(items(raw), keys)
        return items


def _lazy(adapters: Adapters, schema: Schema) -> Adapt:
    """Return an adapter that is built on first use, because most rules access few fields."""
    made: list[Adapt] = []

    def adapt(raw: Any) -> Value:
        if not made:
            made.append(adapters.of(schema))
        return made[0](raw)

    return adapt


class _Entries(Mapped):
    """A map whose values have one type."""

    __slots__ = ("_values",)

    def __init__(self, raw: Mapping[str, Any], values: Adapt) -> None:
        super().__init__(raw)
        self._values = values

    def adapter(self, name: str) -> Adapt | None:  # noqa: ARG002 - the same for all names
        return self._values

    def lookup(self, key: str) -> tuple[str, Any]:
        return key, self.raw.get(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)


class _Fields(Mapped):
    """An object with fields.  A field that is null counts as absent."""

    __slots__ = ("_adapters",)

    def __init__(self, raw: Mapping[str, Any], adapters: Mapping[str, Adapt]) -> None:
        super().__init__(raw)
        self._adapters = adapters

    def adapter(self, name: str) -> Adapt | None:
        return self._adapters.get(name)

    def lookup(self, key: str) -> tuple[str, Any]:
        name = unescape(key)
        raw = None if name is None else self.raw.get(name)
        return ("", None) if name is None or raw is None else (name, raw)

    def __iter__(self) -> Iterator[str]:
        return (escape(name) or name for name in self.raw if name in self._adapters)


def _refusing_null(adapt: Adapt, schema: Schema) -> Adapt:
    if adapt in _UNCHANGED and not schema.nullable:
        return adapt

    def checked(raw: Any) -> Value:
        if raw is None:
            if schema.nullable:
                return None
            raise CelEvaluationError("invalid data, got null for schema with nullable=false")
        return adapt(raw)

    return checked


def _int_or_string(raw: Any) -> Value:
    if type(raw) in (int, str):
        return raw
    raise CelEvaluationError(
        "invalid data, expected XIntOrString value to be either a string or integer"
    )


def _string(raw: Any) -> Value:
    if type(raw) is str:
        return raw
    raise CelEvaluationError(f"invalid data, expected string, got {go_type(raw)}")


def _number(raw: Any) -> Value:
    if type(raw) in (int, float):
        return float(raw)
    raise CelEvaluationError(f"invalid data, expected float, got {go_type(raw)}")


def _integer(raw: Any) -> Value:
    if type(raw) is int:
        return raw
    raise CelEvaluationError(f"invalid data, expected int, got {go_type(raw)}")


def _boolean(raw: Any) -> Value:
    if type(raw) is bool:
        return raw
    raise CelEvaluationError(f"invalid data, expected bool, got {go_type(raw)}")


def _untyped(_: Any) -> Value:
    raise CelEvaluationError(
        "invalid type, expected object, array, number, integer, boolean or string, or no type with "
        "x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got "
    )


def _parsed(what: str, parse: Callable[[str], Value]) -> Adapt:
    def adapt(raw: Any) -> Value:
        try:
            return parse(_string(raw))
        except ValueError as error:
            raise CelEvaluationError(f"Invalid {what} {raw}: {error}") from None

    return adapt


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


_UNCHANGED = frozenset((_string, _integer, _boolean, _int_or_string))
_STRINGS = {
    "duration": _parsed("duration", parse_schema_duration),
    "date": _parsed("date formatted string", parse_date),
    "date-time": _parsed("date-time formatted string", parse_date_time),
    "byte": _parsed("byte formatted string", _decode),
}
