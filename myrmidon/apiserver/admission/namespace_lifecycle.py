"""Refuse objects in missing or terminating namespaces, and the deletion of system namespaces."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals.failures import Failure, StatusCause, not_found
from myrmidon.apiserver.requests.call import PendingWrite

_PROTECTED = frozenset({"default", "kube-system", "kube-public"})


class NamespaceLifecycle:
    """The admission step for namespaces, like the plugin of that name in the real server."""

    def admit(self, admission: PendingWrite) -> Json | None:
        """Refuse a create if the namespace does not exist or is being deleted.

        Refuse to delete the namespaces that every cluster needs.
        """
        call = admission.call
        if admission.operation == "DELETE" and call.type.stored_as == "namespaces":
            _protect(admission)
        if admission.operation != "CREATE" or not call.type.kind.namespaced:
            return None
        name = call.route.namespace
        record = call.core.store.get("namespaces", name)
        if record is None:
            raise not_found("namespaces", "", name)
        if record.value["metadata"].get("deletionTimestamp"):
            raise _terminating(admission, name)
        return None

    def check(self, admission: PendingWrite) -> None:
        """Do nothing."""


def _protect(admission: PendingWrite) -> None:
    assert admission.old is not None, "a delete has an old object"
    name = admission.old["metadata"]["name"]
    if name in _PROTECTED:
        raise Failure(
            403,
            "Forbidden",
            f'namespaces "{name}" is forbidden: this namespace may not be deleted',
            kind="namespaces",
            name=name,
        )


def _terminating(admission: PendingWrite, namespace: str) -> Failure:
    cause = StatusCause(
        "metadata.namespace", "NamespaceTerminating", f"namespace {namespace} is being terminated"
    )
    return admission.forbidden(
        f"unable to create new content in namespace {namespace} because it is being terminated",
        [cause],
    )
