"""Sharded lists and watches of the real server, with and without its feature gate.

The checks are those that the embedded server passes, so the two agree.
"""

import json
from collections.abc import Iterator
from http.client import HTTPSConnection
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.apiserver.verbs.shard_facts import CHECKS, DEFINITION, Answer, Shards, read_body
from tests.cluster.controlplane.binaries import UnavailableError, find
from tests.cluster.controlplane.client import Client
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Real:
    """Sends requests to a control plane."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def ask(
        self, method: str, path: str, query: dict[str, str], body: Any = None, accept: str = ""
    ) -> Answer:
        """Send a request; a watch is read until the server ends it."""
        client = self.client
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {
            "Authorization": f"Bearer {client.token}",
            "Accept": accept or "application/json",
            "Content-Type": media,
        }
        connection = HTTPSConnection("127.0.0.1", client.port, timeout=30, context=client._context)
        text = None if body is None else json.dumps(body)
        try:
            connection.request(method, f"{path}?{urlencode(query)}", text, headers)
            answer = connection.getresponse()
            return Answer(answer.status, read_body(answer.read(), is_watch="watch" in query))
        finally:
            connection.close()


@pytest.fixture(scope="module", params=[False, True], ids=["off", "on"])
def shards(request: pytest.FixtureRequest) -> Iterator[Shards]:
    """The checks of a control plane of its own, because a feature gate is set when it starts."""
    try:
        binaries = find()
    except UnavailableError as error:
        pytest.skip(str(error))
    flags = {"feature_gates": "ShardedListAndWatch=true"} if request.param else {}
    with ControlPlane(binaries, apiserver_flags=flags) as plane:
        client = plane.client()
        assert client.post(DEFINITIONS, DEFINITION).status == 201
        wait_until(
            lambda: client.status("/apis/shards.example.com/v1/widgets") == 200, "Widgets", 30
        )
        found = Shards(Real(client), gate=request.param)
        found.prepare()
        yield found


def test_sharded_lists_and_watches(shards: Shards) -> None:
    """The facts hold, with the feature gate and without it."""
    for check in CHECKS:
        check(shards)
