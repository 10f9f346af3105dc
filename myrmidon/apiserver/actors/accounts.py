"""The service account controller: every namespace has an account for those who name none."""

from myrmidon.api.objects.accessors import Json, is_deleting, name_of, namespace_of
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.followers import Follower
from myrmidon.apiserver.actors.objects import CONTROLLER_MANAGER
from myrmidon.apiserver.store import StoredChange

_ACCOUNTS = "serviceaccounts"
_DEFAULT = "default"


class ServiceAccounts(Follower):
    """Makes the ``default`` account of a namespace, and makes it again when it is deleted."""

    resource, kind, api_version = "namespaces", "Namespace", "v1"

    def observe(self, change: StoredChange) -> None:
        """Remember new namespaces, and those that have lost their account."""
        if change.resource != _ACCOUNTS:
            super().observe(change)
        elif change.deleted and name_of(change.record.value) == _DEFAULT:
            self._dirty[namespace_of(change.record.value)] = None

    def reconcile(self, server: ServerAccess, obj: Json) -> None:
        """Nothing can be made in a namespace that is going."""
        name = name_of(obj)
        if is_deleting(obj) or server.store.get(_ACCOUNTS, f"{name}/{_DEFAULT}") is not None:
            return
        account = {"metadata": {"name": _DEFAULT}}
        path = f"/api/v1/namespaces/{name}/{_ACCOUNTS}"
        server.request("POST", path, account, user=CONTROLLER_MANAGER)
