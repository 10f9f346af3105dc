"""Records as answers: the object as one version shows it, and its bytes, made once per record.

An object is encoded without ``apiVersion`` and ``kind``; lists of built-in kinds leave them out, and
everything else puts them in front.
"""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.store import Record


class _View:
    """What one resource type made of a record."""

    __slots__ = ("body", "obj")

    def __init__(self, obj: Json) -> None:
        self.obj = obj
        self.body: bytes | None = None


def remember(resource_type: ResourceType, record: Record, obj: Json) -> None:
    """The object that was just stored is what this type shows: no need to read it back."""
    record.cache_for, record.cache = resource_type, _View(obj)


def _view(resource_type: ResourceType, record: Record) -> _View:
    if record.cache_for is not resource_type:
        record.cache_for, record.cache = (
            resource_type,
            _View(resource_type.strategy.read(record.value)),
        )
    view: _View = record.cache
    return view


def shown(resource_type: ResourceType, record: Record) -> Json:
    """The object as this version shows it.  Shared: not to be changed."""
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
    """The object as JSON."""
    return _head(shown(resource_type, record)) + _body(resource_type, record)


def encoded_item(resource_type: ResourceType, record: Record) -> bytes:
    """The object as an item of a list."""
    if resource_type.custom:
        return encoded(resource_type, record)
    return b"{" + _body(resource_type, record)
