"""Requests of the actors: patch and delete an object as the kube-controller-manager."""

from myrmidon.api.objects.accessors import Json, ref_of
from myrmidon.api.requests.paths import object_path
from myrmidon.api.requests.transport import HttpResponse
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.auth.users import AUTHENTICATED, MASTERS, User
from myrmidon.apiserver.resources.registry import ResourceType

CONTROLLER_MANAGER = User("system:kube-controller-manager", (MASTERS, AUTHENTICATED))
MERGE = "application/merge-patch+json"


def path_of(resource_type: ResourceType, obj: Json) -> str:
    """Return the URL path of an object."""
    return object_path(ref_of(resource_type.kind, obj))


def patch(server: ServerAccess, path: str, changes: Json) -> HttpResponse:
    """Apply a JSON merge patch to an object."""
    return server.request("PATCH", path, changes, user=CONTROLLER_MANAGER, content_type=MERGE)


def delete(server: ServerAccess, path: str, uid: str, policy: str = "Background") -> HttpResponse:
    """Delete an object, with its uid as a precondition."""
    options: Json = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid},
        "propagationPolicy": policy,
    }
    return server.request("DELETE", path, options, user=CONTROLLER_MANAGER)
