"""Run controllers with exactly the rights of their generated role.

``Harness(..., run_as="generated-role")`` and ``myrmidon dev --as-serviceaccount`` switch RBAC
on, create what ``myrmidon generate rbac`` would write (ServiceAccount, roles, bindings, the role for
the Lease), and send the requests of the controllers as that ServiceAccount.  A right that the
generator left out makes the test fail with the server's 403, instead of the first pod in a cluster.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.auth.account_tokens import account_user
from myrmidon.apiserver.auth.users import User
from myrmidon.fsm.controller import Controller
from myrmidon.generate.manifests.rbac import binding, lease_role, roles
from myrmidon.runtime.leader.lease_record import default_lease_name

ACCOUNT = "controllers"


def service_account(namespace: str) -> User:
    """Return the user as which a pod with our ServiceAccount sends its requests."""
    return account_user(namespace, ACCOUNT)


def manifests(controllers: Iterable[Controller[Any]], namespace: str) -> Iterator[Json]:
    """Return the ServiceAccount, its roles and their bindings."""
    controllers = list(controllers)
    lease = default_lease_name([(each.name, each.kind().group) for each in controllers])
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": ACCOUNT, "namespace": namespace},
    }
    for role in (
        *roles(map(type, controllers), ACCOUNT),
        lease_role(ACCOUNT, namespace, lease),
    ):
        yield role
        yield binding(role, ACCOUNT, namespace)
