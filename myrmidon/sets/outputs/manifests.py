"""Turn the argument of ``out.apply`` into the manifest that is sent.

A manifest, a Resource and a kubernetes-asyncio model all become a plain JSON document, which is a
copy: a later change of the user's object has no effect.  It holds the fields that the user set,
without the status and the metadata that only the server sets.  A value that JSON cannot express is
refused with its path (``OutputError``); it is never changed or dropped.
"""

from base64 import b64encode
from collections.abc import Mapping
from math import isfinite
from typing import Any

import orjson

from myrmidon.api.objects.accessors import Json, describe
from myrmidon.api.typed.models import is_model_object, model_json
from myrmidon.api.values.json_values import NotJsonError, encodable, inside, json_value
from myrmidon.api.values.texts import printable, text_of
from myrmidon.errors import OutputError

# Metadata that only the server sets; it ignores or refuses them in a write.
_SERVER_METADATA = frozenset(
    {
        "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
        "managedFields", "selfLink",
    }
)  # fmt: skip


_EXACT = (
    orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
)


_HARMLESS = frozenset({str, int, bool, type(None)})
_CONTAINERS = (dict, list, tuple)  # a tuple, because isinstance() with a union builds it each time


def manifest_of(obj: Any) -> Json:
    """Return the object as a new JSON document; raise ``OutputError`` if it cannot be one."""
    manifest, _ = document_of(obj)
    # The status belongs to the controller of that kind; the server drops it from such a write.
    manifest.pop("status", None)
    return manifest


def document_of(obj: Any) -> tuple[Json, bytes]:
    """Return the object as ``manifest_of`` does, but with its status; and its JSON text.

    The text is empty if it is not known, or holds metadata that was left out.
    """
    manifest, text = _encoded(obj if type(obj) is dict else _declared(obj))
    meta = manifest.get("metadata")
    if type(meta) is dict and not _SERVER_METADATA.isdisjoint(meta):
        manifest["metadata"] = {
            field: value for field, value in meta.items() if field not in _SERVER_METADATA
        }
        text = b""
    if "stringData" in manifest and manifest.get("kind") == "Secret":
        _fold_string_data(manifest)
    return manifest, text


def _encoded(declared: Mapping[str, Any]) -> tuple[Json, bytes]:
    """Return a copy of the declaration as plain JSON, and its text; an empty one if it was walked.

    Every pass does this for every output, and encoding and decoding is the fastest way to copy and
    check.  The slower walk, which knows the path of a bad value, runs only if the encoder refused,
    or if a ``null`` may stand for NaN or infinity.
    """
    try:
        # In three lists: the encoder limits the depth, and a request nests the manifest deeper.
        text = orjson.dumps([[[declared]]], default=encodable, option=_EXACT)
    except (TypeError, ValueError, RecursionError):
        return _walked(declared), b""
    if b"null" in text and _may_hold_nan(declared):
        return _walked(declared), b""
    return orjson.loads(text)[0][0][0], text


def _may_hold_nan(value: Any) -> bool:
    """Whether an encoded value contains NaN, infinity, or a type that may be encoded from them."""
    left = [value]
    while left:
        one = left.pop()
        for item in one.values() if isinstance(one, dict) else one:
            kind = type(item)
            if kind in _HARMLESS:
                continue
            if isinstance(item, _CONTAINERS):
                left.append(item)
            elif kind is not float or not isfinite(item):
                return True
    return False


def _walked(declared: Mapping[str, Any]) -> Json:
    try:
        manifest: Json = json_value(declared)
    except NotJsonError as error:
        raise _not_json(declared, error) from error
    return manifest


def _not_json(declared: Mapping[str, Any], error: NotJsonError) -> OutputError:
    return OutputError(
        f"{printable(describe(declared))} cannot be written as JSON: {error}.\n  fix: {error.fix}"
    )


def _declared(obj: Any) -> Mapping[str, Any]:
    if isinstance(obj, Mapping):
        return obj
    if isinstance(obj, type):
        raise OutputError(
            f"the class {obj.__name__} is not an object that can be applied.\n"
            f"  fix: pass an object of it, such as {obj.__name__}(...)"
        )
    if hasattr(obj, "to_json"):
        try:
            declared: Mapping[str, Any] = obj.to_json()
        except Exception as error:
            raise _untold(obj, error) from error
        return declared
    if is_model_object(obj):
        try:
            return model_json(obj)
        except RecursionError as error:
            raise _untold(obj, error) from error
    if isinstance(obj, list | tuple):
        raise OutputError(
            f"a {type(obj).__name__} is not an object that can be applied or deleted.\n"
            "  fix: pass its objects to out.apply_all(...), or one by one"
        )
    also = "; name a kind by its constant, such as kinds.CONFIG_MAP" if isinstance(obj, str) else ""
    raise OutputError(
        f"{obj!r} is not an object that can be applied or deleted.\n"
        f"  fix: pass a manifest (dict), a Resource, or a kubernetes-asyncio model{also}"
    )


def _untold(obj: Any, error: Exception) -> OutputError:
    """Return the error for an object that cannot be written as JSON, with the path if known."""
    for part in ("spec", "status"):
        try:
            json_value(getattr(obj, part, None), part)
        except NotJsonError as found:
            return OutputError(f"{obj!r} cannot be written as JSON: {found}.\n  fix: {found.fix}")
    return OutputError(
        f"{obj!r} cannot be written as JSON: {type(error).__name__}: {text_of(error)}.\n"
        "  fix: use strings, numbers, booleans, None, lists and dicts with string keys"
    )


def _fold_string_data(manifest: Json) -> None:
    """Move ``stringData`` to ``data``; the server never returns it, so it cannot be compared."""
    texts, data = manifest.pop("stringData") or {}, manifest.get("data") or {}
    for name, part in (("stringData", texts), ("data", data)):
        if not isinstance(part, dict):
            raise _unfit_secret(manifest, name, part, "write a dict of strings")
    encoded = {}
    for key, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise _unfit_secret(manifest, inside("stringData", key), value, "write str(...)")
        encoded[key] = value if value is None else b64encode(value.encode()).decode()
    manifest["data"] = {**data, **encoded}


def _unfit_secret(manifest: Json, path: str, value: Any, fix: str) -> OutputError:
    return OutputError(
        f"{describe(manifest)}: {path} is of type {type(value).__name__}, which the server refuses.\n"
        f"  fix: {fix}"
    )
