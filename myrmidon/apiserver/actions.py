"""Subresources that are acts: binding a pod to a node, evicting it, asking for a token, logs."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind
from myrmidon.api.wire import HttpResponse
from myrmidon.apiserver import encoding, views
from myrmidon.apiserver.bodies import read_object
from myrmidon.apiserver.call import Call
from myrmidon.apiserver.creating import commit
from myrmidon.apiserver.deleting import DeleteOptions, delete_record
from myrmidon.apiserver.failures import bad_request
from myrmidon.apiserver.options import read_write_options
from myrmidon.apiserver.schema.defaulting import copy_json
from myrmidon.apiserver.seams import timestamp
from myrmidon.apiserver.store import Record

_BINDING = Kind("", "v1", "Binding", "bindings")
_EVICTION = Kind("policy", "v1", "Eviction", "evictions")
_TOKEN_REQUEST = Kind("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests")
_TOKEN_SECONDS = 3600
_SUCCESS: Json = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
_JSON = (("content-type", "application/json"),)
_TEXT = (("content-type", "text/plain"),)


def action(call: Call) -> Callable[[Call], HttpResponse] | None:
    """What a request to a subresource does, if it is an act."""
    route = call.route
    return _ACTIONS.get((route.verb, route.plural, route.subresource))


def _record(call: Call) -> Record:
    record = call.core.store.get(call.type.stored_as, call.key)
    if record is None:
        raise call.not_found()
    return record


def _bind(call: Call) -> HttpResponse:
    """A scheduler has found a node for a pod."""
    read_write_options(call, "CreateOptions")
    body, _ = read_object(call, _BINDING)
    record = _record(call)
    node = (body.get("target") or {}).get("name")
    if not isinstance(node, str) or not node:
        raise bad_request("Binding in version v1 has no target")
    pod: Json = copy_json(views.shown(call.type, record))
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
    return HttpResponse(201, _JSON, encoding.encode(_SUCCESS))


def _evict(call: Call) -> HttpResponse:
    """Somebody wants a pod to go; no budget stands in the way here."""
    read_write_options(call, "CreateOptions")
    body, _ = read_object(call, _EVICTION)
    options: dict[str, Any] = body.get("deleteOptions") or {}
    delete_record(
        call, _record(call), DeleteOptions(grace_seconds=options.get("gracePeriodSeconds"))
    )
    return HttpResponse(201, _JSON, encoding.encode(_SUCCESS))


def _token(call: Call) -> HttpResponse:
    """A token for a service account.  It names the account, and nobody checks its signature."""
    read_write_options(call, "CreateOptions")
    body, _ = read_object(call, _TOKEN_REQUEST)
    account = views.shown(call.type, _record(call))
    spec: dict[str, Any] = body.get("spec") or {}
    seconds = spec.get("expirationSeconds") or _TOKEN_SECONDS
    claims = {
        "sub": f"system:serviceaccount:{call.route.namespace}:{call.route.name}",
        "uid": account["metadata"]["uid"],
        "jti": call.draws.uid(),
    }
    payload = urlsafe_b64encode(encoding.encode(claims)).decode().rstrip("=")
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
            "expirationTimestamp": timestamp(expires),
        },
    }
    return HttpResponse(201, _JSON, encoding.encode(answer))


def _log(call: Call) -> HttpResponse:
    """Nothing runs, so nothing is said."""
    _record(call)
    return HttpResponse(200, _TEXT)


_ACTIONS: Mapping[tuple[str, str, str], Callable[[Call], HttpResponse]] = {
    ("create", "pods", "binding"): _bind,
    ("create", "pods", "eviction"): _evict,
    ("create", "serviceaccounts", "token"): _token,
    ("get", "pods", "log"): _log,
}
