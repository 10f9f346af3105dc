"""Trails: the part of a schema that leads to the nodes that one check needs.

Most schemas have few lists with keys, few embedded resources and few rules.  The trail to such
nodes is computed once per schema and check.  A check that walks along its trail never visits the
rest of an object.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from myrmidon.apiserver.schema_node import Schema


@dataclass(slots=True, eq=False)
class Trail:
    """A schema node on the way to wanted nodes.  ``here``: whether it is wanted itself."""

    schema: Schema
    here: bool
    properties: dict[str, "Trail"]
    additional: "Trail | None"
    items: "Trail | None"

    def below(self, value: Any, path: str) -> Iterator[tuple["Trail", Any, str]]:
        """Yield (trail, value, path) for each part of a value that the trail leads to."""
        if isinstance(value, dict):
            for name, trail in self.properties.items():
                if name in value:
                    yield trail, value[name], f"{path}.{name}" if path else name
            if self.additional is not None:
                for key, item in value.items():
                    if key not in self.schema.properties:
                        yield self.additional, item, f"{path}[{key}]"
        elif isinstance(value, list) and self.items is not None:
            for index, item in enumerate(value):
                yield self.items, item, f"{path}[{index}]"


def trail_to(schema: Schema, name: str, wanted: Callable[[Schema], bool]) -> Trail | None:
    """Return the trail to all ``wanted`` nodes, or None without any; cached as plan ``name``."""
    if name not in schema.plans:
        schema.plans[name] = _find(schema, wanted)
    found: Trail | None = schema.plans[name]
    return found


def _find(schema: Schema, wanted: Callable[[Schema], bool]) -> Trail | None:
    found = {name: _find(child, wanted) for name, child in schema.properties.items()}
    trail = Trail(
        schema,
        wanted(schema),
        {name: child for name, child in found.items() if child is not None},
        _find(schema.additional, wanted) if schema.additional is not None else None,
        _find(schema.items, wanted) if schema.items is not None else None,
    )
    leads_on = trail.properties or trail.additional is not None or trail.items is not None
    return trail if trail.here or leads_on else None
