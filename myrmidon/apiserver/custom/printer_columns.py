"""Tables of custom resources, with the ``additionalPrinterColumns`` of their definition."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.custom.jsonpath import JsonPath
from myrmidon.apiserver.golang.times import TimeError, parse_time
from myrmidon.apiserver.resources.tables import AGE_TEXT, NAME_TEXT, Row, column, human_duration


class CustomLayout:
    """The columns of a custom resource: the name, then those of the definition, or else the age."""

    def __init__(self, printer_columns: Sequence[Json]) -> None:
        listed = printer_columns or [
            {
                "name": "Age",
                "type": "date",
                "description": AGE_TEXT,
                "jsonPath": ".metadata.creationTimestamp",
            }
        ]
        self.columns = [column("Name", "string", NAME_TEXT, format_="name")]
        self.columns += [_custom_column(each) for each in listed]
        self._cells = [(JsonPath(each["jsonPath"]), each["type"]) for each in listed]

    def row(self, obj: Json, now: datetime) -> Row:
        """Return the row of an object: its name, and the value at the path of each column."""
        name = obj["metadata"].get("name", "")
        return Row([name, *(_cell(path.find(obj), kind, now) for path, kind in self._cells)])


def _custom_column(listed: Json) -> Json:
    path = listed["jsonPath"]
    return column(
        listed["name"],
        listed["type"],
        listed.get("description")
        or f"Custom resource definition column (in JSONPath format): {path}",
        format_=listed.get("format", ""),
        priority=listed.get("priority", 0),
    )


def _cell(found: list[Any], kind: str, now: datetime) -> Any:
    """Return the first value found, if it has the type of the column; otherwise None."""
    value = found[0] if found else None
    if value is None:
        return None
    if kind == "string":
        return _text(value)
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "date":
        return _age(value, now) if isinstance(value, str) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if kind == "integer" else value


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        case _:
            return str(value)


def _age(value: str, now: datetime) -> str:
    try:
        return human_duration((now - parse_time(value)).total_seconds())
    except TimeError:
        return "<invalid>"
