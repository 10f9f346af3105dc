"""Two managers and one lease: never two writers at once, and a quick takeover (Q6, Q7, F18, F19).

Each manager has a user of its own, so the audit log tells their writes apart.  During the tests a
user keeps editing the application, so that the leader always has changes to write.
"""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from myrmidon.runtime.leader.election import Terms
from tests.cluster.contender import LEASE, TERMS
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.lives import (
    SECONDS_MAX,
    Json,
    Life,
    Request,
    new_namespace,
    write_kubeconfig,
)

ROOT = Path(__file__).parents[2]


@dataclass
class Contender:
    """One manager process."""

    user: str
    process: subprocess.Popen[bytes]
    log: Path

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def ended(self) -> int:
        """Wait for its end; return its exit status."""
        return self.process.wait(SECONDS_MAX)


class Match:
    """Two contenders for one application, and a user who edits it all the time."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.life = Life(plane, new_namespace(plane))
        self._plane, self._folder = plane, folder
        self._contenders: list[Contender] = []
        self._over = threading.Event()
        self._editor = threading.Thread(target=self._edit)

    def enter(self, user: str, *command: str) -> Contender:
        """Start a manager as a user of its own; by default with short terms."""
        login = {"as": user, "as-groups": ["system:masters"]}
        kubeconfig = write_kubeconfig(self._folder / user, self._plane, login)
        short = ("tests.cluster.contender", str(kubeconfig), self.life.namespace, user)
        words = (*command, f"--kubeconfig={kubeconfig}") if command else short
        log = self._folder / f"{user}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", *words], cwd=ROOT, stdout=output, stderr=output
            )
        contender = Contender(user, process, log)
        self._contenders.append(contender)
        return contender

    def start(self) -> None:
        """Create the application, and begin to edit it."""
        self.life.create(hosts=["shop.example"])
        self._editor.start()

    def close(self) -> None:
        """Stop everything that was started here."""
        self._over.set()
        if self._editor.is_alive():
            self._editor.join()
        for contender in self._contenders:
            contender.process.kill()
            contender.process.wait()
        self.life.close()

    def writes_of(self, user: str) -> list[Request]:
        """Return the writes of a user, without those of the lease."""
        return [
            one for one in self.life.requests() if one.user == user and one.resource != "leases"
        ]

    def renewals_of(self, user: str) -> list[Request]:
        """Return when a user took or renewed the lease."""
        return [
            one
            for one in self.life.requests()
            if one.user == user and one.resource == "leases" and one.succeeded
        ]

    def wait_for_writes(self, contender: Contender, more_than: int = 5) -> None:
        """Wait until a contender leads and writes."""
        try:
            wait_until(
                lambda: len(self.writes_of(contender.user)) > more_than,
                f"writes of {contender.user}",
                SECONDS_MAX,
            )
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {contender.log.read_text()[-2000:]}") from None

    def wait_standby(self, contender: Contender) -> None:
        """Wait until a contender's caches are in sync."""
        wait_until(
            lambda: b"caches in sync" in contender.log.read_bytes(),
            f"{contender.user} in sync",
            SECONDS_MAX,
        )

    def _edit(self) -> None:
        for number in count():
            if self._over.wait(0.05):
                return
            self.life.change(image=f"shop:{number}", replicas=number % 5)


@pytest.fixture
def match(plane: ControlPlane, tmp_path: Path) -> Iterator[Match]:
    """Return a match that is closed at the end."""
    found = Match(plane, tmp_path)
    try:
        yield found
    finally:
        found.close()


def contest(match: Match, command: tuple[str, ...] = ()) -> tuple[Contender, Contender]:
    """Return a contender that leads and writes, and one on standby."""
    match.start()
    first = match.enter("first", *command)
    match.wait_for_writes(first)
    second = match.enter("second", *command)
    match.wait_standby(second)
    assert not match.writes_of("second"), "a standby wrote"
    return first, second


def check_succession(match: Match, terms: Terms = TERMS) -> None:
    """Check that the first wrote nothing after the second, which took over soon."""
    theirs = match.writes_of("second")
    late = [one for one in match.writes_of("first") if one.answered_at >= theirs[0].received_at]
    assert not late, f"two writers: {late[0]} after {theirs[0]}"
    left, taken = match.renewals_of("first")[-1], match.renewals_of("second")[0]
    assert left.answered_at < taken.received_at
    gap = (taken.received_at - left.answered_at).total_seconds()
    assert gap <= terms.lease_seconds + 2, f"no leader for {gap} s"


def settle(match: Match) -> None:
    """Stop editing; check that the objects converge and were created once."""
    match._over.set()
    match._editor.join()
    match.life.wait_converged()
    assert max(match.life.made().values()) == 1, match.life.made()


def test_another_takes_over_from_a_leader_that_was_killed(match: Match) -> None:
    """The lease is not given back; it expires."""
    first, second = contest(match)
    first.signal(signal.SIGKILL)
    match.wait_for_writes(second)
    check_succession(match)
    settle(match)


@pytest.mark.parametrize("round_number", range(2))
def test_a_leader_that_was_paused_past_its_lease_writes_no_more(
    match: Match, round_number: int
) -> None:
    """It resumes in the middle of its work, finds its lease expired, and ends with an error."""
    first, second = contest(match)
    first.signal(signal.SIGSTOP)
    match.wait_for_writes(second)
    before = len(match.writes_of("first"))
    first.signal(signal.SIGCONT)
    assert first.ended() == 1, first.log.read_text()[-2000:]
    assert "may no longer write" in first.log.read_text()
    match.wait_for_writes(second, len(match.writes_of("second")) + 10)
    assert len(match.writes_of("first")) == before
    check_succession(match)
    settle(match)


def test_a_leader_that_is_stopped_gives_the_lease_back(match: Match) -> None:
    """SIGTERM to `myrmidon run`: status 0, and the other one need not wait for 15 seconds."""
    first, second = contest(match, command_of(match))
    first.signal(signal.SIGTERM)
    assert first.ended() == 0, first.log.read_text()[-2000:]
    match.wait_for_writes(second)
    check_succession(match)
    settle(match)
    second.signal(signal.SIGTERM)
    assert second.ended() == 0
    assert not lease(match.life).get("holderIdentity")


def test_another_takes_over_within_the_default_terms(match: Match) -> None:
    """`myrmidon run` with its defaults is killed: 15 seconds of lease and at most 2 to notice."""
    first, second = contest(match, command_of(match))
    assert lease(match.life)["leaseDurationSeconds"] == Terms().lease_seconds == 15
    first.signal(signal.SIGKILL)
    match.wait_for_writes(second)
    check_succession(match, Terms())
    settle(match)
    found = lease(match.life)
    assert found["leaseTransitions"] == 1


def command_of(match: Match) -> tuple[str, ...]:
    """Return `myrmidon run` with its default terms."""
    return (
        "myrmidon",
        "run",
        "tests.cluster.web_apps:WebApps",
        "--leader-election",
        f"--leader-election-id={LEASE}",
        f"--leader-election-namespace={match.life.namespace}",
        f"--namespace={match.life.namespace}",
        "--metrics-addr=",
        "--health-addr=",
    )


def lease(life: Life) -> Json:
    """Return the spec of the lease."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{life.namespace}/leases/{LEASE}"
    spec: Json = life.client.get(path).body["spec"]
    return spec
