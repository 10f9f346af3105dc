"""The service account controller: every namespace has a ``default`` ServiceAccount."""

from myrmidon.api.objects.accessors import Json, is_deleting, name_of, namespace_of
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.followers import Follower
from myrmidon.apiserver.actors.objects import CONTROLLER_MANAGER
from myrmidon.apiserver.store import StoredChange

_ACCOUNTS = "serviceaccounts"
_DEFAULT = "default"


class ServiceAccounts(Follower):
    """Creates the ``default`` ServiceAccount of each namespace, and again after it was deleted."""

    resource, kind, api_version = "namespaces", "Namespace", "v1"
    watched = (_ACCOUNTS,)

    def observe(self, change: StoredChange) -> None:
        """Mark a namespace as dirty if it changed or lost its default ServiceAccount."""
        if change.resource != _ACCOUNTS:
            super().observe(change)
        elif change.deleted and name_of(change.record.value) == _DEFAULT:
            self._dirty[namespace_of(change.record.value)] = None

    def reconcile(self, server: ServerAccess, obj: Json) -> None:
        """Create the ServiceAccount, unless it exists or the namespace is being deleted."""
        name = name_of(obj)
        if is_deleting(obj) or server.store.get(_ACCOUNTS, f"{name}/{_DEFAULT}") is not None:
            return
        account = {"metadata": {"name": _DEFAULT}}
        path = f"/api/v1/namespaces/{name}/{_ACCOUNTS}"
        server.request("POST", path, account, user=CONTROLLER_MANAGER)
