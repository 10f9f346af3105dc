"""Subresources that reach into containers: logs, commands, ports.

Nothing runs behind this server.  A pod that waits for a node is answered as by the real server; of
one that is said to run, because a stand-in for kubelets says so, people are told the truth.
"""

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpResponse
from myrmidon.apiserver.call import Call
from myrmidon.apiserver.failures import Failure, bad_request
from myrmidon.apiserver.resources import representation

_TEXT = (("content-type", "text/plain"),)
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def log(call: Call) -> HttpResponse:
    """What a container has printed: nothing, as long as it waits."""
    pod = _pod(call)
    if not _waits(pod):
        raise _nothing_runs(f"pod {call.route.name} has no logs")
    return HttpResponse(200, _TEXT)


def connect(call: Call) -> HttpResponse:
    """A command in a container, or a port of one."""
    if _waits(_pod(call)):
        raise bad_request(f"pod {call.route.name} does not have a host assigned")
    raise _nothing_runs(f"{call.route.subresource} of pod {call.route.name} is not possible")


def proxy(call: Call) -> HttpResponse:
    """A request to a pod, a service or a node."""
    call.stored()
    raise _nothing_runs(f"{call.type.kind.kind} {call.route.name} cannot be reached")


def _nothing_runs(what: str) -> Failure:
    """501: kubectl prints the text as it is."""
    return Failure(501, "", f"{what}: no containers run behind this API server", details=False)


def _pod(call: Call) -> Json:
    """The pod, once it is known which of its containers is meant."""
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


def _waits(pod: Json) -> bool:
    phase = (pod.get("status") or {}).get("phase", "")
    return not pod["spec"].get("nodeName") and phase in ("", "Pending")
