"""Models of kubernetes-asyncio (``V1Deployment``) as kinds, and as objects that states get and apply.

The library is never imported here: a program that does not use it does not pay for it.  A model is
recognised by the two class attributes that its generator writes, ``openapi_types`` and
``attribute_map``; a model of the synchronous ``kubernetes`` package has the same ones.

A model class does not say its group, plural or scope.  They follow from its name: the version and
the kind are in it (``V2HorizontalPodAutoscaler``), and where two groups have such a kind, the first
label of the group comes first (``CoreV1Event``, ``EventsV1Event``).  ``api.kinds`` has the rest.
Models of parts of an object (``V1Container``) and of alpha and beta versions are not kinds.
"""

import re
import sys
from collections.abc import Mapping
from datetime import date, datetime
from functools import cache
from types import SimpleNamespace
from typing import Any

import orjson

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, describe
from myrmidon.api.objects.refs import Kind
from myrmidon.api.values.timestamps import write_time
from myrmidon.errors import UnfitObjectError

_NAME = re.compile(r"(?P<group>[A-Z][a-z]+)?V(?P<version>[1-9]\d*)(?P<kind>[A-Z]\w*)")


def is_model(entry: Any) -> bool:
    """Whether this is a model class of kubernetes-asyncio, of an object or of a part of one."""
    return isinstance(entry, type) and hasattr(entry, "openapi_types") and _is_mapped(entry)


def is_model_object(obj: Any) -> bool:
    """Whether this is an instance of a model class of kubernetes-asyncio."""
    return _is_mapped(obj) and not isinstance(obj, type)


def _is_mapped(thing: Any) -> bool:
    return isinstance(getattr(thing, "attribute_map", None), dict)


def model_kind(model: type[Any]) -> Kind | None:
    """Return the kind of a model class; None if it is not the model of a built-in kind."""
    return _kind_named(model.__name__)


@cache  # every read of a state asks
def _kind_named(name: str) -> Kind | None:
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    version = f"v{found['version']}"
    for kind in kinds.ALL:
        group = (kind.group.partition(".")[0] or "core").capitalize()
        if (kind.version, kind.kind) == (version, found["kind"]) and found["group"] in (
            None,
            group,
        ):
            return kind
    return None


def model_from_json(model: type[Any], obj: Json) -> Any:
    """Return the object as an instance of the model, made by the library's own deserializer.

    Raises ``UnfitObjectError`` if the model refuses the object.
    """
    library: Any = sys.modules[f"{model.__module__.partition('.')[0]}.client.api_client"]
    reader = library.ApiClient.__new__(library.ApiClient)  # without a connection of its own
    try:
        return reader.deserialize(SimpleNamespace(data=orjson.dumps(obj)), model)
    except (ValueError, TypeError, AttributeError) as error:
        raise UnfitObjectError(describe(obj), [f"{model.__name__}: {error}"]) from error


def model_json(model: Any) -> Json:
    """Return a model object as JSON, with apiVersion and kind from its class if it has none.

    None counts as unset: a model cannot tell the two apart.
    """
    made = _json(model)
    kind = model_kind(type(model))
    if kind is not None:
        made = {"apiVersion": kind.api_version, "kind": kind.kind, **made}
    return made


def _json(model: Any) -> Json:
    return {
        wire_name: _value(value)
        for attribute, wire_name in model.attribute_map.items()
        if (value := getattr(model, attribute)) is not None
    }


def _value(value: Any) -> Any:
    if is_model_object(value):
        return _json(value)
    if isinstance(value, Mapping):
        return {key: _value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_value(inner) for inner in value]
    if isinstance(value, datetime):
        return write_time(value)
    if isinstance(value, date):
        return value.isoformat()
    return value
