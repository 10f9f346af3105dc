"""Refuse objects in missing or terminating namespaces, and the deletion of system namespaces."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.call import PendingWrite
from myrmidon.apiserver.failures import Failure, StatusCause, not_found

_PROTECTED = frozenset({"default", "kube-system", "kube-public"})


class NamespaceLifecycle:
    """The admission step for namespaces, like the plugin of that name in the real server."""

    def admit(self, admission: PendingWrite) -> Json | None:
        """Refuse a create if the namespace does not exist or is being deleted."""
        call = admission.call
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
        """Refuse to delete the namespaces that every cluster needs."""
        call = admission.call
        if admission.operation != "DELETE" or call.type.stored_as != "namespaces":
            return
        assert admission.old is not None
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
    kind = admission.call.type.kind
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    assert admission.obj is not None
    name = admission.obj["metadata"].get("name", "")
    return Failure(
        403,
        "Forbidden",
        f'{resource} "{name}" is forbidden: unable to create new content in namespace {namespace} '
        "because it is being terminated",
        group=kind.group,
        kind=kind.plural,
        name=name,
        causes=[
            StatusCause(
                "metadata.namespace",
                "NamespaceTerminating",
                f"namespace {namespace} is being terminated",
            )
        ],
    )
