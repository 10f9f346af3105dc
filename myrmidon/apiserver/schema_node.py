"""The shape of a type: one node of a schema, compiled once and walked often.

Two sources make these nodes: the OpenAPI definitions of the built-in kinds and the structural
schemas of CustomResourceDefinitions.  What walks them (pruning, defaulting, validation, strategic
merge, field ownership) does not care which.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from myrmidon.api.objects.accessors import Json

ListType = Literal["atomic", "set", "map"]


@dataclass(slots=True, eq=False)
class Schema:
    """One node.  ``type`` is ``""`` where any value may stand."""

    type: str = ""
    properties: dict[str, "Schema"] = field(default_factory=dict)
    items: "Schema | None" = None
    additional: "Schema | None" = None  # the values of a map
    required: tuple[str, ...] = ()

    list_type: ListType = "atomic"
    list_map_keys: tuple[str, ...] = ()
    map_type: Literal["granular", "atomic"] = "granular"
    merge_key: str = ""  # strategic merge: what tells two list elements apart
    patch_strategy: tuple[str, ...] = ()  # strategic merge: merge, replace, retainKeys

    format: str = ""
    nullable: bool = False
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    has_default: bool = False
    default: Any = None

    # The schema as it was written: enum, pattern, rules …
    source: Json = field(default_factory=dict)
    # What walkers have compiled from this node, each under a name of its own, on first use.
    plans: dict[str, Any] = field(default_factory=dict, repr=False)
