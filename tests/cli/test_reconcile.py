"""`myrmidon reconcile`: ask for a pass, and wait for its result."""

import argparse
from contextlib import asynccontextmanager
from typing import Any

import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.commands import reconcile
from myrmidon.cli.main import main
from myrmidon.fsm.metadata.reconcile_request import REQUESTED_AT
from myrmidon.generate import crd
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock
from myrmidon.testing import run
from tests.runtime.things import Thing

REF = ObjectRef(Thing.KIND, "it", "default")
READY = {"type": "Ready", "status": "True", "reason": "Ready", "observedGeneration": 1}
BROKEN = {**READY, "status": "False", "reason": "Broken", "message": "x"}


def server_with(**metadata: Any) -> ApiServer:
    """A server with one Thing."""
    server = ApiServer()
    assert not server.create(crd(Thing))
    made = Thing(name="it", namespace="default").to_json()
    made["metadata"].update(metadata)
    assert not server.create(made)
    return server


def ran(monkeypatch: pytest.MonkeyPatch, server: ApiServer, *arguments: str) -> int:
    """Run the command against a server in memory."""

    @asynccontextmanager
    async def reading(_args: argparse.Namespace) -> Any:
        yield Client(LocalTransport(server)), argparse.Namespace(namespace="default")

    monkeypatch.setattr(reconcile, "reading", reading)
    return main(["reconcile", *arguments])


def test_it_sets_the_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And says which; every time a new one."""
    server = server_with()
    tokens = []
    for _ in range(2):
        assert ran(monkeypatch, server, "thing", "it") == 0
        obj = server.store.scan("things.test.myrmidon.dev")[0].value
        tokens.append(obj["metadata"]["annotations"][REQUESTED_AT])
        said = capsys.readouterr().out
        assert said == f"Thing.test.myrmidon.dev default/it: requested a pass at {tokens[-1]}\n"
    assert tokens[0] != tokens[1]


def test_what_cannot_be_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An object that does not exist, and one that is suspended."""
    server = server_with(labels={"myrmidon.dev/suspend": "true"})
    assert ran(monkeypatch, server, "thing", "it") == 2
    assert "fix: remove its label myrmidon.dev/suspend" in capsys.readouterr().err
    assert ran(monkeypatch, server, "thing", "other") == 2
    assert "fix: `kubectl get things -A`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (
            {"lastHandledReconcileAt": "now", "conditions": [READY]},
            0,
            "the pass has finished: Ready",
        ),
        ({"conditions": [READY]}, 1, "no pass has finished in 30 s: is a controller running"),
        ({"lastHandledReconcileAt": "now", "conditions": [BROKEN]}, 1, "after 30 s: Broken: x"),
        ({"lastHandledReconcileAt": "now"}, 1, "it has no condition Ready"),
    ],
    ids=["ready", "silent", "broken", "bare"],
)
def test_waiting(status: Json, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """For the acknowledgement of this token and for Ready, and not without end."""
    server = server_with()
    path = "/apis/test.myrmidon.dev/v1/namespaces/default/things/it/status"
    merge = "application/merge-patch+json"
    assert server.request("PATCH", path, {"status": status}, content_type=merge).status == 200

    async def wait() -> int:
        client = Client(LocalTransport(server))
        return await reconcile.waited(client, REF, "now", LoopClock(), 30)

    assert run(wait()) == code
    assert said in capsys.readouterr().out
