"""Drop nulls from fields that are not nullable."""

from typing import Any

from myrmidon.apiserver.schema.pruning import CONTAINERS
from myrmidon.apiserver.schema_node import Schema


def drop_nulls(value: Any, schema: Schema | None) -> None:
    """Drop the nulls of known fields that are not nullable and have no default, in place.

    Nulls of fields with a default are left for ``default`` to fill in.  Nulls of fields that are
    not in the schema are kept as user data.  Nulls in lists are kept too, because dropping them
    would change the index of other items; validation refuses them later.
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
