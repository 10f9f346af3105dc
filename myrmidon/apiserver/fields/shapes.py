"""Shape: the part of a schema that field ownership needs, that is, which values have parts.

A shape is a map, a scalar, a list or, where the schema does not say, any of them; then the value
decides.  Maps and lists are either atomic (owned as a whole) or granular (their parts have owners).
Shapes are built from schemas when they are first needed, because schemas may be recursive.
"""

from typing import Any, Literal, TypeAlias

from myrmidon.apiserver.catalog.types import GoType
from myrmidon.apiserver.schema_node import Schema

Scalar: TypeAlias = Literal["numeric", "string", "boolean", "untyped"]

_SCALARS: dict[str, Scalar] = {
    "integer": "numeric",
    "number": "numeric",
    "boolean": "boolean",
    "string": "string",
}
_PLAIN = ("int32", "int64", "number", "boolean", "string", "bytes")
_ATOMS: dict[type, str] = {str: "s", int: "s", bool: "s", float: "s", list: "l", dict: "m"}


_PLAN = "fields"


class Shape:
    """One node.  ``atoms`` lists the types that its value may have: ``m``, ``s`` and ``l``.

    ``fields`` are the fields that the schema names.  ``element`` is the shape of other fields, None if
    there may be none.  ``item`` is the shape of the items of a list.
    """

    __slots__ = (
        "_preserve", "_schema", "associative", "atomic_map", "atoms", "element", "fields", "item",
        "keys", "scalar",
    )  # fmt: skip

    fields: "dict[str, Shape]"
    element: "Shape | None"
    item: "Shape"

    def __init__(self, schema: Schema, *, preserve: bool = False) -> None:
        self._schema = schema
        # x-kubernetes-preserve-unknown-fields holds for everything inside as well.
        self._preserve = preserve or schema.preserve_unknown
        self.atoms = _atoms_of(schema)
        self.scalar = _scalar_of(schema)
        self.atomic_map = schema.map_type == "atomic"
        self.associative = schema.type == "array" and schema.list_type != "atomic"
        keys = schema.list_map_keys if schema.list_type == "map" else ()
        self.keys = tuple(sorted(keys))

    def __getattr__(self, name: str) -> Any:
        """Build the inner shapes when they are first needed."""
        if name == "fields":
            self.fields = self._make_fields()
        elif name == "element":
            self.element = self._make_element()
        elif name == "item":
            items = self._schema.items
            self.item = DEDUCED if items is None else _shape(items, self._preserve)
        else:
            raise AttributeError(name)
        return getattr(self, name)

    def _make_fields(self) -> "dict[str, Shape]":
        properties = self._schema.properties.items()
        fields = {name: _shape(inner, self._preserve) for name, inner in properties}
        return fields | _type_and_metadata() if self._schema.embedded_resource else fields

    def _make_element(self) -> "Shape | None":
        schema = self._schema
        if schema.additional is not None:
            return _shape(schema.additional, self._preserve)
        return DEDUCED if self._preserve or not schema.properties else None

    def atoms_of(self, value: Any) -> str:
        """Return the type of the value if the shape allows it, else all types that it allows."""
        atom = _ATOMS.get(type(value), "")
        return atom if atom and atom in self.atoms else self.atoms

    def child(self, name: str) -> "Shape | None":
        """Return the shape of a field."""
        return self.fields.get(name) or self.element

    def default_of_key(self, name: str) -> Any:
        """Return the default of a key that an item of a list leaves out; None if it has none."""
        items = self._schema.items
        key = items.properties.get(name) if items is not None else None
        return key.default if key is not None and key.has_default else None


def shape_of(schema: Schema) -> Shape:
    """Return the shape of a whole object."""
    shape: Shape | None = schema.plans.get(_PLAN)
    if shape is None:
        shape = Shape(schema)
        metadata = schema.properties.get("metadata")
        if metadata is None or "managedFields" not in metadata.properties:
            # A custom resource's schema does not contain apiVersion, kind and metadata.
            shape.fields.update(_type_and_metadata())
        schema.plans[_PLAN] = shape
    return shape


def _shape(schema: Schema, preserve: bool) -> Shape:
    if _atoms_of(schema) == "msl":
        return DEDUCED
    return Shape(schema, preserve=preserve)


def _atoms_of(schema: Schema) -> str:
    match schema.type:
        case "object":
            return "m"
        case "array":
            return "l"
        case "" if isinstance(schema, GoType) and schema.shape == "int-or-string":
            return "s"
        case "":
            return "m" if schema.properties else "msl"
        case _:
            return "s"


def _scalar_of(schema: Schema) -> Scalar:
    is_more = isinstance(schema, GoType) and schema.shape not in _PLAIN
    if is_more or (schema.type == "string" and schema.format not in ("", "byte")):
        return "untyped"  # a quantity may be a number; for other formats the schema is not certain
    return _SCALARS.get(schema.type, "untyped")


def _text(**more: Any) -> Schema:
    return Schema(type="string", **more)


_OWNER = Schema(
    type="object",
    map_type="atomic",
    properties={
        "apiVersion": _text(),
        "blockOwnerDeletion": Schema(type="boolean"),
        "controller": Schema(type="boolean"),
        "kind": _text(),
        "name": _text(),
        "uid": _text(has_default=True, default=""),
    },
)

OBJECT_META = Schema(
    type="object",
    properties={
        "annotations": Schema(type="object", additional=_text()),
        "creationTimestamp": _text(format="date-time"),
        "deletionGracePeriodSeconds": Schema(type="integer"),
        "deletionTimestamp": _text(format="date-time"),
        "finalizers": Schema(type="array", list_type="set", items=_text()),
        "generateName": _text(),
        "generation": Schema(type="integer"),
        "labels": Schema(type="object", additional=_text()),
        "managedFields": Schema(type="array", items=Schema(type="object")),
        "name": _text(),
        "namespace": _text(),
        "ownerReferences": Schema(
            type="array", list_type="map", list_map_keys=("uid",), items=_OWNER
        ),
        "resourceVersion": _text(),
        "selfLink": _text(),
        "uid": _text(),
    },
)

DEDUCED = Shape(Schema())


def _type_and_metadata() -> dict[str, Shape]:
    return {
        "apiVersion": Shape(_text()),
        "kind": Shape(_text()),
        "metadata": Shape(OBJECT_META),
    }
