"""Server-side apply: PATCH with the configuration of one field manager.

The body, JSON or YAML, is merged into the live object by ``fields.after_apply``, which also detects
conflicts and computes ``managedFields``.  The result then goes through the same steps as a create
or an update: defaulting, admission, validation, and no write if nothing changed.
"""

import re
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.fields import after_apply
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.refusals.causes import required
from myrmidon.apiserver.refusals.failures import bad_request, conflict, internal
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.requests.routing import is_true
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.strategy import DecodeError
from myrmidon.apiserver.schema.defaulting import copy_json
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.verbs.bodies import check_fields, duplicate_fields, read_body
from myrmidon.apiserver.verbs.create import check_namespace, create_object
from myrmidon.apiserver.verbs.managed_fields import set_entries, versions_of
from myrmidon.apiserver.verbs.options import options_failure
from myrmidon.apiserver.verbs.update import check_name, update
from myrmidon.apiserver.wire.yaml import parse_yaml

_COLLECTIONS = ("labels", "annotations", "finalizers", "ownerReferences")
# JSON escapes characters beyond 16 bits as surrogate pairs, which are invalid escapes in YAML.
_SURROGATE = re.compile(rb"(?<!\\)\\u[dD][89a-fA-F]")


def apply(call: Call, subresource: str) -> tuple[Record, bool]:
    """Apply the configuration in the body.  Return the record, and whether it was created."""
    applied = read_configuration(call)
    _check_kind(call, applied)
    record = call.core.store.get(call.type.stored_as, call.key)
    if record is None and subresource:
        raise call.not_found()
    live = representation.shown(call.type, record) if record is not None else None
    result = after_apply(
        live,
        applied,
        versions_of(call),
        manager=call.field_manager,
        now=call.draws.now,
        force=is_true(call.query.get("force")),
        subresource=subresource,
        reset=call.type.strategy.reset_fields(subresource),
        blank=call.type.strategy.blank(),
    )
    obj = _read(call, result.object)
    set_entries(obj, result.managed_fields)
    _check_identity(call, obj, record)
    check_namespace(call, obj["metadata"])
    if record is None:
        obj["metadata"].pop("resourceVersion", None)
        return create_object(call, obj, applied=True), True
    # Empty maps and lists are not stored, so a custom resource with such metadata always differs.
    applied_meta = result.object["metadata"]
    always = call.type.custom and any(applied_meta.get(field) in ({}, []) for field in _COLLECTIONS)
    return update(call, record, obj, subresource, applied=True, always=always), False


def _check_kind(call: Call, applied: Json) -> None:
    kind = applied.get("kind")
    if not kind or not isinstance(kind, str):
        raise bad_request("error decoding YAML: Object 'Kind' is missing")
    if kind != call.type.kind.kind:
        raise bad_request(
            f"invalid object type: {applied.get('apiVersion')}, Kind={kind}, expected {call.type.kind.kind}"
        )


def read_configuration(call: Call) -> Json:
    """Return the configuration in the body; raise a 422 without a field manager."""
    if not call.field_manager:
        raise options_failure(
            "PatchOptions", [required("fieldManager", "is required for apply patch")]
        )
    text = read_body(call)
    if _SURROGATE.search(text):
        raise bad_request(
            "error decoding YAML: error converting YAML to JSON: yaml: found invalid Unicode character "
            "escape code"
        )
    try:
        body = go_json.decode(text)
        duplicates: list[str] = []
        if duplicate_fields(text, body):
            _from_yaml(text, duplicates)  # the real server reads every body as YAML
    except ValueError:
        body = _from_yaml(text, duplicates := [])
    if not isinstance(body, dict):
        raise bad_request("error decoding YAML: cannot unmarshal into Go value of type map")
    problems = check_fields(call, (), duplicates)
    if problems:
        raise bad_request(f"error strict decoding YAML: {', '.join(problems)}")
    return body


def _from_yaml(text: bytes, duplicates: list[str]) -> Any:
    try:
        return parse_yaml(text, duplicates)
    except ValueError as error:
        raise bad_request(f"error decoding YAML: {error}") from None


def _read(call: Call, document: Json) -> Json:
    """Return the result of an apply as an object with defaults.

    The document already fits the schema, except for its metadata.
    """
    strategy = call.type.strategy
    try:
        obj: Json = strategy.read_applied(copy_json(document))
    except DecodeError as error:
        raise internal(f"failed to convert new object to proper version: {error}") from None
    strategy.default(obj)
    return obj


def _check_identity(call: Call, obj: Json, record: Record | None) -> None:
    kind, meta = call.type.kind, obj["metadata"]
    if record is None and meta.get("uid"):
        raise conflict(
            kind.plural,
            kind.group,
            call.route.name,
            f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing object was found",
        )
    check_name(call, meta)
