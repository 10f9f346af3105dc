"""One node of a schema, compiled once and walked often.

The nodes come from two sources: the OpenAPI definitions of the built-in kinds and the structural
schemas of CustomResourceDefinitions.  Pruning, defaulting, validation, strategic merge and field
ownership walk them without distinguishing between the two.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from myrmidon.api.objects.accessors import Json

ListType = Literal["atomic", "set", "map"]


@dataclass(slots=True, eq=False)
class Schema:
    """One node of a schema.  ``type`` is ``""`` if any value is allowed."""

    type: str = ""
    properties: dict[str, "Schema"] = field(default_factory=dict)
    items: "Schema | None" = None
    additional: "Schema | None" = None  # the values of a map
    required: tuple[str, ...] = ()

    list_type: ListType = "atomic"
    list_map_keys: tuple[str, ...] = ()
    map_type: Literal["granular", "atomic"] = "granular"
    merge_key: str = ""  # strategic merge: the field that identifies a list element
    patch_strategy: tuple[str, ...] = ()  # strategic merge: merge, replace, retainKeys

    format: str = ""
    nullable: bool = False
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    has_default: bool = False
    default: Any = None

    # The schema as it was written, with enum, pattern and validation rules.
    source: Json = field(default_factory=dict)
    # Derived data that each walker caches on first use, under its own key.
    plans: dict[str, Any] = field(default_factory=dict, repr=False)
