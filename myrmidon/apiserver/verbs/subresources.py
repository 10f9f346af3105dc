"""Subresources that are actions: bind a pod to a node, evict a pod, request a token."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, split_api_version
from myrmidon.api.requests.transport import HttpResponse
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.admission.steps import run_mutating, run_validating
from myrmidon.apiserver.auth.account_tokens import BOUND, ISSUER
from myrmidon.apiserver.builtin.decoding import DecodingError, decode
from myrmidon.apiserver.catalog.types import schema_of
from myrmidon.apiserver.golang.text import quote
from myrmidon.apiserver.refusals.causes import invalid
from myrmidon.apiserver.refusals.failures import (
    bad_request,
    conflict,
    internal,
    invalid_object,
    not_found,
)
from myrmidon.apiserver.requests.call import Call, PendingWrite
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.schema.defaulting import copy_json
from myrmidon.apiserver.verbs.bodies import read_object
from myrmidon.apiserver.verbs.containers import connect, log, proxy
from myrmidon.apiserver.verbs.create import check_namespace, commit
from myrmidon.apiserver.verbs.eviction import evict
from myrmidon.apiserver.verbs.options import read_write_options
from myrmidon.apiserver.wire.negotiation import encode, negotiate

_BINDING = Kind("", "v1", "Binding", "bindings")
_EVICTION = Kind("policy", "v1", "Eviction", "evictions")
_TOKEN_REQUEST = Kind("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests")
_TOKEN_SECONDS = 3600
_TOKEN_SECONDS_MIN, _TOKEN_SECONDS_MAX = 600, 2**32
_SUCCESS: Json = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


def action(call: Call) -> Callable[[Call], HttpResponse] | None:
    """Return the function for an action subresource, or None for any other subresource."""
    route = call.route
    return _ACTIONS.get((route.verb, route.plural, route.subresource))


def _body(call: Call, kind: Kind) -> Json:
    """Return the body of a request, which is of another kind than the resource."""
    body, _ = read_object(call, kind)
    try:
        return decode(body, schema_of(kind)).object
    except DecodingError as error:
        text = (
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {error}'
        )
        raise bad_request(text) from None


def _named_body(call: Call, kind: Kind) -> Json:
    """Return the body of a request, which must have the name of the object."""
    body = _body(call, kind)
    if body["metadata"].get("name") != call.route.name:
        raise bad_request(f"name in URL does not match name in {kind.kind} object")
    check_namespace(call, body["metadata"])
    return body


def _admitted(call: Call, kind: Kind, body: Json) -> Json:
    """Run the admission steps for a body of another kind; return it as they left it."""
    body = {**body, "apiVersion": kind.api_version, "kind": kind.kind}
    subresource = call.route.subresource
    body = run_mutating(PendingWrite(call, "CREATE", body, None, subresource, kind)) or body
    run_validating(PendingWrite(call, "CREATE", body, None, subresource, kind))
    return body


def _created(call: Call, answer: Json) -> HttpResponse:
    form = negotiate(call.request.headers.get("accept", ""), call.route.verb, custom=False)
    return HttpResponse(201, (("content-type", form.content_type),), encode(form, answer))


def _bind(call: Call) -> HttpResponse:
    """Assign a pod to a node, as a scheduler does."""
    read_write_options(call, "CreateOptions")
    binding = _admitted(call, _BINDING, _named_body(call, _BINDING))
    target = binding.get("target") or {}
    if target.get("kind") not in (None, "", "Node"):
        known = 'supported values: "Node", "<empty>"'
        raise internal(f"target.kind: Unsupported value: {quote(target['kind'])}: {known}")
    node = target.get("name")
    if not node:
        raise internal("target.name: Required value")
    record = call.stored()
    pod: Json = copy_json(representation.shown(call.type, record))
    if pod["metadata"].get("deletionTimestamp"):
        raise call.conflict(f"pod {call.route.name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        present = pod["spec"]["nodeName"]
        raise call.conflict(
            f'pod {call.route.name} is already assigned to node "{present}"', call.route.name
        )
    pod["spec"]["nodeName"] = node
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": call.timestamp,
    }
    conditions = pod.setdefault("status", {}).get("conditions") or []
    others = [each for each in conditions if each["type"] != "PodScheduled"]
    pod["status"]["conditions"] = [*others, scheduled]
    commit(call, record.key, pod)
    return _created(call, _SUCCESS)


def _evict(call: Call) -> HttpResponse:
    """Evict a pod, if its disruption budget allows it."""
    read_write_options(call, "CreateOptions")
    eviction = _admitted(call, _EVICTION, _named_body(call, _EVICTION))
    options: dict[str, Any] = eviction.get("deleteOptions") or {}
    call.dry_run = call.dry_run or bool(options.get("dryRun"))
    evict(call, options)
    return _created(call, _SUCCESS)


def _token_seconds(wanted: int | None) -> int:
    if wanted is None:
        return _TOKEN_SECONDS
    if wanted < _TOKEN_SECONDS_MIN:
        problem = "may not specify a duration less than 10 minutes"
    elif wanted > _TOKEN_SECONDS_MAX:
        problem = "may not specify a duration larger than 2^32 seconds"
    else:
        return wanted
    cause = invalid("spec.expirationSeconds", wanted, problem)
    raise invalid_object(_TOKEN_REQUEST.kind, _TOKEN_REQUEST.group, "", [cause])


def _bound_object(call: Call, wanted: Json | None) -> Json | None:
    """Return the object that a token is to be bound to, or None; it must exist."""
    if not wanted or not wanted.get("name"):
        return None
    kind, name = wanted.get("kind", ""), wanted["name"]
    if kind not in BOUND:
        group, version = split_api_version(wanted.get("apiVersion", ""))
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    found = call.core.accounts.bound_object(kind, call.route.namespace, name)
    if found is None:
        raise not_found(BOUND[kind], "", name)
    account = (found.get("spec") or {}).get("serviceAccountName") or "default"
    if kind == "Pod" and account != call.route.name:
        raise bad_request(
            f"cannot bind token for serviceaccount {quote(call.route.name)} to pod running with "
            "different serviceaccount name."
        )
    if wanted.get("uid") and wanted["uid"] != found["metadata"]["uid"]:
        raise conflict(
            kind,
            "",
            name,
            f"the UID in the bound object reference ({wanted['uid']}) does not match the UID in "
            "record. The object might have been deleted and then recreated",
        )
    return found


def _token(call: Call) -> HttpResponse:
    """Return a signed token for a service account."""
    read_write_options(call, "CreateOptions")
    body = _body(call, _TOKEN_REQUEST)
    check_namespace(call, body["metadata"])
    body = _admitted(call, _TOKEN_REQUEST, body)
    name = body["metadata"].get("name")
    if name and name != call.route.name:
        problem = "must match the service account name if specified"
        cause = invalid("metadata.name", name, problem)
        raise invalid_object(_TOKEN_REQUEST.kind, _TOKEN_REQUEST.group, call.route.name, [cause])
    account = representation.shown(call.type, call.stored())
    spec: dict[str, Any] = body.get("spec") or {}
    seconds = _token_seconds(spec.get("expirationSeconds"))
    audiences = spec.get("audiences") or [ISSUER]
    expires = call.draws.now + timedelta(seconds=seconds)
    token = call.core.accounts.issue(
        account,
        audiences,
        since=call.draws.now,
        until=expires,
        token_id=call.draws.uid(),
        bound=_bound_object(call, spec.get("boundObjectRef")),
    )
    answer = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": call.route.name,
            "namespace": call.route.namespace,
            "uid": account["metadata"]["uid"],
            "creationTimestamp": call.timestamp,
        },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": spec.get("boundObjectRef"),
        },
        "status": {"token": token, "expirationTimestamp": write_time(expires)},
    }
    return _created(call, answer)


_ACTIONS: Mapping[tuple[str, str, str], Callable[[Call], HttpResponse]] = {
    ("create", "pods", "binding"): _bind,
    ("create", "pods", "eviction"): _evict,
    ("create", "serviceaccounts", "token"): _token,
    ("get", "pods", "log"): log,
    **{
        (verb, "pods", subresource): connect
        for verb in ("create", "get")
        for subresource in ("attach", "exec", "portforward")
    },
    **{
        (verb, plural, "proxy"): proxy
        for verb in ("create", "delete", "get", "patch", "update")
        for plural in ("nodes", "pods", "services")
    },
}
