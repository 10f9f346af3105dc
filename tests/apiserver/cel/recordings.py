"""What the real server's own code returned, and our values in its notation."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from myrmidon.apiserver.cel.functions.conversions import format_double
from myrmidon.apiserver.cel.times import print_duration, print_timestamp
from myrmidon.apiserver.cel.values import (
    Duration,
    Opaque,
    OptionalValue,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    entries,
)
from myrmidon.apiserver.schema_node import Schema

RECORDED = Path(__file__).parent / "recorded.json"


class Group(NamedTuple):
    """Expressions for one schema and one value, with the recorded results."""

    name: str
    schema: Schema
    values: tuple[Any, ...]
    options: dict[str, bool]
    answers: list[dict[str, Any]]


def groups() -> list[Group]:
    """Return all groups."""
    return [
        Group(
            group["name"],
            schema_of(group["schema"]),
            (group["self"],) if group["old"] is None else (group["self"], group["old"]),
            {"resource": group["root"], "optional_old_self": group["optional"]},
            group["answers"],
        )
        for group in json.loads(RECORDED.read_text())
    ]


def schema_of(source: dict[str, Any]) -> Schema:
    """Build a schema node from OpenAPI, as far as rules need it."""
    additional = source.get("additionalProperties")
    return Schema(
        type=source.get("type", ""),
        properties={name: schema_of(s) for name, s in source.get("properties", {}).items()},
        items=schema_of(source["items"]) if "items" in source else None,
        additional=schema_of(additional) if isinstance(additional, dict) else None,
        required=tuple(source.get("required", ())),
        list_type=source.get("x-kubernetes-list-type", "atomic"),
        list_map_keys=tuple(source.get("x-kubernetes-list-map-keys", ())),
        format=source.get("format", ""),
        nullable=source.get("nullable", False),
        int_or_string=source.get("x-kubernetes-int-or-string", False),
        preserve_unknown=source.get("x-kubernetes-preserve-unknown-fields", False),
        embedded_resource=source.get("x-kubernetes-embedded-resource", False),
        has_default="default" in source,
        default=source.get("default"),
        source=source,
    )


def show(value: Value) -> Any:
    """Return a value as the recorder writes it."""
    match value:
        case None | bool() | str():
            return value
        case Uint():
            return f"{int(value)}u"
        case int():
            return value
        case float():
            return "d:" + format_double(value)
        case bytes():
            return "b:" + value.hex()
        case Timestamp():
            return "t:" + print_timestamp(value)
        case Duration():
            return "dur:" + print_duration(value)
        case _:
            return _show_compound(value)


def _show_compound(value: Value) -> Any:
    match value:
        case TypeValue(name=name):
            return "type:" + name
        case OptionalValue():
            return ["optional", show(value.value)] if value.present else "optional.none()"
        case list():
            return [show(item) for item in value]
        case Mapping():
            return {json.dumps(show(key)).strip('"'): show(item) for key, item in entries(value)}
        case _:
            assert isinstance(value, Opaque)
            return value.type_name
