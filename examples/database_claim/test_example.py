"""Tests of DatabaseClaims against a service over HTTP, on the embedded server and on a real one.

The service answers over real connections, so these tests run in real time: the embedded server is
a process of its own here, and not the one inside the harness.
"""

import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from examples.database_claim.controller import (
    DatabaseClaim,
    DatabaseClaims,
    DatabaseClaimSpec,
    DatabaseClass,
    DatabaseClassSpec,
)
from examples.database_claim.service import DatabaseService
from myrmidon import kinds
from myrmidon.testing import Cluster
from myrmidon.testing.pytest_plugin import MakeCluster

SECRET = "orders-database"


@pytest.fixture(params=["embedded", pytest.param("cluster", marks=pytest.mark.cluster)])
def myrmidon_kubeconfig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return the kubeconfig of a server of its own process: `myrmidon server`, or a real one."""
    if request.param == "cluster":
        yield request.getfixturevalue("real_kubeconfig")
        return
    file = tmp_path / "kubeconfig"
    command = [sys.executable, "-m", "myrmidon", "server", "--port", "0"]
    with subprocess.Popen(
        [*command, "--kubeconfig-out", str(file)], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()  # it listens
        yield file
        server.terminate()


@pytest.fixture
def service() -> DatabaseService:
    """Make a service without databases."""
    return DatabaseService()


@pytest.fixture
def cluster(harness: MakeCluster, service: DatabaseService) -> Iterator[Cluster]:
    """Run the controller, with a class that names the service."""
    with service.serving() as address:
        cluster = harness(DatabaseClaims())
        spec = DatabaseClassSpec(service=address)
        cluster.apply(DatabaseClass(name="small", spec=spec))
        yield cluster
        cluster.close()


def claim(**spec: Any) -> DatabaseClaim:
    """Build a claim of the class."""
    return DatabaseClaim(name="orders", spec=DatabaseClaimSpec(class_name="small", **spec))


def test_a_claim_gets_a_database_and_a_secret(cluster: Cluster, service: DatabaseService) -> None:
    """The version that the service chose is written to the claim; a converged claim writes nothing."""
    cluster.apply(claim(size=5))
    cluster.settle()

    assert cluster.ready(DatabaseClaim, "orders")
    made = cluster.require(DatabaseClaim, "orders")
    assert (made.status.host, made.spec.version) == ("db-1.databases.example.com", "17.2")
    assert made.status.externals["database"]["id"] == "db-1"
    assert service.databases["db-1"]["size"] == 5
    cluster.at_rest()


def test_the_password_never_changes(cluster: Cluster, service: DatabaseService) -> None:
    """It survives changes of the claim and a restart.

    The copy in another namespace has the same.
    """
    apps = cluster.add_namespace("apps")
    cluster.apply(claim(copy_to=apps))
    cluster.settle()
    password = cluster.require(kinds.SECRET, SECRET)["data"]["password"]
    digest = sha256(b64decode(password)).hexdigest()

    cluster.patch(DatabaseClaim, "orders", {"spec": {"size": 7}})
    cluster.settle()
    cluster.restart()
    cluster.settle()
    assert cluster.require(kinds.SECRET, SECRET)["data"]["password"] == password
    assert cluster.require(kinds.SECRET, SECRET, apps)["data"]["password"] == password
    assert (service.databases["db-1"]["size"], service.databases["db-1"]["digest"]) == (7, digest)

    cluster.patch(DatabaseClaim, "orders", {"spec": {"copyTo": None}})
    cluster.settle()
    assert cluster.get(kinds.SECRET, SECRET, apps) is None


@pytest.mark.parametrize("when", ["before", "after"])
def test_lost_answers_make_no_second_database(
    cluster: Cluster, service: DatabaseService, when: str
) -> None:
    """Each kind of request loses one response, before or after the service has acted."""
    service.lose = [f"{method} {when}" for method in ("POST", "PATCH", "DELETE")]
    cluster.apply(claim())
    cluster.settle()
    cluster.patch(DatabaseClaim, "orders", {"spec": {"size": 3}})
    cluster.settle()
    assert [one["size"] for one in service.databases.values()] == [3]

    cluster.delete(DatabaseClaim, "orders")
    cluster.settle()
    assert cluster.get(DatabaseClaim, "orders") is None
    assert service.lose == []
    assert (service.databases, service.created) == ({}, 1)


def test_a_refusal_is_reported_and_the_claim_can_be_deleted(cluster: Cluster) -> None:
    """The condition says what the service said."""
    cluster.apply(claim(size=101))
    cluster.settle()
    said = cluster.condition(DatabaseClaim, "orders", "Provisioned")
    assert said is not None
    assert (said.reason, said.message) == ("ServiceRefused", "at most 100 GiB")

    cluster.delete(DatabaseClaim, "orders")
    cluster.settle()
    assert cluster.get(DatabaseClaim, "orders") is None
