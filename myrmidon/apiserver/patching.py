"""PATCH: from the current object and a patch to the new object."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from myrmidon.api.objects import Json
from myrmidon.apiserver import encoding, views
from myrmidon.apiserver.bodies import check_fields, media_type, parse_yaml, read_body
from myrmidon.apiserver.call import Call
from myrmidon.apiserver.causes import forbidden, invalid
from myrmidon.apiserver.creating import check_namespace
from myrmidon.apiserver.failures import (
    Cause,
    Failure,
    bad_request,
    invalid_object,
    unsupported_media_type,
)
from myrmidon.apiserver.options import options_failure, read_write_options
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.strategy import DecodeError
from myrmidon.apiserver.updating import update

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def patch(call: Call, subresource: str = "") -> tuple[Record, bool]:
    """Change the object of the path; returns whether it was created (by an apply)."""
    sent = media_type(call)
    _check_media_type(call, sent)
    if not call.route.name:
        raise bad_request("name must be provided")
    read_write_options(call, "PatchOptions")
    if call.query.get("force") and sent != APPLY:
        raise options_failure(
            "PatchOptions", [forbidden("force", "may not be specified for non-apply patch")]
        )
    text = read_body(call)
    record = call.core.store.get(call.type.stored_as, call.key)
    if record is None:
        raise call.not_found()
    current = views.shown(call.type, record)
    patched = _patchers()[sent](call, deepcopy(current), text)
    obj = read_patched(call, patched)
    return update(call, record, obj, subresource), False


def _check_media_type(call: Call, sent: str) -> None:
    known = (
        [JSON_PATCH, MERGE, APPLY] if call.type.custom else [JSON_PATCH, MERGE, STRATEGIC, APPLY]
    )
    if sent not in known:
        raise unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: "
            + ", ".join(known)
        )


def _patchers() -> dict[str, Callable[[Call, Json, bytes], Any]]:
    return {MERGE: _merge, JSON_PATCH: _json_patch, STRATEGIC: _strategic}


def _merge(call: Call, current: Json, text: bytes) -> Any:
    return _rfc7386(current, _document(text))


def _rfc7386(target: Any, change: Any) -> Any:
    if not isinstance(change, dict):
        return change
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _rfc7386(merged.get(key), value)
    return merged


def _json_patch(call: Call, current: Json, text: bytes) -> Any:
    raise NotImplementedError


def _strategic(call: Call, current: Json, text: bytes) -> Any:
    return _rfc7386(current, _document(text))


def _document(text: bytes) -> Json:
    try:
        value = encoding.decode(text)
    except ValueError:
        try:
            value = parse_yaml(text)
        except ValueError as error:
            raise bad_request(f"error decoding patch: {error}") from None
    if not isinstance(value, dict):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal value into Go value of type map[string]interface {}"
        )
    return value


def read_patched(call: Call, patched: Any) -> Json:
    """The result of a patch as an object; what does not decode is an invalid patch."""
    if not isinstance(patched, dict):
        raise patch_failure("the result is no object")
    kind = call.type.kind
    if not patched.get("kind") or not patched.get("apiVersion"):
        raise patch_failure("Object 'Kind' is missing")
    if patched["apiVersion"] != kind.api_version:
        raise patch_failure(
            f"no kind {patched['kind']} is registered for version {patched['apiVersion']}"
        )
    if patched["kind"] != kind.kind and not call.type.custom:
        raise patch_failure(
            f"no kind {patched['kind']} is registered for version {patched['apiVersion']}"
        )
    try:
        obj, unknown = call.type.strategy.decode(patched)
    except DecodeError as error:
        raise patch_failure(str(error)) from None
    problems = check_fields(call, unknown, ())
    if problems:
        raise patch_failure(f"strict decoding error: {', '.join(problems)}")
    call.type.strategy.default(obj)
    check_namespace(call, obj.setdefault("metadata", {}))
    return obj


def patch_failure(problem: str) -> Failure:
    """422: the patched document is no object of the type."""
    return invalid_object(
        "", "", "", [Cause("patch", "FieldValueInvalid", f"Invalid value: {problem}")]
    )


__all__ = ["APPLY", "JSON_PATCH", "MERGE", "STRATEGIC", "invalid", "patch"]
