"""Ownership of fields compared with that of a real kube-apiserver v1.36.4, for random writes.

``sessions.json.gz`` has sequences of creates, updates and applies by several managers on one
object each, with the responses: custom resources with every kind of list and map, and twenty
built-in kinds.  An update is checked from the object that was stored, an apply from its body.
"""

import gzip
import json
from copy import deepcopy
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.builtin.decoding import decode, forget_empty
from myrmidon.apiserver.catalog.types import GoType, schema_of
from myrmidon.apiserver.fields import (
    ApplyConflict,
    Versions,
    after_apply,
    after_update,
    blank_of,
)
from myrmidon.apiserver.fields.resets import builtin_reset_fields, custom_reset_fields
from myrmidon.apiserver.fields.versions import ResetFields
from myrmidon.apiserver.schema.defaulting import default
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema_node import Schema

NOW = datetime(2026, 1, 1, tzinfo=UTC)
# The server allocates or generates parts of these after the apply.
FILLED_IN = {"Service", "Job", "Secret", "PersistentVolumeClaim"}
VOLATILE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


@cache
def recorded() -> Json:
    """Return all sessions, and the schema of the custom resource."""
    path = Path(__file__).with_name("sessions.json.gz")
    made: Json = json.loads(gzip.decompress(path.read_bytes()))
    return made


class Replay:
    """One session: an object, and the owners of its fields."""

    def __init__(self, session: Json) -> None:
        self.custom = session["kind"] == "Rack"
        if self.custom:
            self.kind = Kind(recorded()["group"], "v1", "Rack", "racks")
            self.schema: Schema = compile_schema(recorded()["rack"])
        else:
            self.kind = Kind(*session["kind"])
            self.schema = schema_of(self.kind)
        self.live: Json | None = None

    def _reset_fields(self, subresource: str) -> ResetFields:
        has_status = "status" in self.schema.properties
        if self.custom:
            return custom_reset_fields(subresource, has_status=has_status)
        return builtin_reset_fields(self.kind, subresource, has_status=has_status)

    def run(self, step: Json) -> None:
        """Do one step, check it, and continue from the real server's response."""
        api_version = self.kind.api_version
        arguments: dict[str, Any] = {
            "manager": step["manager"],
            "now": NOW,
            "subresource": step["subresource"],
            "reset": self._reset_fields(step["subresource"]),
            "blank": blank_of(self.schema, api_version, self.kind.kind),
        }
        versions = Versions(api_version, self.schema)
        if step["op"] == "apply":
            try:
                applied = after_apply(
                    self.live, step["body"], versions, force=step["force"], **arguments
                )
            except ApplyConflict as conflict:
                self.check_conflict(step, conflict)
                return
            assert step["status"] == 200
            self.check_object(step["answer"], applied.object)
            entries = applied.managed_fields
        else:
            new = step["new"]
            if step["sent"] is not None:
                new = new | {"metadata": new["metadata"] | {"managedFields": step["sent"]}}
            entries = after_update(self.live, new, versions, **arguments)
        self.check_entries(step["answer"], entries)
        self.live = step["answer"]

    def check_conflict(self, step: Json, conflict: ApplyConflict) -> None:
        """Check that the same fields are in conflict with the same managers."""
        assert step["status"] == 409
        wanted = step["answer"]["details"]["causes"]
        found = [cause.to_json() for cause in conflict.causes]
        assert {(cause["field"], cause["message"]) for cause in found} == {
            (cause["field"], cause["message"]) for cause in wanted
        }

    def check_object(self, answer: Json, merged: Json) -> None:
        """Check that the object is the same once it has its defaults."""
        if self.kind.kind in FILLED_IN:
            return
        merged = deepcopy(merged)
        if self.custom:
            default(merged, self.schema)
        else:
            assert isinstance(self.schema, GoType)
            merged = decode(merged, self.schema).object
            forget_empty(merged, self.schema)
        assert content(merged) == content(answer)

    def check_entries(self, answer: Json, entries: list[Json]) -> None:
        """Check that the owners are the same."""
        before = (self.live or {}).get("metadata", {})
        wanted = answer["metadata"].get("managedFields", [])
        if before.get("resourceVersion") == answer["metadata"]["resourceVersion"]:
            # Nothing was written; times do not matter then.
            assert timeless(entries) == timeless(wanted)
        else:
            assert timed(entries) == timed(wanted)


def content(obj: Json) -> Json:
    """Return the part of an object that the client decides."""
    metadata = {
        key: value
        for key, value in obj.get("metadata", {}).items()
        if key not in {*VOLATILE, "namespace"} and value
    }
    rest = {k: v for k, v in obj.items() if k not in {"metadata", "status", "apiVersion", "kind"}}
    return rest | {"metadata": metadata}


def timed(entries: list[Json]) -> list[Json]:
    """Return entries with whether they have a time, in an order that does not depend on it."""
    marked = [{**entry, "time": "time" in entry} for entry in entries]
    return sorted(marked, key=lambda entry: json.dumps(entry, sort_keys=True))


def timeless(entries: list[Json]) -> list[Json]:
    """Return entries without their times."""
    return timed([{k: v for k, v in entry.items() if k != "time"} for entry in entries])


@pytest.mark.parametrize("number", range(len(recorded()["sessions"])))
def test_ownership_is_that_of_the_real_server(number: int) -> None:
    """Objects, owners and conflicts of each response are the recorded ones."""
    session = recorded()["sessions"][number]
    replay = Replay(session)
    for step in session["steps"]:
        replay.run(step)
