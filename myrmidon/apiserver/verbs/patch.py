"""PATCH: compute the new object from the current one and a patch, and update it."""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import split_api_version
from myrmidon.apiserver.refusals.causes import forbidden
from myrmidon.apiserver.refusals.failures import bad_request, internal_error
from myrmidon.apiserver.requests.call import Call
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
    """Read the options of the query; return the media type of the patch."""
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
    """Patch the object that the path names.  Return the record, and whether an apply created it."""
    media = read_patch_options(call)
    if media == APPLY:
        return apply(call, subresource)
    record = call.stored()
    current = representation.shown(call.type, record)
    obj = read_patched(call, patched(call, media, current, call.type.schema))
    return update(call, record, obj, subresource), False


def read_patched(call: Call, document: Any) -> Json:
    """Return the patched document as an object; raise a 422 if it cannot be decoded."""
    _check_type(call, document)
    try:
        obj, unknown = call.type.strategy.decode(copy_json(document))
    except DecodeError as error:
        raise patch_failure(str(error)) from None
    api_version = document.get("apiVersion") or call.type.kind.api_version
    if split_api_version(api_version)[0] != call.type.kind.group:
        unknown = []  # the schema does not describe objects of another group
    problems = check_fields(call, unknown, ())
    if problems:
        raise patch_failure(f"strict decoding error: {', '.join(problems)}")
    call.type.strategy.default(obj)
    meta = obj.setdefault("metadata", {})
    check_name(call, meta)
    check_namespace(call, meta)
    return obj


def _check_type(call: Call, document: Any) -> None:
    """Check the type of a patched document.

    A custom resource with another kind or apiVersion passes: it is an invalid object, reported
    later.  Any other document of the wrong type is an invalid patch.
    """
    wanted = call.type.kind
    if not isinstance(document, dict):
        raise patch_failure("the result is not an object")
    kind, api_version = document.get("kind"), document.get("apiVersion")
    if not call.type.custom:
        if media_type(call) == STRATEGIC:
            _check_texts(kind, api_version)
            return
        if api_version in (None, "") and kind and isinstance(kind, str):
            # Go decodes it as the internal version, which has none of the fields.
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
    """Check that kind and apiVersion are strings.

    A strategic merge patch is applied to a typed object, which keeps its type whatever they say.
    """
    if not all(isinstance(value, str | None) for value in values):
        raise patch_failure("cannot convert to string")
