"""The real server's responses for definitions and objects, see `recorded/`.

A file has one record in a line.  A line with a schema opens a group; those that follow are objects
that were sent for it, some of them as an update of an old one.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "recorded"
Json = dict[str, Any]


class Sent(NamedTuple):
    """An object that was sent, and its result."""

    schema: Json
    record: Json

    def obj(self, key: str) -> Json | None:
        """Build a whole object: as sent, as stored, or as it was before."""
        content = self.record.get(key)
        if content is None:
            return None
        name = self.record.get("name", "a")
        meta = {"name": name}
        return {"apiVersion": "example.com/v1", "kind": "Gauge", "metadata": meta, **content}


def definitions() -> list[Json]:
    """Return all recorded definitions."""
    found: list[Json] = json.loads((FOLDER / "definitions.json").read_text())
    return found


def sent(file: str) -> Iterator[Sent]:
    """Return all recorded objects of a file."""
    schema: Json = {}
    for record in json.loads((FOLDER / file).read_text()):
        if "schema" in record:
            schema = record["schema"]
        else:
            yield Sent(schema, record)
