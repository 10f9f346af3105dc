"""At its start `myrmidon run` asks for every verb that its controllers need."""

import asyncio

import pytest

from myrmidon.apiserver.auth.users import AUTHENTICATED, User
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.rights_check import Right, missing_rights, needed
from myrmidon.generate import crd
from myrmidon.generate.manifests.rbac import roles
from myrmidon.io.access.kubeconfig import Endpoint
from myrmidon.io.client import Client
from myrmidon.io.http.transport import HttpTransport
from myrmidon.testing import run
from tests.runtime.things import Thing, Things

GUEST = User("guest", (AUTHENTICATED,))  # as every request with valid credentials


def asked(*, without: str = "", namespaces: tuple[str, ...] = ()) -> list[Right]:
    """The rights that a user lacks who has the generated role without one verb."""
    server = ApiServer(rbac=True)
    assert not server.create(crd(Thing))
    (role,) = roles([Things], "things")
    for rule in role["rules"]:
        rule["verbs"] = [verb for verb in rule["verbs"] if verb != without] or ["none"]
    assert not server.create(role)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "things"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "things",
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "guest"}],
    }
    assert not server.create(binding)
    client = Client(LocalTransport(server, user=GUEST))
    return run(missing_rights(client, needed([Things], namespaces)))


@pytest.mark.parametrize("namespaces", [(), ("default", "kube-system")])
def test_the_generated_role_lacks_nothing(namespaces: tuple[str, ...]) -> None:
    """Also if the process is limited to some namespaces."""
    assert asked(namespaces=namespaces) == []


@pytest.mark.parametrize("verb", ["list", "watch", "get", "create", "patch", "delete", "update"])
def test_every_verb_is_asked_for(verb: str) -> None:
    """Not only lists: a missing one is named with its resource."""
    missing = asked(without=verb)
    assert missing
    assert {right.verb for right in missing} == {verb}


def test_a_right_in_words() -> None:
    """As kubectl auth can-i takes it."""
    assert str(Right("", "", "secrets", "list")) == "list secrets"
    right = Right("shop", "demo.example.com", "webapps/status", "patch")
    assert str(right) == "patch webapps/status.demo.example.com in shop"


def test_a_server_that_cannot_be_asked_is_left_to_the_preflight() -> None:
    """It reports what is wrong with the server."""

    async def ask() -> list[Right]:
        client = Client(HttpTransport(Endpoint(server="http://127.0.0.1:1")))
        try:
            return await missing_rights(client, [Right("", "", "pods", "list")])
        finally:
            await client.close()

    assert asyncio.run(ask()) == []
