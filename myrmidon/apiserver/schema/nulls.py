"""Nulls that mean nothing are dropped."""

from typing import Any

from myrmidon.apiserver.schema.pruning import CONTAINERS
from myrmidon.apiserver.schema_node import Schema


def drop_nulls(value: Any, schema: Schema | None) -> None:
    """Drop the nulls of known fields that are neither nullable nor have a default, in place.

    Those with a default are left for ``default`` to fill in.  Nulls where the schema knows nothing
    (preserved fields) and nulls in lists stay: the first are data of the user, the second would
    change the positions of the others, so they are refused later.
    """
    if isinstance(value, dict):
        _drop_fields(value, schema)
    elif isinstance(value, list):
        items = schema.items if schema is not None else None
        if items is not None:
            for item in value:
                if type(item) in CONTAINERS:
                    drop_nulls(item, items)


def _drop_fields(fields: dict[str, Any], schema: Schema | None) -> None:
    if schema is None:
        return
    properties, additional = schema.properties, schema.additional
    empty: list[str] = []
    for key, value in fields.items():
        if value is None:
            known = properties.get(key, additional)
            if known is not None and not known.nullable and not known.has_default:
                empty.append(key)
        elif type(value) in CONTAINERS:
            drop_nulls(value, properties.get(key, additional))
    for key in empty:
        del fields[key]
