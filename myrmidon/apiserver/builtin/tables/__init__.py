"""Tables of the built-in kinds, with the columns and cells of the real server.

A printer returns the cells of one object.  The columns are recorded from a real server
(``catalog``).
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.builtin.tables import (
    access,
    core,
    extensions,
    networking,
    pods,
    scaling,
    scheduling,
    storage,
    workloads,
)
from myrmidon.apiserver.catalog.resources import columns_of
from myrmidon.apiserver.resources.tables import AGE_TEXT, NAME_TEXT, Row, column

Printer: TypeAlias = Callable[[Json, datetime], list[Any]]

# By kind; a kind that is in several groups has the same table in all of them.
PRINTERS: dict[str, Printer] = {
    **access.PRINTERS,
    **core.PRINTERS,
    **extensions.PRINTERS,
    **networking.PRINTERS,
    **pods.PRINTERS,
    **scaling.PRINTERS,
    **scheduling.PRINTERS,
    **storage.PRINTERS,
    **workloads.PRINTERS,
}


class BuiltinLayout:
    """The table of one built-in kind."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._printer = PRINTERS.get(kind.kind, _name_and_creation)

    @property
    def columns(self) -> list[Json]:
        """The columns as recorded from a real server; name and creation time without a record."""
        return columns_of(self._kind) or [
            column("Name", "string", NAME_TEXT, format_="name"),
            column("Created At", "date", AGE_TEXT),
        ]

    def row(self, obj: Json, now: datetime) -> Row:
        """Return the row of an object."""
        conditions = pods.row_conditions(obj) if self._kind.kind == "Pod" else ()
        return Row(self._printer(obj, now), conditions)


def _name_and_creation(obj: Json, now: datetime) -> list[Any]:
    del now
    meta = obj["metadata"]
    return [meta.get("name", ""), meta.get("creationTimestamp")]


__all__ = ["PRINTERS", "BuiltinLayout"]
