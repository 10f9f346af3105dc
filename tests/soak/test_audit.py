"""The checks of the audit log, on small made-up logs: each violation is found, and no other."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.soak import audit

LEASE_SECONDS = 4.0
USERS = frozenset({"one", "two"})


def stamp(at: float) -> str:
    """Return a time as the audit log prints it."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def event(user: str, at: float, verb: str, resource: str, name: str = "x", **more: Any) -> str:
    """Build one line of an audit log."""
    said = {
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": "admin"},
        "impersonatedUser": {"username": user},
        "objectRef": {"resource": resource, "namespace": "n", "name": name},
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": stamp(at),
        "stageTimestamp": stamp(at + 0.01),
        **more,
    }
    return json.dumps(said)


def lease(
    user: str, at: float, holder: str, version: int, verb: str = "update", **more: Any
) -> str:
    """Build a write of the Lease."""
    answer = {
        "kind": "Lease",
        "metadata": {"name": "soak", "resourceVersion": str(version)},
        "spec": {"holderIdentity": holder},
    }
    return event(user, at, verb, "leases", "soak", **{"responseObject": answer, **more})


def write(user: str, at: float, **more: Any) -> str:
    """Build a write of another object."""
    return event(user, at, "patch", "configmaps", **more)


def judged(*lines: str) -> list[str]:
    """Return the violations, without the evidence."""
    log = audit.read_log(lines, "soak", USERS)
    return [text.partition("\n")[0] for text in audit.violations(log, LEASE_SECONDS)]


def test_writes_of_the_holder_are_allowed() -> None:
    """Also after a takeover, and for any order of the lines."""
    assert (
        judged(
            write("two", 107.0),
            lease("two", 106.0, "two", 12),
            write("one", 101.0),
            lease("one", 100.0, "one", 10),
            lease("one", 102.0, "one", 11),
            write("one", 104.0, responseStatus={"code": 409}),
        )
        == []
    )


def test_write_after_another_became_the_holder() -> None:
    """Q6; its evidence is the line itself."""
    late = write("one", 106.5)
    lines = [lease("one", 103.0, "one", 10), lease("two", 106.0, "two", 11), late]
    assert judged(*lines) == [
        "one sent patch configmaps n/x (200) 0.500 s after two became the holder"
    ]
    (text,) = audit.violations(audit.read_log(lines, "soak", USERS), LEASE_SECONDS)
    assert late in text


def test_order_of_lease_writes_is_that_of_their_versions() -> None:
    """A renewal may be received before, and be committed after, a takeover that was faster."""
    lines = [lease("two", 105.0, "two", 12), lease("one", 105.2, "one", 11)]
    assert [one.holder for one in audit.read_log(lines, "soak", USERS).leases] == ["one", "two"]


@pytest.mark.parametrize(
    "lines",
    [
        [write("one", 100.0)],
        [lease("one", 100.0, "one", 1), lease("one", 101.0, "", 2), write("one", 101.5)],
        [lease("one", 100.0, "one", 1), write("one", 104.5)],
        [lease("one", 100.0, "one", 1), write("two", 100.5)],
        [lease("one", 100.0, "one", 1, responseStatus={"code": 409}), write("one", 100.5)],
        [lease("one", 100.0, "one", 1), write("one", 104.1, responseStatus={"code": 500})],
    ],
    ids=["never", "released", "not renewed", "standby", "refused lease", "refused write"],
)
def test_each_way_to_write_without_the_lease(lines: list[str]) -> None:
    """A refused write was sent nevertheless."""
    assert len(judged(*lines)) == 1


def test_manual_edits_of_the_lease_do_not_end_a_right_at_once() -> None:
    """Deleted, edited, created without a holder: the leader cannot know, and its time counts."""
    hands = [
        event("admin", 100.5, "delete", "leases", "soak"),
        lease("two", 100.6, "", 11, verb="create"),
        lease("admin", 100.7, "two", 12),
    ]
    assert judged(lease("one", 100.0, "one", 10), *hands, write("one", 102.0)) == []
    assert len(judged(lease("one", 100.0, "one", 10), *hands, write("one", 104.5))) == 1


def test_irrelevant_lines_are_skipped() -> None:
    """A line that a killed server did not finish, reads, other stages, other Leases and users."""
    log = audit.read_log(
        [
            "",
            '{"stage": "Respon',
            "[]",
            event("one", 1.0, "get", "configmaps"),
            write("one", 1.0, stage="Panic"),
            event("one", 1.0, "update", "leases", "another"),
            write("stranger", 1.0),
        ],
        "soak",
        USERS,
    )
    assert log == audit.Log((), ())


def test_figures() -> None:
    """Takeovers, the longest time without a renewal, writes in a span, counts by kind."""
    lines = [
        lease("one", 100.0, "one", 1),
        lease("one", 101.0, "one", 2),
        lease("one", 101.5, "", 3),
        lease("two", 106.0, "two", 4),
        write("one", 100.5),
        write("two", 106.5),
    ]
    log = audit.read_log(lines, "soak", USERS)
    assert audit.takeovers(log.leases) == 2
    assert audit.longest_gap(log.leases, 108.0) == 5.0
    assert audit.longest_gap(log.leases, 116.0) == 10.0
    assert audit.longest_gap((), 1.0) == 0.0
    assert [one.user for one in audit.writes_between(log, 101.0, 107.0)] == ["two"]
    assert audit.summary(log.writes) == {"patch configmaps": 2}
