"""Why a child is left over, on small made-up audit logs."""

import json
from typing import Any

import pytest

from tests.soak import histories
from tests.soak.leftovers import Cause, Findings, deleted_by, examine
from tests.soak.test_audit import event, stamp

COLLECTOR, LATE, LEAK = Cause.COLLECTOR, Cause.LATE, Cause.LEAK


def written(at: float, verb: str, resource: str, name: str, uid: str, **meta: Any) -> str:
    """Build a write that is answered with the object; a create if the verb says so."""
    answer = {"kind": "Any", "metadata": {"name": name, "uid": uid, **meta}}
    target = {"resource": resource, "namespace": "soak-a", "name": name}
    code = 201 if verb == "create" else 200
    more: dict[str, Any] = {
        "objectRef": target,
        "responseObject": answer,
        "responseStatus": {"code": code},
    }
    return event("us", at, verb, resource, **more)


def deleted(at: float, resource: str, name: str, uid: str, user: str = "user") -> str:
    """Build a delete that is answered with a Status: the object is gone."""
    target = {"resource": resource, "namespace": "soak-a", "name": name}
    answer = {"kind": "Status", "status": "Success", "details": {"name": name, "uid": uid}}
    return event(user, at, "delete", resource, objectRef=target, responseObject=answer)


def child(kind: str = "ConfigMap", name: str = "claim-p-a", **meta: Any) -> dict[str, Any]:
    """A child that names the parent with uid "old"."""
    owner = {"kind": "Claim", "name": "p", "uid": "old", "controller": True}
    metadata = {
        "name": name,
        "namespace": "soak-a",
        "uid": "c",
        "creationTimestamp": stamp(100.0),
        "ownerReferences": [owner],
    }
    data = {"text": "t", "part": "a"} if kind == "ConfigMap" else {}
    return {"kind": kind, "metadata": metadata | meta, "data": data}


def team(uid: str = "old") -> list[dict[str, Any]]:
    """An owner reference to a Team."""
    return [{"kind": "Team", "name": "p", "uid": uid, "controller": True}]


BORN = written(100.0, "create", "configmaps", "claim-p-a", "c")
OWNER = written(90.0, "create", "claims", "p", "old")


def found(
    *lines: str, obj: dict[str, Any] | None = None, parents: tuple[Any, ...] = ()
) -> Findings:
    """Examine one child."""
    return examine(parents, [obj or child()], histories.read(lines))


def cause(*lines: str, obj: dict[str, Any] | None = None) -> Cause:
    """Return why the one child is left over."""
    (one,) = found(*lines, obj=obj).leftovers
    assert bool(found(*lines, obj=obj).leaks) == (one.cause is LEAK)
    return one.cause


def test_a_child_that_is_older_than_the_deletion_is_the_collectors() -> None:
    """Also one whose creation overlaps with the deletion."""
    assert cause(OWNER, BORN, deleted(110.0, "claims", "p", "old")) is COLLECTOR
    assert cause(OWNER, BORN, deleted(99.995, "claims", "p", "old")) is COLLECTOR


def test_a_child_that_is_younger_than_the_deletion_is_late() -> None:
    """By the arrival of the create and the answer to the delete."""
    lines = [OWNER, BORN, deleted(95.0, "claims", "p", "old")]
    assert cause(*lines) is LATE
    (one,) = found(*lines).leftovers
    assert one.late_seconds == pytest.approx(4.99)
    assert one.created_by == "us"
    assert one.owner_deleted_by == "user"
    assert "ConfigMap soak-a/claim-p-a (uid c) created" in one.text


def test_a_deletion_is_complete_when_the_last_finalizer_is_removed() -> None:
    """A delete that is answered with the object, or a patch that leaves a finalizer, ends nothing."""
    dying = {"deletionTimestamp": "t", "finalizers": ["f"]}
    begun = written(92.0, "delete", "claims", "p", "old", **dying)
    patched = written(93.0, "patch", "claims", "p", "old", **dying)
    ended = written(105.0, "patch", "claims", "p", "old", deletionTimestamp="t")
    assert cause(OWNER, begun, patched, BORN, ended) is COLLECTOR
    early = written(97.0, "patch", "claims", "p", "old", deletionTimestamp="t")
    assert cause(OWNER, begun, patched, early, BORN) is LATE


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([OWNER, BORN, written(101.0, "patch", "claims", "p", "old")], COLLECTOR),
        ([OWNER, written(95.0, "create", "claims", "p", "new"), BORN], LATE),
        ([OWNER, BORN, written(105.0, "create", "claims", "p", "new")], LEAK),
        ([OWNER, BORN], LEAK),
    ],
    ids=["seen later", "created again before", "created again later", "never heard of again"],
)
def test_a_deletion_without_a_line_in_the_log(lines: list[str], expected: Cause) -> None:
    """The API server was killed before it wrote the line; only what is proved is excused."""
    assert cause(*lines) is expected


def test_a_child_without_a_line_in_the_log_has_its_own_timestamp() -> None:
    """Its create was not logged either."""
    assert cause(OWNER, deleted(110.0, "claims", "p", "old")) is COLLECTOR
    assert cause(OWNER, deleted(95.0, "claims", "p", "old")) is LATE


def test_a_create_by_server_side_apply_counts() -> None:
    """It is a patch that is answered with 201."""
    line = json.loads(written(100.0, "patch", "configmaps", "claim-p-a", "c"))
    line["responseStatus"]["code"] = 201
    (one,) = found(OWNER, json.dumps(line), deleted(110.0, "claims", "p", "old")).leftovers
    assert one.created_by == "us"


def test_answers_that_are_not_a_success_prove_nothing() -> None:
    """A refused delete, and the write of a subresource."""
    refused = json.loads(deleted(95.0, "claims", "p", "old"))
    refused["responseStatus"]["code"] = 409
    status = json.loads(written(95.0, "patch", "claims", "p", "old", deletionTimestamp="t"))
    status["objectRef"]["subresource"] = "status"
    gone = deleted(110.0, "claims", "p", "old")
    assert cause(OWNER, json.dumps(refused), json.dumps(status), BORN, gone) is COLLECTOR


@pytest.mark.parametrize(
    "obj",
    [
        child(ownerReferences=[]),
        child(ownerReferences=team("never")),
        child(ownerReferences=[{"kind": "Claim", "name": "q", "uid": "old"}]),
        child("Secret", "team-p", ownerReferences=team()),
    ],
    ids=["no owner", "unknown uid", "another name", "the finalizer's duty"],
)
def test_everything_else_is_a_leak(obj: dict[str, Any]) -> None:
    """Although a restart of the collector would hide all but the first."""
    kind = "teams" if obj["kind"] == "Secret" else "claims"
    lines = [
        written(90.0, "create", kind, "p", "old"),
        BORN,
        deleted(110.0, kind, "p", "old"),
    ]
    result = found(*lines, obj=obj)
    assert len(result.leaks) == 1
    assert result.counts().keys() <= {LEAK.value}


def parent(uid: str, name: str = "p", reason: str = "AlreadyOwned") -> dict[str, Any]:
    """A Claim that is not Ready."""
    return {
        "kind": "Claim",
        "metadata": {"name": name, "namespace": "soak-a", "uid": uid, "generation": 1},
        "spec": {"text": "t", "parts": ["a", "b"]},
        "status": {
            "conditions": [
                {"type": "Ready", "status": "False", "observedGeneration": 1},
                {"type": "Claimed", "status": "False", "reason": reason},
            ]
        },
    }


def test_a_successor_that_waits_for_the_collector_is_excused() -> None:
    """It is not Ready, and its other child is missing."""
    lines = [OWNER, BORN, deleted(110.0, "claims", "p", "old")]
    result = found(*lines, parents=(parent("new"),))
    assert result.counts() == {COLLECTOR.value: 1}
    assert len(result.consequences) == 2
    assert result.leaks == ()


def test_a_successor_that_waits_does_not_prune() -> None:
    """It deletes what it no longer wants only when it has all that it wants."""
    lines = [OWNER, BORN, deleted(110.0, "claims", "p", "old")]
    more = child(
        name="claim-p-d", uid="d", ownerReferences=[{"kind": "Claim", "name": "p", "uid": "new"}]
    )
    result = examine([parent("new")], [child(), more], histories.read(lines))
    assert len(result.consequences) == 3
    assert result.leaks == ()


@pytest.mark.parametrize(
    "other",
    [parent("new", reason="Timeout"), parent("new", "q")],
    ids=["another reason", "another parent"],
)
def test_other_problems_are_not_excused(other: Any) -> None:
    """A leftover child excuses only the parent that waits for it, and only for this reason."""
    lines = [OWNER, BORN, deleted(110.0, "claims", "p", "old")]
    result = found(*lines, parents=(other,))
    assert result.consequences == ()
    assert result.leaks != ()


def test_a_leak_excuses_nothing() -> None:
    """A parent that waits for a child that we leaked is a problem of ours, too."""
    result = found(BORN, parents=(parent("new"),))
    assert result.consequences == ()
    assert len(result.leaks) == 3


def test_a_child_of_a_live_owner_is_not_a_leftover_of_the_collector() -> None:
    """What its owner no longer wants should have been pruned."""
    obj = child(name="claim-p-d", ownerReferences=[{"kind": "Claim", "name": "p", "uid": "new"}])
    ready = parent("new")
    ready["spec"] = {"text": "t", "parts": []}
    ready["status"]["conditions"] = [{"type": "Ready", "status": "True", "observedGeneration": 1}]
    result = found(OWNER, obj=obj, parents=(ready,))
    assert result.leftovers == ()
    assert result.leaks == ("ConfigMap soak-a/claim-p-d is left over (owner new)",)


def test_the_user_who_deleted_a_leftover_is_counted() -> None:
    """It proves that it was the collector."""
    lines = [OWNER, BORN, deleted(110.0, "claims", "p", "old")]
    result = found(*lines)
    assert deleted_by(result.leftovers, histories.read(lines)) == {"not deleted": 1}
    lines.append(deleted(130.0, "configmaps", "claim-p-a", "c", "collector"))
    assert deleted_by(result.leftovers, histories.read(lines)) == {"collector": 1}
    assert json.loads(result.as_json())["leftovers"][0]["child"]["name"] == "claim-p-a"
