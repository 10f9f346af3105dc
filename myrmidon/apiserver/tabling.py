"""Answers as tables: what ``kubectl get`` asks for."""

from datetime import datetime
from typing import get_args

from myrmidon.api.objects import Json
from myrmidon.apiserver import encoding, views
from myrmidon.apiserver.call import Call
from myrmidon.apiserver.failures import bad_request
from myrmidon.apiserver.listing import Page
from myrmidon.apiserver.registry import ResourceType
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.tables import Include, ScaleLayout, table


def _include(call: Call) -> Include:
    wanted = call.query.get("includeObject", "") or "Metadata"
    for known in get_args(Include):
        if wanted == known:
            include: Include = known
            return include
    raise bad_request(f'unrecognized includeObject value: "{wanted}"')


def table_of_page(call: Call, page: Page) -> Json:
    """A list as a table."""
    objects = [views.shown(call.type, record) for record in page.records]
    return table(
        call.type.strategy.layout,
        objects,
        metadata=page.metadata(custom=False),
        now=call.draws.now,
        include=_include(call),
    )


def table_of_object(call: Call, record: Record) -> Json:
    """One object as a table."""
    obj = views.shown(call.type, record)
    return table(
        call.type.strategy.layout,
        [obj],
        metadata={"resourceVersion": obj["metadata"].get("resourceVersion", "")},
        now=call.draws.now,
        include=_include(call),
    )


def table_of_scale(call: Call, scale: Json) -> Json:
    """A scale as a table."""
    return table(
        ScaleLayout(custom=call.type.custom),
        [scale],
        metadata={"resourceVersion": scale["metadata"].get("resourceVersion", "")},
        now=call.draws.now,
        include=_include(call),
    )


class TableEncoder:
    """Events of a watch as tables of one row; only the first one has columns."""

    def __init__(self, call: Call) -> None:
        self._include: Include = _include(call)
        self._seams = call.core.seams
        self._first = True

    def __call__(self, resource_type: ResourceType, record: Record) -> bytes:
        """The table of a record."""
        obj = views.shown(resource_type, record)
        now: datetime = self._seams.now()
        made = table(
            resource_type.strategy.layout,
            [obj],
            metadata={"resourceVersion": obj["metadata"].get("resourceVersion", "")},
            now=now,
            include=self._include,
            with_columns=self._first,
        )
        self._first = False
        return encoding.encode(made)
