"""The Go types behind the built-in kinds, compiled from the recorded definitions.

A ``GoType`` is a ``Schema`` that also records how Go encodes a value of the type: which fields are
pointers, which zero values are left out and which are written.  Types are compiled on first use; a
Deployment needs about a hundred of them and takes a few milliseconds.
"""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, cast

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.catalog import files
from myrmidon.apiserver.schema_node import Schema

Shape = Literal[
    "struct", "map", "list", "string", "int32", "int64", "number", "boolean",
    "bytes", "quantity", "int-or-string", "time", "micro-time", "raw", "schema-or-other",
]  # fmt: skip

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

_SPECIAL: dict[str, Shape] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "raw",
    _META + "Time": "time",
    _META + "MicroTime": "micro-time",
    _META + "FieldsV1": "raw",
    _CRD + "JSON": "raw",
    _CRD + "JSONSchemaPropsOrArray": "schema-or-other",
    _CRD + "JSONSchemaPropsOrBool": "schema-or-other",
    _CRD + "JSONSchemaPropsOrStringArray": "schema-or-other",
}

ZEROS: dict[Shape, Any] = {
    "string": "",
    "int32": 0,
    "int64": 0,
    "number": 0,
    "boolean": False,
    "quantity": "0",
    "int-or-string": 0,
}

_SCALARS: tuple[Shape, ...] = ("string", "int32", "int64", "number", "boolean")


@dataclass(slots=True, eq=False)
class GoType(Schema):
    """One Go type.  The fields of a struct are grouped by how their zero values are encoded."""

    name: str = ""  # of the definition; empty for a list or map
    short_name: str = field(init=False)  # ``DeploymentSpec``
    shape: Shape = "struct"
    omitted: frozenset[str] = frozenset()  # scalars whose zero value is left out
    zeros: dict[str, Any] = field(default_factory=dict)  # fields that are always written
    structs: tuple[str, ...] = ()  # struct fields, which exist even if the body omits them

    def __post_init__(self) -> None:
        self.short_name = self.name.rpartition(".")[2]


def schema_of(kind: Kind) -> GoType:
    """Return the type of a built-in kind."""
    return type_named(_names_of_kinds()[kind.group, kind.version, kind.kind])


@cache
def type_named(definition: str) -> GoType:
    """Return the type of a definition."""
    return _Compiler().named(definition)


@cache
def _names_of_kinds() -> dict[tuple[str, str, str], str]:
    names: dict[tuple[str, str, str], str] = {}
    for name, schema in files.definitions()["schemas"].items():
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            names.setdefault((kind["group"], kind["version"], kind["kind"]), name)
    return names


_compiled: dict[str, GoType] = {}


class _Compiler:
    """Compiles a definition and all types it refers to; JSONSchemaProps refers to itself."""

    def named(self, definition: str) -> GoType:
        if definition not in _compiled:
            source = files.definitions()["schemas"][definition]
            _compiled[definition] = node = GoType(name=definition, source=source)
            self._fill(node, source)
        return _compiled[definition]

    def _of_property(self, source: Json) -> GoType:
        """Return the type of a property, which may have extensions besides its definition."""
        target = _reference(source)
        if not target:
            node = GoType(source=source)
            self._fill(node, source)
            return node
        node = self.named(target)
        if any(key.startswith("x-kubernetes-") for key in source):
            # The copy shares its containers, because the definition may still be incomplete.
            node = replace(node, source=node.source | source)
            _annotate(node, source)
        return node

    def _fill(self, node: GoType, source: Json) -> None:
        node.shape = _shape(node.name, source)
        node.type = _schema_type(node.shape)
        # A quantity may also be a number, so it does not have the format of a plain string.
        node.format = "quantity" if node.shape == "quantity" else source.get("format", "")
        node.int_or_string = node.shape == "int-or-string"
        node.preserve_unknown = node.shape in ("raw", "schema-or-other")
        node.required = tuple(source.get("required", ()))
        if "items" in source:
            node.items = self._of_property(source["items"])
        if "additionalProperties" in source:
            node.additional = self._of_property(source["additionalProperties"])
        elif node.shape == "schema-or-other":
            node.additional = self.named(_CRD + "JSONSchemaProps")
        for name, field_source in source.get("properties", {}).items():
            node.properties[name] = self._of_field(field_source)
        if node.name:
            _sort_fields(node)
        _annotate(node, source)

    def _of_field(self, source: Json) -> GoType:
        node = self._of_property(source)
        if "default" not in source:
            return node
        return replace(node, has_default=True, default=source["default"])


def _reference(source: Json) -> str:
    target = source.get("$ref") or next((part["$ref"] for part in source.get("allOf", ())), "")
    return str(target).rpartition("/")[2]


def _shape(name: str, source: Json) -> Shape:
    if name in _SPECIAL:
        return _SPECIAL[name]
    match source:
        case {"type": "array"}:
            return "list"
        case {"type": "string", "format": "byte"}:
            return "bytes"
        case {"type": "integer"}:
            return "int32" if source.get("format") == "int32" else "int64"
        case {"type": "string" | "number" | "boolean" as scalar}:
            return cast("Shape", scalar)
        case {"additionalProperties": _}:
            return "map"
        case {"properties": _} | {"type": "object"}:
            return "struct" if name else "raw"
        case _:
            return "raw"


def _schema_type(shape: Shape) -> str:
    match shape:
        case "struct" | "map":
            return "object"
        case "list":
            return "array"
        case "bytes" | "quantity" | "time" | "micro-time":
            return "string"
        case "int32" | "int64":
            return "integer"
        case "string" | "number" | "boolean":
            return shape
        case _:
            return ""


def _annotate(node: GoType, source: Json) -> None:
    """Copy the list, map and patch settings from the x-kubernetes extensions."""
    node.list_type = source.get("x-kubernetes-list-type", node.list_type)
    node.list_map_keys = tuple(source.get("x-kubernetes-list-map-keys", node.list_map_keys))
    node.map_type = source.get("x-kubernetes-map-type", node.map_type)
    node.merge_key = source.get("x-kubernetes-patch-merge-key", node.merge_key)
    strategy = source.get("x-kubernetes-patch-strategy")
    if strategy:
        node.patch_strategy = tuple(strategy.split(","))


def _sort_fields(node: GoType) -> None:
    """Set which zero values of a struct are left out and which are written."""
    facts = files.definitions()["go"].get(node.name, {})
    pointers = frozenset(facts.get("pointer", ()))
    kept = frozenset(facts.get("kept", ()))
    omitzero = frozenset(facts.get("omitzero", ()))
    by_value = {
        name: field_type
        for name, field_type in node.properties.items()
        if name not in pointers | omitzero and isinstance(field_type, GoType)
    }
    node.omitted = frozenset(name for name, t in by_value.items() if t.shape in _SCALARS)
    node.structs = tuple(name for name, t in by_value.items() if t.shape == "struct")
    node.zeros = {
        name: ZEROS.get(t.shape)
        for name, t in by_value.items()
        if t.shape in ("quantity", "int-or-string", "time", "micro-time")
        or (name in kept and t.shape not in ("struct", "raw", "schema-or-other"))
    }
