"""Definitions and objects are handled as recorded from the real server."""

from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from myrmidon.apiserver.schema.definitions import check_definition, unrecognized_formats
from myrmidon.apiserver.schema.embedded import EmbeddedError
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema.validation import check_object
from myrmidon.apiserver.schema_node import Schema
from tests.apiserver.schema.drawing import admit
from tests.apiserver.schema.records import Json, Sent, definitions, sent

OBJECTS = [each for file in ("values.json", "ratchet.json", "rules.json") for each in sent(file)]


def defaulted(definition: Json) -> Json:
    """Fill in the values that the server fills in before validation."""
    filled = deepcopy(definition)
    spec, names = filled["spec"], filled["spec"].setdefault("names", {})
    names["singular"] = names.get("singular") or (names.get("kind") or "").lower()
    if names.get("kind") and not names.get("listKind"):
        names["listKind"] = f"{names['kind']}List"
    spec["conversion"] = spec.get("conversion") or {"strategy": "None"}
    return filled


def listed(causes: list[Any]) -> list[list[str]]:
    """Return the causes in the order of the record."""
    return sorted([cause.field, cause.reason, cause.message] for cause in causes)


@pytest.mark.parametrize("record", definitions(), ids=lambda record: record["name"])
def test_definition_is_refused_for_the_same_causes(record: Json) -> None:
    """Fields, reasons and texts are those of the real server; a few texts were not recorded."""
    found = listed(check_definition(defaulted(record["definition"])))
    for ours, theirs in zip(found, record["causes"], strict=False):
        if not theirs[2]:
            ours[2] = ""

    assert found == record["causes"]
    assert unrecognized_formats(record["definition"]) == record["formats"]


@cache
def compiled(position: int) -> Schema:
    """Return the schema of a record; those of a group share one, as in a server."""
    source = OBJECTS[position].schema
    first = next(index for index, each in enumerate(OBJECTS) if each.schema is source)
    return compile_schema(source) if first == position else compiled(first)


@pytest.mark.parametrize("position", range(len(OBJECTS)))
def test_an_object_is_stored_and_refused_as_recorded(position: int) -> None:
    """The stored object, the unknown fields and the causes are the same."""
    one = OBJECTS[position]
    assert answer(one, compiled(position)) == {
        key: one.record[key]
        for key in ("kept", "unknown", "causes", "message")
        if key in one.record
    }


def answer(one: Sent, schema: Schema) -> Json:
    """Return our result for an object, in the form of the record."""
    obj = one.obj("sent")
    assert obj is not None
    obj = deepcopy(obj)
    try:
        unknown = admit(obj, schema)
    except EmbeddedError as error:
        return {"message": str(error)}
    causes = check_object(obj, schema, one.obj("old"))
    if causes:
        return {"causes": listed(causes)}
    kept = {key: obj[key] for key in obj if key not in ("apiVersion", "kind", "metadata")}
    return {"kept": kept, "unknown": unknown}
