"""Subresources that are actions: bind a pod to a node, evict a pod, request a token."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.api.requests.transport import HttpResponse
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.builtin.decoding import DecodingError, decode
from myrmidon.apiserver.call import Call
from myrmidon.apiserver.catalog.types import schema_of
from myrmidon.apiserver.causes import invalid
from myrmidon.apiserver.failures import bad_request, internal, invalid_object
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.golang.text import quote
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.schema.defaulting import copy_json
from myrmidon.apiserver.verbs.bodies import read_object
from myrmidon.apiserver.verbs.containers import connect, log, proxy
from myrmidon.apiserver.verbs.create import check_namespace, commit
from myrmidon.apiserver.verbs.delete import DeleteOptions, delete_record
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


def _created(call: Call, answer: Json) -> HttpResponse:
    form = negotiate(call.request.headers.get("accept", ""), call.route.verb, custom=False)
    return HttpResponse(201, (("content-type", form.content_type),), encode(form, answer))


def _bind(call: Call) -> HttpResponse:
    """Assign a pod to a node, as a scheduler does."""
    read_write_options(call, "CreateOptions")
    target = _named_body(call, _BINDING).get("target") or {}
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
    """Evict a pod.  Disruption budgets are not enforced."""
    read_write_options(call, "CreateOptions")
    options: dict[str, Any] = _named_body(call, _EVICTION).get("deleteOptions") or {}
    wanted = options.get("preconditions") or {}
    how = DeleteOptions(
        grace_seconds=options.get("gracePeriodSeconds"),
        uid=wanted.get("uid"),
        version=wanted.get("resourceVersion"),
    )
    delete_record(call, call.stored(), how)
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


def _token(call: Call) -> HttpResponse:
    """Return a token for a service account.  It names the account and is not signed."""
    read_write_options(call, "CreateOptions")
    body = _body(call, _TOKEN_REQUEST)
    account = representation.shown(call.type, call.stored())
    spec: dict[str, Any] = body.get("spec") or {}
    seconds = _token_seconds(spec.get("expirationSeconds"))
    claims = {
        "sub": f"system:serviceaccount:{call.route.namespace}:{call.route.name}",
        "uid": account["metadata"]["uid"],
        "jti": call.draws.uid(),
    }
    payload = urlsafe_b64encode(go_json.encode(claims)).decode().rstrip("=")
    expires = call.draws.now + timedelta(seconds=seconds)
    answer = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": call.route.name,
            "namespace": call.route.namespace,
            "creationTimestamp": call.timestamp,
        },
        "spec": {
            "audiences": spec.get("audiences") or ["https://kubernetes.default.svc"],
            "expirationSeconds": seconds,
            "boundObjectRef": spec.get("boundObjectRef"),
        },
        "status": {
            "token": f"e30.{payload}.unsigned",
            "expirationTimestamp": write_time(expires),
        },
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
