"""From what a user hands over to the manifest that is sent.

A manifest, a typed resource and a kubernetes-asyncio model all end as a plain JSON document of
our own, holding what the author declared and nothing that only a server may say.
"""

from base64 import b64encode
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import orjson

from myrmidon.api.conditions import timestamp
from myrmidon.api.objects import Json, describe
from myrmidon.errors import OutputError

# The server alone decides about these; sending them back is noise at best.
_SERVER_METADATA = frozenset(
    {
        "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
        "managedFields", "selfLink",
    }
)  # fmt: skip


def manifest_of(obj: Any) -> Json:
    """A copy of the object as JSON: later changes to the original do not reach the output."""
    declared = _declared(obj)
    try:
        manifest: Json = orjson.loads(orjson.dumps(declared, option=orjson.OPT_UTC_Z))
    except (TypeError, orjson.JSONEncodeError) as error:
        raise OutputError(
            f"{describe(declared)} cannot be written as JSON: {error}.\n"
            "  fix: use strings, numbers, booleans, None, lists and dicts with string keys"
        ) from error
    # A status belongs to the controller of that kind; the server drops it on this path.
    manifest.pop("status", None)
    meta = manifest.get("metadata")
    if isinstance(meta, dict) and not _SERVER_METADATA.isdisjoint(meta):
        manifest["metadata"] = {
            field: value for field, value in meta.items() if field not in _SERVER_METADATA
        }
    if manifest.get("kind") == "Secret" and "stringData" in manifest:
        _fold_string_data(manifest)
    return manifest


def _declared(obj: Any) -> Mapping[str, Any]:
    if isinstance(obj, Mapping):
        return obj
    if hasattr(obj, "to_json"):
        declared: Mapping[str, Any] = obj.to_json()
        return declared
    if hasattr(obj, "attribute_map"):
        return _from_client_model(obj)
    raise OutputError(
        f"{obj!r} is no object that can be applied.\n"
        "  fix: pass a manifest (dict), a Resource, or a kubernetes-asyncio model"
    )


def _from_client_model(model: Any) -> Json:
    """Read a kubernetes-asyncio model: what is None was never set, there is no telling otherwise."""
    return {
        wire_name: _client_value(value)
        for attribute, wire_name in model.attribute_map.items()
        if (value := getattr(model, attribute)) is not None
    }


def _client_value(value: Any) -> Any:
    if hasattr(value, "attribute_map"):
        return _from_client_model(value)
    if isinstance(value, Mapping):
        return {key: _client_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_client_value(inner) for inner in value]
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, date):
        return value.isoformat()
    return value


def _fold_string_data(manifest: Json) -> None:
    """Write ``stringData`` as ``data``: the server never sends it back, so nobody could compare it."""
    encoded = {
        key: value if value is None else b64encode(str(value).encode()).decode()
        for key, value in (manifest.pop("stringData") or {}).items()
    }
    manifest["data"] = {**(manifest.get("data") or {}), **encoded}
