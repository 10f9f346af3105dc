"""Rows of tables are those of a real server."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from myrmidon.apiserver.builtin.tables import PRINTERS, BuiltinLayout
from myrmidon.apiserver.catalog.resources import builtin_resources
from myrmidon.apiserver.custom.printer_columns import CustomLayout
from myrmidon.apiserver.resources.tables import human_duration, table

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())["tables"]
SERVED = {(r.kind.api_version, r.kind.kind): r.kind for r in builtin_resources()}
LISTED = [r.kind for r in builtin_resources() if "list" in r.verbs]
NOW = datetime(2030, 1, 1, tzinfo=UTC)
AGE = re.compile(r"^\d+[smhdy](\d+[smhdy])?$")


def ageless(cells: list[Any]) -> list[Any]:
    """Return the cells, with ages taken as equal."""
    return ["AGE" if isinstance(cell, str) and AGE.match(cell) else cell for cell in cells]


@pytest.mark.parametrize("name", RECORDED)
def test_a_row_is_that_of_the_real_server(name: str) -> None:
    """All cells, and whether the row is marked as done."""
    record = RECORDED[name]
    obj = record["object"]
    row = BuiltinLayout(SERVED[obj["apiVersion"], obj["kind"]]).row(obj, NOW)
    assert ageless(row.cells) == ageless(record["cells"])
    assert list(row.conditions) == record["conditions"]


@pytest.mark.parametrize("kind", LISTED, ids=lambda kind: f"{kind.api_version}-{kind.kind}")
def test_every_listed_kind_has_columns(kind: Any) -> None:
    """Kinds without a printer show name and creation time."""
    columns = BuiltinLayout(kind).columns
    assert columns[0]["name"] in ("Name", "Last Seen")
    assert kind.kind in PRINTERS or kind.kind == "ComponentStatus" or len(columns) == 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"),
        (600, "10m"), (10799, "179m"), (10800, "3h"), (11000, "3h3m"), (86400, "24h"),
        (2 * 86400, "2d"), (2 * 86400 + 3600, "2d1h"), (9 * 86400, "9d"), (800 * 86400, "2y70d"),
        (9 * 365 * 86400, "9y"),
    ],
)  # fmt: skip
def test_durations_are_for_people(seconds: int, text: str) -> None:
    """Two units at most, and one if that is precise enough."""
    assert human_duration(seconds) == text


def test_custom_columns() -> None:
    """Values that do not have the type of their column are left empty."""
    layout = CustomLayout(
        [
            {"name": "Ready", "type": "string", "jsonPath": '.s.c[?(@.type=="Ready")].status'},
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Parts", "type": "string", "jsonPath": ".spec.parts"},
            {"name": "When", "type": "date", "jsonPath": ".spec.when"},
        ]
    )
    obj = {
        "metadata": {"name": "a"},
        "s": {"c": [{"type": "Other", "status": "x"}, {"type": "Ready", "status": "True"}]},
        "spec": {"size": "big", "parts": [1, {"b": 2}], "when": "soon"},
    }
    shown = table(layout, [obj], metadata={}, now=NOW, include="None")
    assert shown["rows"] == [
        {"cells": ["a", "True", None, '[1,{"b":2}]', "<invalid>"], "object": None}
    ]
