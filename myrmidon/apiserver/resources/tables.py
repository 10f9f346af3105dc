"""Tables: the output of ``kubectl get``, built by the server.

A layout has the columns of a kind and makes a row of each object.  The layouts of built-in kinds
are in ``builtin.tables``, those of custom resources in ``custom.printer_columns``.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang.times import parse_time

Include = Literal["Metadata", "Object", "None"]

NAME_TEXT = (
    "Name must be unique within a namespace. Is required when creating resources, although some "
    "resources may allow a client to request the generation of an appropriate name automatically. "
    "Name is primarily intended for creation idempotence and configuration definition. Cannot be "
    "updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
AGE_TEXT = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. "
    "It is not guaranteed to be set in happens-before order across separate operations. Clients "
    "may not set this value. It is represented in RFC3339 form and is in UTC.\n\n"
    "Populated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


class Row(NamedTuple):
    """The cells of one object, and the conditions of its row."""

    cells: list[Any]
    conditions: Sequence[Json] = ()


class Layout(Protocol):
    """The columns of a kind."""

    @property
    def columns(self) -> list[Json]:
        """The column definitions."""
        ...

    def row(self, obj: Json, now: datetime) -> Row:
        """Return the row of an object; ages are relative to ``now``."""
        ...


def table(
    layout: Layout,
    objects: Iterable[Json],
    *,
    metadata: Json,
    now: datetime,
    include: Include = "Metadata",
    with_columns: bool = True,
) -> Json:
    """Return a Table of objects; in a watch, only the first Table has columns."""
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": layout.columns if with_columns else None,
        "rows": [_row(layout.row(obj, now), obj, include) for obj in objects],
    }


def _row(row: Row, obj: Json, include: Include) -> Json:
    shown: Json = {"cells": row.cells}
    if row.conditions:
        shown["conditions"] = list(row.conditions)
    shown["object"] = _shown(obj, include)
    return shown


def _shown(obj: Json, include: Include) -> Json | None:
    match include:
        case "None":
            return None
        case "Object":
            return obj
        case "Metadata":
            return partial_object(obj)


def partial_object(obj: Json) -> Json:
    """Return an object with only the metadata (PartialObjectMetadata)."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj["metadata"],
    }


class BlankLayout:
    """The columns of a kind, and rows without values: for an object that only has a version."""

    def __init__(self, layout: Layout) -> None:
        self.columns = layout.columns

    def row(self, obj: Json, now: datetime) -> Row:
        """Return a row without values."""
        del obj, now
        return Row(["", *[None] * (len(self.columns) - 1)])


class ScaleLayout:
    """The columns of a Scale; their descriptions differ for custom resources."""

    def __init__(self, *, custom: bool) -> None:
        desired, available = (
            ("Number of desired replicas", "Number of actual replicas")
            if custom
            else (
                "replicas is the desired number of instances for the scaled object.",
                "replicas is the actual number of observed instances of the scaled object.",
            )
        )
        self.columns = [
            column("Name", "string", NAME_TEXT, format_="name" if custom else ""),
            column("Desired", "integer", desired),
            column("Available", "integer", available),
            column("Age", "date" if custom else "string", AGE_TEXT),
        ]

    def row(self, obj: Json, now: datetime) -> Row:
        """Return the row of a Scale: name, desired and available replicas, age."""
        meta, wanted = obj["metadata"], obj["spec"].get("replicas", 0)
        age = since(meta.get("creationTimestamp"), now)
        return Row([meta["name"], wanted, obj["status"].get("replicas", 0), age])


def column(name: str, kind: str, description: str, *, format_: str = "", priority: int = 0) -> Json:
    """Return the definition of a column."""
    return {
        "name": name,
        "type": kind,
        "format": format_,
        "description": description,
        "priority": priority,
    }


def since(timestamp: str | None, now: datetime) -> str:
    """Return the time since a timestamp, in the format of ``kubectl get``."""
    if not timestamp:
        return "<unknown>"
    return human_duration((now - parse_time(timestamp)).total_seconds())


_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400

# (upper limit in seconds, unit, smaller unit shown beside it) of a printed duration.
_SCALES = (
    (2 * _MINUTE, (1, "s"), None),
    (10 * _MINUTE, (_MINUTE, "m"), (1, "s")),
    (3 * _HOUR, (_MINUTE, "m"), None),
    (8 * _HOUR, (_HOUR, "h"), (_MINUTE, "m")),
    (48 * _HOUR, (_HOUR, "h"), None),
    (8 * _DAY, (_DAY, "d"), (_HOUR, "h")),
    (2 * _YEAR, (_DAY, "d"), None),
    (8 * _YEAR, (_YEAR, "y"), (_DAY, "d")),
)


def human_duration(seconds: float) -> str:
    """Return a duration in at most two units: ``5s``, ``3m12s``, ``4d5h``."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    for limit, (size, unit), smaller in _SCALES:
        if whole < limit:
            text = f"{whole // size}{unit}"
            if smaller is not None and (rest := whole % size // smaller[0]):
                text += f"{rest}{smaller[1]}"
            return text
    return f"{whole // _YEAR}y"
