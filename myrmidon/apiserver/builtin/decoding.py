"""Decode JSON into an object of a built-in kind, as Go reads and writes it.

The real server reads a body into Go structs, fills in defaults, and writes the structs as JSON
again. The result differs from the request:

- Unknown fields are dropped, and nulls count as absent.
- A zero value of a field that is not a pointer is omitted (``omitempty``), or else always written.
- Quantities, times and base64 data have their canonical form.

All of this happens in one walk over the value, with the types of ``catalog``.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.defaults import COMPLETIONS
from myrmidon.apiserver.builtin.scalars import READERS, DecodingError, Misfit
from myrmidon.apiserver.catalog.types import ZEROS, GoType
from myrmidon.apiserver.golang.types import json_kind

__all__ = ["DecodedStruct", "DecodingError", "decode", "empty", "forget_empty"]


class DecodedStruct(NamedTuple):
    """The object, and the paths of the fields that are unknown in its type."""

    object: Json
    unknown: list[str]


def decode(obj: Any, schema: GoType) -> DecodedStruct:
    """Return the decoded object; the argument is not changed.  Raises ``DecodingError``."""
    if not isinstance(obj, dict):
        raise DecodingError(
            f"json: cannot unmarshal {json_kind(obj)} into Go value of type {go_name(schema)}"
        )
    unknown: list[str] = []
    return DecodedStruct(_Walk(unknown).struct(obj, schema, None), unknown)


def empty(schema: GoType) -> Json:
    """Return an empty struct as Go writes it, for example a status that was reset."""
    return _Walk([]).struct({}, schema, None)


def forget_empty(obj: Json, schema: GoType) -> None:
    """Replace empty lists by their zero values, because the store does not keep empty lists."""
    for field, zero in schema.zeros.items():
        if obj.get(field) == []:
            obj[field] = zero


class _Place(NamedTuple):
    """The position of the walk; it is printed only in error messages."""

    parent: "_Place | None"
    key: str | int  # the name of a field, the key of a map or the index in a list
    struct: str
    in_map: bool = False

    def path(self) -> str:
        """Return the path of the field, such as ``spec.containers[0].image``."""
        before = self.parent.path() if self.parent else ""
        if isinstance(self.key, int):
            return f"{before}[{self.key}]"
        return f"{before}.{self.key}" if before else self.key

    def fields(self) -> str:
        """Return the path as Go prints it, without indices and keys: ``spec.containers.image``."""
        before = self.parent.fields() if self.parent else ""
        if isinstance(self.key, int) or self.in_map:
            return before
        return f"{before}.{self.key}" if before else self.key

    def error(self, shown: str, wanted: str) -> DecodingError:
        """Return Go's error for a value of the wrong type."""
        return DecodingError(
            f"json: cannot unmarshal {shown} into Go struct field "
            f"{self.struct}.{self.fields()} of type {wanted}"
        )


class _Walk:
    """The walk over one object."""

    def __init__(self, unknown: list[str]) -> None:
        self._unknown = unknown

    def struct(self, value: Mapping[str, Any], schema: GoType, where: _Place | None) -> Json:
        """Read a struct, fill in its defaults, and add the zero values that are always written."""
        result: Json = {}
        properties = schema.properties
        for key, given in value.items():
            field = properties.get(key)
            if field is None:
                self._unknown.append(_Place(where, key, "").path())
            elif given is not None:
                assert isinstance(field, GoType)
                if field.shape == "string" and type(given) is str:
                    read: Any = given  # the case of most fields
                else:
                    read = self._value(given, field, _Place(where, key, schema.short_name))
                if read or self._keeps_empty(key, field, schema, where):
                    result[key] = read
        self._complete(result, schema)
        return result

    def _complete(self, result: Json, schema: GoType) -> None:
        for key in schema.structs:
            if key not in result:
                child = schema.properties[key]
                assert isinstance(child, GoType)
                result[key] = self.struct({}, child, None)
        complete = COMPLETIONS.get(schema.name)
        if complete is not None:
            complete(result)
        for key, zero in schema.zeros.items():
            if key not in result:
                result[key] = zero

    @staticmethod
    def _keeps_empty(key: str, field: GoType, schema: GoType, where: _Place | None) -> bool:
        """Whether an empty value is kept.  Empty lists and maps are not kept in the store.

        Those at the top level that are always written, such as the rules of a Role, are kept until
        the object is stored, because the manager that sends an empty list owns the field.
        """
        if field.shape in ("list", "map"):
            return where is None and key in schema.zeros
        return key not in schema.omitted

    def _value(self, value: Any, schema: GoType, where: _Place) -> Any:
        leaf = READERS.get(schema.shape)
        if leaf is not None:
            try:
                return leaf(value)
            except Misfit as misfit:
                wanted = misfit.wanted or go_name(schema)
                raise where.error(misfit.shown, wanted) from None
        match schema.shape:
            case "struct":
                if not isinstance(value, dict):
                    raise where.error(json_kind(value), go_name(schema))
                return self.struct(value, schema, where)
            case "map":
                return self._map(value, schema, where)
            case "list":
                return self._list(value, schema, where)
            case _:
                return self._schema_or_other(value, schema, where)

    def _map(self, value: Any, schema: GoType, where: _Place) -> Json:
        """Read a map; a null value becomes the zero value of its type."""
        if not isinstance(value, dict):
            raise where.error(json_kind(value), go_name(schema))
        values = schema.additional
        assert isinstance(values, GoType)
        if values.shape == "string" and all(type(given) is str for given in value.values()):
            return dict(value)  # labels, annotations, data: the case of almost all maps
        return {
            key: _zero(values)
            if given is None
            else self._value(given, values, _Place(where, key, where.struct, in_map=True))
            for key, given in value.items()
        }

    def _list(self, value: Any, schema: GoType, where: _Place) -> list[Any]:
        """Read a list; a null element becomes the zero value of its type."""
        if not isinstance(value, list):
            raise where.error(json_kind(value), go_name(schema))
        elements = schema.items
        assert isinstance(elements, GoType)
        return [
            _zero(elements)
            if given is None
            else self._value(given, elements, _Place(where, index, where.struct))
            for index, given in enumerate(value)
        ]

    def _schema_or_other(self, value: Any, schema: GoType, where: _Place) -> Any:
        """Read a JSON schema, or a boolean or a list of schemas in its place."""
        nested = schema.additional
        assert isinstance(nested, GoType)
        match value:
            case dict():
                return self.struct(value, nested, where)
            case list() if all(isinstance(element, dict) for element in value):
                return [self.struct(element, nested, where) for element in value]
            case _:
                return value


def _zero(schema: GoType) -> Any:
    if schema.shape == "struct":
        return empty(schema)
    return "" if schema.shape == "bytes" else ZEROS.get(schema.shape)


def go_name(schema: GoType) -> str:
    """Return the name of a type in Go, as far as it can be derived from the definitions."""
    match schema.shape:
        case "list":
            assert isinstance(schema.items, GoType)
            return f"[]{go_name(schema.items)}"
        case "map":
            assert isinstance(schema.additional, GoType)
            return f"map[string]{go_name(schema.additional)}"
        case "int32" | "int64" as integer:
            return integer
        case "number":
            return "float64"
        case "boolean":
            return "bool"
        case "bytes":
            return "[]uint8"
        case "struct":
            package, _, name = schema.name.rpartition(".")
            return f"{package.rpartition('.')[2]}.{name}"
        case _:
            return "string"
