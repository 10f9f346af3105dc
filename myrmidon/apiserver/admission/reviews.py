"""AdmissionReviews: what a webhook is asked, and whether its reply is acceptable.

``review_request`` describes a write as the real server does; policies see the same description as the
variable ``request``.  ``accepted`` checks a reply: the uid must be that of the question, the types of
its fields must fit, only a mutating webhook may return a patch.  Its errors have the texts of the real
server.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.golang.text import quote
from myrmidon.apiserver.golang.types import json_kind
from myrmidon.apiserver.requests.call import PendingWrite
from myrmidon.apiserver.resources.registry import ResourceType

GROUP, KIND = "admission.k8s.io", "AdmissionReview"
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
_REGISTERED = ("v1", "v1beta1")


class ReviewError(ValueError):
    """A webhook could not be called, or its reply is not acceptable; the text is the real server's."""


class Verdict(NamedTuple):
    """The checked response of a webhook.  ``patch`` is None without one."""

    allowed: bool
    status: Json
    warnings: list[str]
    patch: bytes | None
    patch_type: str


# ------------------------------------------------------------------------- the question


def review_request(admission: PendingWrite, seen_as: ResourceType) -> Json:
    """Return the description of a write, without uid and objects."""
    call = admission.call
    own, seen = admission.kind or call.type.kind, admission.kind or seen_as.kind
    request: Json = {
        "kind": _kind(seen),
        "resource": _resource(seen_as.kind),
        "subResource": admission.subresource,
        "requestKind": _kind(own),
        "requestResource": _resource(call.type.kind),
        "requestSubResource": admission.subresource,
        "name": admission.name,
        "namespace": admission.namespace,
        "operation": admission.operation,
        "userInfo": user_info(admission),
        "dryRun": call.dry_run,
        "options": options_of(admission),
    }
    return {key: value for key, value in request.items() if value != ""}


def _kind(kind: Kind) -> Json:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(kind: Kind) -> Json:
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}


def user_info(admission: PendingWrite) -> Json:
    """Return the user of the request, without empty fields."""
    user = admission.call.user
    info: Json = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra},
    }
    return {key: value for key, value in info.items() if value}


def options_of(admission: PendingWrite) -> Json:
    """Return the options of the write.  A patch has those of the create or update that it becomes."""
    call = admission.call
    options: Json = {"kind": _OPTIONS[admission.operation], "apiVersion": "meta.k8s.io/v1"}
    if admission.operation == "DELETE":
        return options | (call.delete_options or {})
    dry_run = [value for key, value in call.request.query if key == "dryRun"]
    options |= {"dryRun": dry_run} if dry_run else {}
    for name in ("fieldManager", "fieldValidation"):
        if call.query.get(name):
            options[name] = call.query[name]
    return options


def review_of(request: Json, uid: str, version: str) -> Json:
    """Return the review that is sent to a webhook."""
    return {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{version}",
        "request": {"uid": uid, **request},
    }


def allowing(question: Mapping[str, Any]) -> Json:
    """Return a reply that allows the write."""
    review = question["review"]
    response = {"uid": review["request"]["uid"], "allowed": True}
    return {"kind": KIND, "apiVersion": review["apiVersion"], "response": response}


# ------------------------------------------------------------------------- the reply


def accepted(reply: Any, uid: str, version: str, *, mutating: bool) -> Verdict:
    """Return the response in a reply; raise ``ReviewError``."""
    try:
        response = _decoded(reply, version)
    except ReviewError as error:
        raise ReviewError(f"failed to call webhook: {error}") from None
    problem = _problem(reply, response, uid, version, mutating=mutating)
    if problem:
        raise ReviewError(f"received invalid webhook response: {problem}")
    assert response is not None, "without a response there is a problem"
    patch = response.get("patch") or None
    patch_type = response.get("patchType") or ""
    return Verdict(
        bool(response.get("allowed")),
        response.get("status") or {},
        response.get("warnings") or [],
        b64decode(patch) if patch and mutating else None,
        patch_type if version == "v1" else "JSONPatch",
    )


def _decoded(reply: Any, version: str) -> Json | None:
    """Return the response as Go decodes it, None if there is none; raise if a type does not fit."""
    if reply is None:
        return None
    if not isinstance(reply, Mapping):
        raise ReviewError(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {json_kind(reply)} "
            'into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
            'Kind string "json:\\"kind,omitempty\\"" }'
        )
    if reply.get("error"):
        raise ReviewError(str(reply["error"]))
    api_version, kind = str(reply.get("apiVersion") or ""), str(reply.get("kind") or "")
    said = api_version.removeprefix(f"{GROUP}/")
    is_known = kind == KIND and api_version.startswith(f"{GROUP}/") and said in _REGISTERED
    if (api_version or kind) and not is_known:
        raise ReviewError(
            f"no kind {quote(kind)} is registered for version {quote(api_version)} in scheme "
            '"pkg/runtime/scheme.go:111"'
        )
    if is_known and said != version:
        raise ReviewError(f"converting ({said}.{KIND}) to ({version}.{KIND}): unknown conversion")
    response = reply.get("response")
    if response is None:
        return None
    if not isinstance(response, dict):
        raise _unfit(response, f"{KIND}.response", f"{version}.AdmissionResponse")
    _check_types(response)
    return response


def _check_types(response: Json) -> None:
    for name, (wanted, go_type) in _TYPES.items():
        value = response.get(name)
        if value is not None and type(value) is not wanted:
            raise _unfit(value, f"AdmissionResponse.response.{name}", go_type)
    for name in ("warnings", "auditAnnotations"):
        held = response.get(name) or ()
        for value in held.values() if isinstance(held, dict) else held:
            if not isinstance(value, str):
                raise _unfit(value, f"AdmissionResponse.response.{name}", "string")
    try:
        b64decode(response.get("patch") or "", validate=True)
    except Base64Error:
        raise ReviewError("illegal base64 data at input byte 0") from None


_TYPES: dict[str, tuple[type, str]] = {
    "uid": (str, "types.UID"),
    "allowed": (bool, "bool"),
    "status": (dict, "v1.Status"),
    "patch": (str, "[]uint8"),
    "patchType": (str, "v1.PatchType"),
    "auditAnnotations": (dict, "map[string]string"),
    "warnings": (list, "[]string"),
}


def _unfit(value: Any, field: str, go_type: str) -> ReviewError:
    return ReviewError(
        f"json: cannot unmarshal {json_kind(value)} into Go struct field {field} of type {go_type}"
    )


def _problem(reply: Any, response: Json | None, uid: str, version: str, *, mutating: bool) -> str:
    if response is None:
        return "webhook response was absent"
    if version != "v1":
        return ""  # replies of v1beta1 were never checked
    if response.get("uid", "") != uid:
        return f"expected response.uid={quote(uid)}, got {quote(response.get('uid') or '')}"
    if not reply.get("kind"):
        return f"expected webhook response of {GROUP}/v1, Kind={KIND}, got /, Kind="
    patch, patch_type = response.get("patch"), response.get("patchType")
    if not mutating:
        if patch:
            return "validating webhook may not return response.patch"
        return "" if patch_type is None else "validating webhook may not return response.patchType"
    if patch and patch_type is None:
        return "webhook returned response.patch but not response.patchType"
    if not patch and patch_type is not None:
        return "webhook returned response.patchType but not response.patch"
    return 'webhook returned invalid response.patchType of ""' if patch_type == "" else ""
