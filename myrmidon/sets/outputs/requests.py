"""What the requests of all outputs have in common: their query parameters, and which kinds are built in."""

from functools import lru_cache
from typing import TypeAlias

from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import Kind
from myrmidon.sets.outputs.options import FieldValidation

Query: TypeAlias = tuple[tuple[str, str], ...]

_BUILT_IN_GROUPS = frozenset(kind.group for kind in kinds.ALL)


@lru_cache(maxsize=1024)
def write_query(manager: str, field_validation: FieldValidation = "Strict") -> Query:
    """Return the query parameters of every write: field manager and field validation."""
    return (("fieldManager", manager), ("fieldValidation", field_validation))


def is_built_in(kind: Kind) -> bool:
    """Whether the API server itself defines the kind."""
    return kind.group in _BUILT_IN_GROUPS
