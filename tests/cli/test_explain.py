"""`myrmidon explain --process`: why the last pass ran, from the memory of its process."""

import asyncio
import re
from datetime import timedelta
from pathlib import Path

import pytest

from myrmidon import Manager, ManagerOptions
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.commands.explain import externals, last_pass, passed, told
from myrmidon.cli.main import main
from myrmidon.generate import crd
from myrmidon.io.timers.clock import LoopClock
from tests.cli.test_front_door import cluster
from tests.runtime.things import Thing, Things


def asked(name: str, *, trace: bool = True) -> list[str]:
    """Return what a process with one object reports about an object of that name."""

    async def ask() -> list[str]:
        server = ApiServer()
        assert not server.create(crd(Thing))
        assert not server.create(Thing(name="it", namespace="default").to_json())
        options = ManagerOptions(health_addr="127.0.0.1:0", trace=trace)
        manager = Manager(options, transport=LocalTransport(server))
        manager.add(Things())
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            await manager.wait_working()
            while not manager.is_idle:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0)  # noqa: TID251 - gives way, waits for nothing
            address = manager.addresses[options.health_addr]
            told = await last_pass(address, ObjectRef(Thing.KIND, name, "default"), LoopClock())
            manager.stop()
        return told

    return asyncio.run(ask())


def test_why_the_last_pass_ran() -> None:
    """Its path, its causes, and its writes."""
    first, *others = asked("it")

    assert re.fullmatch(r"last pass: \d+s ago, number 1 of this process: first → second", first)
    assert others == [
        "  woken by self create of Thing.test.myrmidon.dev default/it",
        "  last writes: patch Thing it status",
    ]


def test_when_the_next_pass_is() -> None:
    """A schedule names its time and its state; another requeue is only a latest time."""
    now = LoopClock().now()
    at = now.replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(days=2)
    told = {
        "path": ["first"],
        "endedAt": now.isoformat(),
        "passes": 3,
        "causes": [],
        "againAt": at.isoformat(),
        "againFor": "first",
        "writes": [],
    }
    _, line = passed(told, LoopClock())
    assert line.startswith(f"  looks again at {at:%Y-%m-%d} 12:00:00 (in ")
    assert line.endswith("), because state first said so")
    _, line = passed({**told, "againAt": now.isoformat()}, LoopClock())
    assert line == f"  looks again at {now:%H:%M:%S} (in 0s), because state first said so"
    _, line = passed({**told, "againAt": now.isoformat(), "againFor": ""}, LoopClock())
    assert line == "  the next one comes in 0s at the latest"


def test_attempts_that_failed() -> None:
    """With the time of the next one, or how to cause one."""
    ref = ObjectRef(Thing.KIND, "it", "default")
    obj: Json = {"metadata": {"generation": 1}, "status": {"attempts": 3}}
    (line,) = [one for one in told(ref, obj, LoopClock()) if one.startswith("attempts")]
    assert line.startswith("attempts that failed in a row: 3; no other one follows")
    obj["status"]["nextAttempt"] = "2026-01-01T00:00:00Z"
    (line,) = [one for one in told(ref, obj, LoopClock()) if one.startswith("attempts")]
    assert "the next one follows at 2026-01-01T00:00:00Z" in line


def test_resources_outside_the_cluster() -> None:
    """With the id, or the token while the id is not known; those that are removed are not listed."""
    entry = {"sequence": 1, "token": "t-1"}
    ledger = {
        "database": {**entry, "state": "Created", "id": "db-1"},
        "bucket": {**entry, "state": "Pending"},
        "queue": {**entry, "state": "Removed"},
    }
    assert externals({"status": {"externals": ledger}}) == [
        "outside the cluster:",
        "  ✓ database  db-1",
        "  … bucket  no id yet, token t-1",
    ]
    assert externals({}) == []


@pytest.mark.parametrize(("name", "trace"), [("other", True), ("it", False)])
def test_a_pass_that_is_not_remembered(name: str, *, trace: bool) -> None:
    """The message says what that can mean."""
    told = asked(name, trace=trace)

    assert told[0].endswith("remembers no pass over it:")
    assert "without --trace" in told[1]


def test_a_process_that_does_not_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says how to reach it."""
    with cluster(tmp_path, "admin") as kubeconfig:
        arguments = ["namespace", "default", "--kubeconfig", str(kubeconfig), "--process", ":1"]
        assert main(["explain", *arguments]) == 2
        told = capsys.readouterr().err

    assert told.startswith("error: the process at :1 does not answer: ")
    assert told.endswith("  fix: `kubectl port-forward` its health port, or leave --process out\n")


@pytest.mark.parametrize("command", ["explain", "release", "reconcile"])
def test_a_kind_that_does_not_exist(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error differs from the one for an object that does not exist."""
    with cluster(tmp_path, "admin") as kubeconfig:
        assert main([command, "gadget", "a", "--kubeconfig", str(kubeconfig)]) == 2

    assert capsys.readouterr().err == (
        "error: the cluster has no kind called 'gadget'.\n"
        "  fix: `kubectl api-resources` lists the kinds it has; `myrmidon generate crd` writes the definition of yours\n"
    )


@pytest.mark.parametrize("command", ["explain", "release", "reconcile"])
def test_an_object_without_a_namespace_that_does_not_exist(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error does not name a namespace, and the command that lists the objects needs no -A."""
    with cluster(tmp_path, "admin") as kubeconfig:
        assert main([command, "ns", "nope", "--kubeconfig", str(kubeconfig)]) == 2

    assert capsys.readouterr().err == (
        "error: Namespace nope does not exist.\n"
        "  fix: `kubectl get namespaces` lists the objects that do\n"
    )


def test_the_last_writes_are_told_once() -> None:
    """The server calls a client that sends no User-Agent `unknown`."""
    clock = LoopClock()
    entry = {"time": clock.now().isoformat()}
    fields = [{**entry, "manager": "unknown"}, {**entry, "manager": "x", "subresource": "status"}]
    obj: Json = {"metadata": {"generation": 1, "managedFields": fields}}
    lines = [
        one for one in told(ObjectRef(Thing.KIND, "it", "default"), obj, clock) if "write" in one
    ]
    assert lines[1:] == [
        "last write of object: a client that did not name itself, 0s ago",
        "last write of status: x, 0s ago",
    ]
