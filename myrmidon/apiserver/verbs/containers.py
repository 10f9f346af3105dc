"""Subresources that need a running container: log, exec, attach, portforward, proxy.

No containers run behind this server.  A pod that waits for a node gets the responses of the real
server.  For a pod that counts as running, because a stand-in for the kubelet set its status, the
response is a 501 with the reason.
"""

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpResponse
from myrmidon.apiserver.refusals.failures import Failure, bad_request
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.resources import representation

_TEXT = (("content-type", "text/plain"),)
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def log(call: Call) -> HttpResponse:
    """Return the empty log of a pod that is pending.  Raise a 501 for any other pod."""
    pod = _pod(call)
    if not _is_pending(pod):
        raise _nothing_runs(f"pod {call.route.name} has no logs")
    return HttpResponse(200, _TEXT)


def connect(call: Call) -> HttpResponse:
    """Refuse exec, attach and portforward: a 400 for a pod without a node, a 501 for any other."""
    if _is_pending(_pod(call)):
        raise bad_request(f"pod {call.route.name} does not have a host assigned")
    raise _nothing_runs(f"{call.route.subresource} of pod {call.route.name} is not possible")


def proxy(call: Call) -> HttpResponse:
    """Refuse to proxy to a pod, a service or a node, with a 501."""
    call.stored()
    raise _nothing_runs(f"{call.type.kind.kind} {call.route.name} cannot be reached")


def _nothing_runs(what: str) -> Failure:
    """Return a 501, whose message kubectl prints unchanged."""
    return Failure(501, "", f"{what}: no containers run behind this API server", details=False)


def _pod(call: Call) -> Json:
    """Return the pod, after a check of the ``container`` parameter."""
    pod = representation.shown(call.type, call.stored())
    if call.route.subresource != "portforward":
        _check_container(pod, call.route.name, call.query.get("container", ""))
    return pod


def _check_container(pod: Json, name: str, wanted: str) -> None:
    spec = pod["spec"]
    known = [each["name"] for field in _CONTAINERS for each in spec.get(field) or ()]
    if wanted and wanted not in known:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    if not wanted and len(spec["containers"]) > 1:
        raise bad_request(
            f"a container name must be specified for pod {name}, choose one of: [{' '.join(known)}]"
        )


def _is_pending(pod: Json) -> bool:
    phase = (pod.get("status") or {}).get("phase", "")
    return not pod["spec"].get("nodeName") and phase in ("", "Pending")
