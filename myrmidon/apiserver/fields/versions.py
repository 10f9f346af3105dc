"""Versions: the schemas of a kind in all served versions, and conversion between them."""

from collections.abc import Callable
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.fields.fieldset import FieldSet, Node, deep_difference
from myrmidon.apiserver.fields.shapes import Shape, shape_of
from myrmidon.apiserver.schema_node import Schema


def _unknown(_: str) -> Schema | None:
    return None


def _renamed(obj: Json, api_version: str) -> Json:
    return obj | {"apiVersion": api_version}


class Versions(NamedTuple):
    """The version of the request, and access to the others.

    ``schema_of`` returns None for versions that are not served; their managers are dropped.
    """

    api_version: str
    schema: Schema
    schema_of: Callable[[str], Schema | None] = _unknown
    convert: Callable[[Json, str], Json] = _renamed

    def shape(self, api_version: str) -> Shape | None:
        """Return the shape of objects in a version."""
        if api_version == self.api_version:
            return shape_of(self.schema)
        schema = self.schema_of(api_version)
        return None if schema is None else shape_of(schema)

    def convert_to(self, obj: Json, api_version: str) -> Json:
        """Return an object converted to a version."""
        return obj if api_version == obj.get("apiVersion") else self.convert(obj, api_version)


class ResetFields(NamedTuple):
    """Fields that a write cannot change, because the server resets them.

    A change there has no owner.  Either the fields are named, or all except ``kept``.
    """

    reset: FieldSet = FieldSet()
    kept: tuple[str, ...] = ()

    def rest(self, node: Node) -> Node:
        """Return the set without the fields that are reset."""
        if self.kept:
            return {field: node[field] for field in self.kept if field in node}
        return deep_difference(node, self.reset.node) if self.reset else node


NO_RESET = ResetFields()


def resetting(*paths: str) -> ResetFields:
    """Return a ``ResetFields`` of these fields: ``resetting("status", "metadata.labels")``."""
    steps = (tuple(f"f:{name}" for name in path.split(".")) for path in paths)
    return ResetFields(reset=FieldSet.of(*steps))


def keeping(*names: str) -> ResetFields:
    """Return a ``ResetFields`` of all root fields except these: ``keeping("status")``."""
    return ResetFields(kept=tuple(f"f:{name}" for name in names))
