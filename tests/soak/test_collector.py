"""Whether the audit log shows that the garbage collector could not see a deletion."""

import json

import pytest

from tests.soak.collector import USER, is_hidden, watches
from tests.soak.histories import read
from tests.soak.test_audit import event, stamp
from tests.soak.test_leftovers import deleted, written


def watch(
    began_at: float,
    ended_at: float | None = None,
    *,
    lists: bool = False,
    resource: str = "claims",
    code: int = 200,
) -> list[str]:
    """Build the lines of a watch; one of a killed server has no last line."""
    said = json.loads(event(USER, began_at, "watch", resource, responseStatus={"code": code}))
    said["auditID"] = f"{resource} {began_at}"
    said["requestURI"] = f"/x?{'sendInitialEvents=true' if lists else 'resourceVersion=1'}"
    lines = [json.dumps(said | {"stage": "ResponseStarted"})]
    if ended_at is not None:
        lines.append(json.dumps(said | {"stageTimestamp": stamp(ended_at)}))
    return lines


def server_start(at: float, verb: str = "create") -> list[str]:
    """Build the line with which a new API server replaces its Lease."""
    target = {"resource": "leases", "namespace": "kube-system"}
    return [event("system:apiserver", at, verb, "leases", objectRef=target)]


BEFORE = watch(80.0, 105.0, lists=True)
"""A watch that ends before the deletion at 110; the name is in use again at 111."""
AFTER = watch(115.0, lists=True)


def hidden(*parts: list[str], again_at: float | None = 111.0) -> bool:
    """Whether the deletion at 110 is hidden, with these requests of the garbage collector."""
    lines = [
        written(90.0, "create", "claims", "p", "old"),
        deleted(110.0, "claims", "p", "old"),
        *(line for part in parts for line in part),
    ]
    if again_at is not None:
        lines.append(written(again_at, "create", "claims", "p", "new"))
    return is_hidden("old", read(lines), watches(lines))


def test_an_object_that_is_replaced_while_nothing_watches() -> None:
    """The list after it has another object under the same name."""
    assert hidden(BEFORE, AFTER)


@pytest.mark.parametrize("verb", ["create", "delete"])
def test_a_watch_of_a_killed_server_ends_when_the_next_one_starts(verb: str) -> None:
    """It has no last line in the log."""
    lost = watch(80.0, lists=True)
    assert hidden(lost, server_start(106.0, verb), AFTER)
    assert not hidden(lost, AFTER)


def test_a_watch_that_is_refused_delivers_nothing() -> None:
    """It is answered with an error event or with an error, and a list follows."""
    assert hidden(BEFORE, watch(109.99, 110.2), AFTER)
    assert hidden(BEFORE, watch(112.0, 112.1), AFTER)
    assert hidden(BEFORE, watch(112.0, 114.0, code=503), AFTER)


def test_a_deletion_is_seen() -> None:
    """By an open watch, by a watch that is resumed, or because the name is free in the list."""
    assert not hidden(watch(80.0, 120.0, lists=True), AFTER)
    assert not hidden(BEFORE, watch(112.0, 120.0), AFTER)
    assert not hidden(BEFORE, AFTER, again_at=None)
    assert not hidden(BEFORE, AFTER, again_at=116.0)
    assert not hidden(BEFORE)


def test_watches_of_other_kinds_and_users_do_not_count() -> None:
    """One watch for each kind."""
    assert hidden(BEFORE, AFTER, watch(80.0, 120.0, lists=True, resource="calls"))
    other = [line.replace(USER, "another") for line in watch(100.0, 120.0)]
    assert hidden(BEFORE, AFTER, other)


def test_an_object_whose_deletion_is_not_in_the_log() -> None:
    """It cannot be decided."""
    lines = [written(90.0, "create", "claims", "p", "old"), *BEFORE, *AFTER]
    assert not is_hidden("old", read(lines), watches(lines))
