"""PATCH: from the current object and a patch to the new object."""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import split_api_version
from myrmidon.apiserver.call import Call
from myrmidon.apiserver.causes import forbidden
from myrmidon.apiserver.failures import bad_request, internal_error
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.strategy import DecodeError
from myrmidon.apiserver.schema.defaulting import copy_json
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.verbs.apply import apply
from myrmidon.apiserver.verbs.bodies import check_fields, media_type
from myrmidon.apiserver.verbs.create import check_namespace
from myrmidon.apiserver.verbs.options import options_failure, read_write_options
from myrmidon.apiserver.verbs.patch_documents import (
    APPLY,
    STRATEGIC,
    patch_failure,
    patched,
    read_media_type,
)
from myrmidon.apiserver.verbs.update import check_name, undeterminable, update


def read_patch_options(call: Call) -> str:
    """The kind of patch, and the options of the query."""
    media = read_media_type(call)
    if not call.route.name:
        raise bad_request("name must be provided")
    read_write_options(call, "PatchOptions")
    if call.query.get("force") and media != APPLY:
        raise options_failure(
            "PatchOptions", [forbidden("force", "may not be specified for non-apply patch")]
        )
    return media


def patch(call: Call, subresource: str = "") -> tuple[Record, bool]:
    """Change the object of the path; returns whether it was created (by an apply)."""
    media = read_patch_options(call)
    if media == APPLY:
        return apply(call, subresource)
    record = call.stored()
    current = representation.shown(call.type, record)
    obj = read_patched(call, patched(call, media, current, call.type.schema))
    return update(call, record, obj, subresource), False


def read_patched(call: Call, document: Any) -> Json:
    """The result of a patch as an object; what does not decode is an invalid patch."""
    _check_type(call, document)
    try:
        obj, unknown = call.type.strategy.decode(copy_json(document))
    except DecodeError as error:
        raise patch_failure(str(error)) from None
    api_version = document.get("apiVersion") or call.type.kind.api_version
    if split_api_version(api_version)[0] != call.type.kind.group:
        unknown = []  # the fields of another group are unknown here
    problems = check_fields(call, unknown, ())
    if problems:
        raise patch_failure(f"strict decoding error: {', '.join(problems)}")
    call.type.strategy.default(obj)
    meta = obj.setdefault("metadata", {})
    check_name(call, meta)
    check_namespace(call, meta)
    return obj


def _check_type(call: Call, document: Any) -> None:
    """A custom resource of another type is an invalid object; any other is an invalid patch."""
    wanted = call.type.kind
    if not isinstance(document, dict):
        raise patch_failure("the result is not an object")
    kind, api_version = document.get("kind"), document.get("apiVersion")
    if not call.type.custom:
        if media_type(call) == STRATEGIC:
            _check_texts(kind, api_version)
            return
        if api_version in (None, "") and kind and isinstance(kind, str):
            # Go takes it for an internal version, which knows none of the fields.
            fields = sorted(document.keys() - {"apiVersion", "kind"})
            call.warn(*(f'unknown field "{field}"' for field in fields))
            raise undeterminable(call)
        kind, api_version = kind or wanted.kind, api_version or wanted.api_version
        if (api_version, kind) != (wanted.api_version, wanted.kind):
            raise patch_failure(f'no kind "{kind}" is registered for version "{api_version}"')
    elif not kind or not isinstance(kind, str) or not isinstance(api_version, str | None):
        raise patch_failure("Object 'Kind' is missing")
    elif not api_version:
        raise internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")


def _check_texts(*values: Any) -> None:
    """A strategic merge patch is applied to an object, which is of its type whatever it says."""
    if not all(isinstance(value, str | None) for value in values):
        raise patch_failure("cannot convert to string")
