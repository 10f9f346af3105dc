"""Stored records as JSON: the object as one version shows it, encoded once per record.

The object and its bytes are cached in the record, for the resource type that asked last.  The
encoded body leaves out ``apiVersion`` and ``kind``: items of lists of built-in kinds do not have
them, and every other response puts them in front.
"""

from collections.abc import Iterable

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.store import Record


class _View:
    """A record as one resource type shows it: the object, and its body once it was encoded."""

    __slots__ = ("body", "obj")

    def __init__(self, obj: Json, body: bytes | None = None) -> None:
        self.obj, self.body = obj, body


def remember(
    resource_type: ResourceType, record: Record, obj: Json, body: bytes | None = None
) -> None:
    """Cache ``obj`` as the representation of a record that was just written.

    The object that was stored is the one that this resource type shows, so it is not read back.
    ``body`` is its encoded body, if that is known.
    """
    record.cache_for, record.cache = resource_type, _View(obj, body)


def inherit(record: Record, before: Record) -> None:
    """Use the representation of ``before`` for a record that has the same content and another revision."""
    if record.cache is None and before.cache is not None:
        obj: Json = before.cache.obj
        metadata = {**obj["metadata"], "resourceVersion": str(record.revision)}
        remember(before.cache_for, record, {**obj, "metadata": metadata})


def kept_body(record: Record) -> bytes | None:
    """Return the encoded body of a record whose representation is the stored object; None if not kept."""
    view: _View | None = record.cache
    return view.body if view is not None and view.obj is record.value else None


def _view(resource_type: ResourceType, record: Record) -> _View:
    if record.cache_for is not resource_type:
        record.cache_for, record.cache = (
            resource_type,
            _View(resource_type.strategy.read(record.value)),
        )
    view: _View = record.cache
    return view


def read_together(resource_type: ResourceType, records: Iterable[Record]) -> None:
    """Let a conversion webhook be asked at once for all records that this version has not shown yet."""
    if resource_type.strategy.is_converted:
        unseen = [record.value for record in records if record.cache_for is not resource_type]
        resource_type.strategy.read_together(unseen)


def shown(resource_type: ResourceType, record: Record) -> Json:
    """Return the object as this version shows it.  It is shared: do not change it."""
    return _view(resource_type, record).obj


def _body(resource_type: ResourceType, record: Record) -> bytes:
    view = _view(resource_type, record)
    if view.body is None:
        view.body = _without_type(view.obj)
    return view.body


def _without_type(obj: Json) -> bytes:
    rest = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind"}}
    return go_json.encode(rest)[1:]


def _head(obj: Json) -> bytes:
    return f'{{"kind":"{obj["kind"]}","apiVersion":"{obj["apiVersion"]}",'.encode()


def encoded(resource_type: ResourceType, record: Record) -> bytes:
    """Return the object as JSON."""
    return _head(shown(resource_type, record)) + _body(resource_type, record)


def encoded_item(resource_type: ResourceType, record: Record) -> bytes:
    """Return the object as JSON for an item of a list."""
    if resource_type.custom:
        return encoded(resource_type, record)
    return b"{" + _body(resource_type, record)
