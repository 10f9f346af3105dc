"""Replicas that share the objects, on a real server: one is killed, paused, added, and stopped.

Each replica has a user of its own, so the audit log tells their writes apart: no object has two
writers at a time (S1), and every change is reconciled within the lease duration and two seconds (S2).
"""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.cluster.contender import TERMS
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.lives import (
    APPS,
    MERGE_PATCH,
    ROLES,
    SECONDS_MAX,
    Life,
    Request,
    new_namespace,
    write_kubeconfig,
)
from tests.cluster.test_leadership import ROOT, Contender
from tests.cluster.web_apps import WebApp

BOUND = TERMS.lease_seconds + 2
SLACK = 10.0  # for passes over all objects on a busy machine


class Sharing:
    """Replicas, and many applications in one namespace."""

    def __init__(self, plane: ControlPlane, folder: Path, count: int) -> None:
        self.life = Life(plane, new_namespace(plane))
        self._plane, self._folder = plane, folder
        self._apps = f"{APPS}/namespaces/{self.life.namespace}/webapps"
        self._names = [f"app{number}" for number in range(count)]
        self.replicas: dict[str, Contender] = {}

    def join(self, user: str) -> Contender:
        """Start a replica as a user of its own."""
        login = {"as": user, "as-groups": ["system:masters"]}
        kubeconfig = write_kubeconfig(self._folder / user, self._plane, login)
        words = ("tests.cluster.contender", str(kubeconfig), self.life.namespace, user, "shards")
        log = self._folder / f"{user}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", *words], cwd=ROOT, stdout=output, stderr=output
            )
        self.replicas[user] = Contender(user, process, log)
        return self.replicas[user]

    def wait_for(self, user: str, words: bytes) -> None:
        """Wait until the log of a replica has some words."""
        log = self.replicas[user].log
        wait_until(lambda: words in log.read_bytes(), f"{words!r} of {user}", SECONDS_MAX)

    def create(self) -> None:
        """Create all applications."""
        for name in self._names:
            body = {
                "apiVersion": WebApp.KIND.api_version,
                "kind": "WebApp",
                "metadata": {"name": name},
                "spec": {"image": "shop:1"},
            }
            assert self.life.client.post(self._apps, body).status == 201

    def edit(self, image: str) -> None:
        """Change every application."""
        for name in self._names:
            answer = self._patch(name, {"spec": {"image": image}})
            assert answer.status == 200, answer.body

    def _patch(self, name: str, body: Any) -> Any:
        return self.life.client.request("PATCH", f"{self._apps}/{name}", body, MERGE_PATCH)

    def wait_reconciled(self, what: str, seconds: float) -> None:
        """Wait until the controller has handled the last change of every application."""
        began_at = monotonic()
        wait_until(self._is_reconciled, f"{what}: all changes are handled", seconds)
        print(f"{what}: {monotonic() - began_at:.1f} s")  # noqa: T201 - shown if the test fails

    def _is_reconciled(self) -> bool:
        items = self.life.client.get(self._apps).body["items"]
        return len(items) == len(self._names) and all(
            _seen(item) == item["metadata"]["generation"] for item in items
        )

    def writes(self) -> list[Request]:
        """Return the writes of replicas, without those of Leases."""
        return [
            one
            for one in self.life.requests()
            if one.user in self.replicas and one.resource != "leases"
        ]

    def check_one_writer(self) -> None:
        """S1: the writes for one application by two replicas do not overlap, and never alternate."""
        by_app: dict[str, list[Request]] = {}
        for one in self.writes():
            found = re.match(r"app\d+", one.name)
            if found:
                by_app.setdefault(found[0], []).append(one)
        assert len(by_app) == len(self._names)
        for app, writes in by_app.items():
            for before, after in pairwise(writes):
                if before.user != after.user:
                    assert before.answered_at <= after.received_at, (app, before, after)
            users = [one.user for one in writes]
            turns = [
                user for user, last in zip(users, [None, *users], strict=False) if user != last
            ]
            assert len(turns) <= len(self.replicas) + 1, (app, turns)

    def close(self) -> None:
        """Stop everything that was started here."""
        for replica in self.replicas.values():
            replica.process.kill()
            replica.process.wait()
        for name in self._names:
            self.life.client.delete(f"{self._apps}/{name}")
            self._patch(name, {"metadata": {"finalizers": None}})
            self.life.client.delete(f"{ROLES}/{self.life.namespace}-{name}")
        self.life.close()


def _seen(item: dict[str, object]) -> object:
    """Return the generation that the Ready condition is about, 0 if it has none."""
    status = item.get("status")
    conditions = status.get("conditions", []) if isinstance(status, dict) else []
    ready = [one for one in conditions if one["type"] == "Ready" and one["status"] == "True"]
    return ready[0].get("observedGeneration", 0) if ready else 0


@contextmanager
def sharing(plane: ControlPlane, folder: Path, count: int) -> Iterator[Sharing]:
    """Start three replicas on many applications."""
    found = Sharing(plane, folder, count)
    try:
        for user in ("one", "two", "three"):
            found.join(user)
        for user in found.replicas:
            found.wait_for(user, b"slices gained")
        yield found
    finally:
        found.close()


def check_a_life(plane: ControlPlane, folder: Path, count: int) -> None:
    """Kill, pause, add and stop replicas while applications change; then read the audit log."""
    with sharing(plane, folder, count) as those:
        those.create()
        those.wait_reconciled("creation", SECONDS_MAX + count)
        those.wait_for("three", b"slices gained")
        writers = [one.user for one in those.writes()]
        assert min(writers.count(user) for user in those.replicas) > len(writers) / 6

        those.replicas["one"].signal(signal.SIGKILL)
        those.edit("shop:killed")
        those.wait_reconciled("after a kill", BOUND + SLACK)

        those.join("four")
        those.wait_for("four", b"slices gained")
        those.replicas["two"].signal(signal.SIGSTOP)
        those.edit("shop:paused")
        those.wait_reconciled("after a pause", BOUND + SLACK)
        those.replicas["two"].signal(signal.SIGCONT)
        assert those.replicas["two"].ended() == 1, "it worked on after its Lease had expired"

        those.join("five")
        those.wait_for("five", b"slices gained")
        those.edit("shop:stopping")
        those.replicas["three"].signal(signal.SIGTERM)
        those.wait_reconciled("after a stop", BOUND + SLACK)
        assert those.replicas["three"].ended() == 0
        those.check_one_writer()


@pytest.mark.law("S1", "S2")
def test_replicas_that_come_and_go_share_the_objects(plane: ControlPlane, tmp_path: Path) -> None:
    """No object has two writers, and every change is handled in time."""
    check_a_life(plane, tmp_path, 60)


@pytest.mark.long
@pytest.mark.law("S1", "S2")
def test_replicas_share_many_objects(plane: ControlPlane, tmp_path: Path) -> None:
    """The same with a thousand objects."""
    check_a_life(plane, tmp_path, 1000)
