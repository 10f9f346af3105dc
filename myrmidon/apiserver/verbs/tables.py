"""Responses as tables, which ``kubectl get`` asks for."""

from datetime import datetime
from typing import get_args

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.refusals.failures import bad_request
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.resources.tables import BlankLayout, Include, ScaleLayout, table
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.verbs.list import ListPage


def _include(call: Call) -> Include:
    wanted = call.query.get("includeObject", "") or "Metadata"
    for known in get_args(Include):
        if wanted == known:
            include: Include = known
            return include
    raise bad_request(f'unrecognized includeObject value: "{wanted}"')


def table_of_page(call: Call, page: ListPage) -> Json:
    """Return a list as a table."""
    objects = [representation.shown(call.type, record) for record in page.records]
    return table(
        call.type.strategy.layout,
        objects,
        metadata=page.metadata(custom=False),
        now=call.draws.now,
        include=_include(call),
    )


def table_of_object(call: Call, record: Record) -> Json:
    """Return one object as a table."""
    obj = representation.shown(call.type, record)
    return table(
        call.type.strategy.layout,
        [obj],
        metadata={"resourceVersion": obj["metadata"].get("resourceVersion", "")},
        now=call.draws.now,
        include=_include(call),
    )


def table_of_scale(call: Call, scale: Json) -> Json:
    """Return a Scale as a table."""
    return table(
        ScaleLayout(custom=call.type.custom),
        [scale],
        metadata={"resourceVersion": scale["metadata"].get("resourceVersion", "")},
        now=call.draws.now,
        include=_include(call),
    )


class TableEncoder:
    """Encodes watch events as tables of one row; only the first one has columns."""

    def __init__(self, call: Call) -> None:
        self._include: Include = _include(call)
        self._environment = call.core.environment
        self._first = True

    def __call__(self, resource_type: ResourceType, record: Record) -> bytes:
        """Return the table of a record as JSON.  A bookmark has no name, and a row without values."""
        obj = representation.shown(resource_type, record)
        now: datetime = self._environment.now()
        layout = resource_type.strategy.layout
        made = table(
            layout if "name" in obj["metadata"] else BlankLayout(layout),
            [obj],
            metadata={"resourceVersion": obj["metadata"].get("resourceVersion", "")},
            now=now,
            include=self._include,
            with_columns=self._first,
        )
        self._first = False
        return go_json.encode(made)
