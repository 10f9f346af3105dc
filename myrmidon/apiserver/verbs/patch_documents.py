"""Read a patch document (merge, JSON or strategic merge), and apply it to the JSON of an object.

The patch must be JSON.  Its duplicate or unknown fields are handled as ``fieldValidation`` says.
The ``copy`` operations of a JSON patch are limited, because a few of them can double an object many
times.
"""

from collections.abc import Callable, Mapping
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.patches.merge import merge_as_server
from myrmidon.apiserver.patches.strategic import StrategicPatchError, strategic_merge
from myrmidon.apiserver.refusals.failures import (
    Failure,
    StatusCause,
    bad_request,
    internal,
    invalid_object,
)
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.schema_node import Schema
from myrmidon.apiserver.verbs.bodies import check_fields, duplicate_fields, media_type, read_body
from myrmidon.patch.json_patch import OPERATIONS_MAX, JsonPatchError, apply_json_patch

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

_CUSTOM = (JSON_PATCH, MERGE, APPLY)
_BUILTIN = (JSON_PATCH, MERGE, STRATEGIC, APPLY)


def read_media_type(call: Call) -> str:
    """Return the media type of the patch; raise a 415 if the resource does not accept it.

    This is checked before anything else in the request.
    """
    sent = media_type(call)
    known = _CUSTOM if call.type.custom else _BUILTIN
    if sent not in known:
        raise Failure(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            + ", ".join(known),
            details=not call.type.custom,
        )
    return sent


def patched(call: Call, media: str, current: Json, schema: Schema) -> Any:
    """Return the object with the patch in the body applied; ``current`` is not changed."""
    text = read_body(call)
    document = _PATCHERS[media](current, text, schema)
    problems = check_fields(call, (), _notes(media, text))
    if problems:
        raise patch_failure(f"strict decoding error: {', '.join(problems)}")
    return document


_OPERATION_FIELDS = frozenset({"op", "path", "from", "value"})


def _notes(media: str, text: bytes) -> list[str]:
    """Return messages for duplicate fields of the patch, and unknown fields of its operations."""
    document = go_json.decode(text) if text.strip() else None
    if document is None:
        return []
    notes = duplicate_fields(text, document)
    if media != JSON_PATCH:
        return notes
    notes += [
        f'unknown field "[{index}].{field}"'
        for index, operation in enumerate(document)
        for field in operation or ()
        if field not in _OPERATION_FIELDS
    ]
    return [f"json patch {note}" for note in notes]


_COPIED_VALUES_MAX = 100_000  # the real server's limit is 3 MiB


def _merge(current: Json, text: bytes, schema: Schema) -> Any:  # noqa: ARG001 - as _strategic
    return merge_as_server(current, _document(text))


def _json_patch(current: Json, text: bytes, schema: Schema) -> Any:  # noqa: ARG001 - as _strategic
    try:
        operations = go_json.decode(text)
    except ValueError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    operations = [] if operations is None else operations
    if not isinstance(operations, list) or not all(map(_is_operation, operations)):
        raise bad_request("error decoding patch: json: cannot unmarshal into jsonpatch.Patch")
    operations = [operation or {} for operation in operations]
    if len(operations) > OPERATIONS_MAX:
        raise Failure(
            413,
            "RequestEntityTooLarge",
            f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {len(operations)}",
            details=False,
        )
    try:
        return _perform(current, operations)
    except JsonPatchError:
        raise Failure(
            422, "Invalid", "the server rejected our request due to an error in our request"
        ) from None


def _perform(current: Json, operations: list[Any]) -> Any:
    """Return the patched document; raise ``JsonPatchError`` if ``copy`` adds too many values.

    Repeated copies of copies grow exponentially.
    """
    if all(operation.get("op") != "copy" for operation in operations):
        return apply_json_patch(current, operations)
    document: Any = current
    copied = 0
    for operation in operations:
        before = document
        document = apply_json_patch(document, [operation])
        if operation.get("op") == "copy":
            copied += go_json.count_values(document) - go_json.count_values(before)
            if copied > _COPIED_VALUES_MAX:
                raise JsonPatchError("the copies of a JSON patch are too large")
    return document


def _is_operation(value: Any) -> bool:
    if value is None:
        return True
    texts = ("op", "path", "from")
    return isinstance(value, dict) and all(
        isinstance(value.get(field), str | None) for field in texts
    )


def _strategic(current: Json, text: bytes, schema: Schema) -> Any:
    try:
        return strategic_merge(current, _document(text, null={}), schema)
    except StrategicPatchError as error:
        raise internal(str(error)) from None


_PATCHERS: Mapping[str, Callable[[Json, bytes, Schema], Any]] = {
    MERGE: _merge,
    JSON_PATCH: _json_patch,
    STRATEGIC: _strategic,
}


def _document(text: bytes, null: Any = None) -> Json:
    """Return a patch that is a JSON object; ``null`` is the value that a null patch stands for."""
    try:
        value = go_json.decode(text)
    except ValueError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    value = null if value is None else value
    if not isinstance(value, dict):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal value into Go value of type "
            "map[string]interface {}"
        )
    return value


def patch_failure(problem: str) -> Failure:
    """Return the 422 for a patched document that is not an object of its type."""
    cause = StatusCause("patch", "FieldValueInvalid", f"Invalid value: {problem}")
    return invalid_object("", "", "", [cause])
