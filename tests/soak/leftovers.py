"""Why a child is left over after the faults: by the garbage collector's fault or by ours.

A child whose owner reference names a parent that is gone is deleted by the garbage collector of
kube-controller-manager.  It can miss such a child after an outage of the API server (``collector``
says how), and a restart, which makes it list everything again, then helps.  The same restart would
also hide children that our controllers leaked, so each child is classified before it:

- ``COLLECTOR``: the child was created before the deletion of its owner was complete, and its
  deletion is the duty of the garbage collector alone.
- ``LATE``: one of our processes created the child when its owner was gone already.  The API server
  accepts that, and the garbage collector deletes such a child as well ("absent owner").
- ``LEAK``: everything else.  No owner reference, although the parent is gone; an owner that never
  existed; a live owner that does not want the child; a child that the owner's finalizer state
  should have deleted; a deletion time that the log does not prove.

A parent that was created again under the name of a deleted one says AlreadyOwned while a child of
its predecessor has the name of an output.  Its problems are consequences if that child is
``COLLECTOR`` or ``LATE``; they have to end when the child is deleted.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from tests.soak import oracle
from tests.soak.histories import Histories, Place, gone_between
from tests.soak.oracle import Key

Json = Mapping[str, Any]
DELETED_BY_FINALIZER = frozenset({("Team", "Secret")})
"""Kinds of owner and child for which the owner's finalizer state deletes the child."""


class Cause(StrEnum):
    """Why a child is left over."""

    COLLECTOR = "left by the garbage collector"
    LATE = "created after the owner was gone"
    LEAK = "leaked"


@dataclass(frozen=True, slots=True)
class Leftover:
    """A child whose owner is gone, with the evidence."""

    child: Key
    uid: str
    created_at: float
    created_by: str
    owner: str
    owner_uid: str
    owner_gone_at: float | None
    """When the deletion was complete, at the latest; None if the log does not say."""
    owner_deleted_by: str
    cause: Cause
    why: str

    @property
    def text(self) -> str:
        """Everything that is known, in one line."""
        gone_at = "at a time unknown" if self.owner_gone_at is None else stamp(self.owner_gone_at)
        return (
            f"{self.child.kind} {self.child.namespace}/{self.child.name} (uid {self.uid}) created "
            f"{stamp(self.created_at)} by {self.created_by or 'a request without a log line'}; owner "
            f"{self.owner} (uid {self.owner_uid}) gone {gone_at}, deleted by "
            f"{self.owner_deleted_by or 'a request without a log line'}: {self.cause}, {self.why}"
        )

    @property
    def late_seconds(self) -> float:
        """How long after the deletion of its owner the child was created."""
        return self.created_at - self.owner_gone_at if self.owner_gone_at is not None else 0.0


@dataclass(frozen=True, slots=True)
class Findings:
    """The state before the restart of kube-controller-manager."""

    leftovers: tuple[Leftover, ...] = ()
    consequences: tuple[str, ...] = ()
    """Problems of parents that wait for a leftover child to be deleted."""
    leaks: tuple[str, ...] = ()
    """Problems that our controllers caused."""

    def counts(self) -> Counter[str]:
        """Count the leftovers by cause."""
        return Counter(one.cause.value for one in self.leftovers)

    def as_json(self) -> str:
        """Return everything as JSON for the folder of evidence."""
        found = [asdict(one) | {"child": one.child._asdict()} for one in self.leftovers]
        said = {"leftovers": found, "consequences": self.consequences, "leaks": self.leaks}
        return json.dumps(said, indent=1)


def examine(parents: Iterable[Json], objects: Iterable[Json], histories: Histories) -> Findings:
    """Separate leftovers and their consequences from the problems that are ours."""
    parents, objects = list(parents), list(objects)
    live = {parent["metadata"]["uid"]: parent for parent in parents}
    leftovers = [
        classify(obj, reference, histories)
        for obj in objects
        for reference in (obj["metadata"].get("ownerReferences") or ())[:1]
        if reference["uid"] not in live
    ]
    excused = {one.child for one in leftovers if one.cause is not Cause.LEAK}
    wanting = oracle.wanting(parents)
    blocked = {wanting[key] for key in excused if key in wanting}
    consequences: list[str] = []
    leaks = [one.text for one in leftovers if one.cause is Cause.LEAK]
    known = {one.child for one in leftovers}
    for problem in oracle.problems(parents, objects):
        if problem.child in known:
            continue
        if problem.parent in blocked and says_owned(live[problem.parent]):
            consequences.append(problem.text)
        else:
            leaks.append(problem.text)
    return Findings(tuple(leftovers), tuple(consequences), tuple(leaks))


def classify(obj: Json, reference: Json, histories: Histories) -> Leftover:
    """Decide why a child is left over whose owner is gone."""
    meta = obj["metadata"]
    born, owner = histories.get(meta["uid"]), histories.get(reference["uid"])
    stamped = datetime.fromisoformat(meta["creationTimestamp"]).timestamp()
    made = born.created if born is not None else None
    gone_at = gone_between(owner, histories)[1] if owner is not None else float("inf")
    cause, why = _cause(obj, reference, histories, made.received_at if made else stamped)
    return Leftover(
        child=Key(obj["kind"], meta["namespace"], meta["name"]),
        uid=meta["uid"],
        created_at=made.received_at if made else stamped,
        created_by=made.user if made else "",
        owner=f"{reference['kind']} {reference['name']}",
        owner_uid=reference["uid"],
        owner_gone_at=None if gone_at == float("inf") else gone_at,
        owner_deleted_by=owner.gone.user if owner is not None and owner.gone is not None else "",
        cause=cause,
        why=why,
    )


def deleted_by(leftovers: Sequence[Leftover], histories: Histories) -> Counter[str]:
    """Count which users have deleted the leftover children in the end."""
    found = (histories.get(one.uid) for one in leftovers)
    return Counter(
        one.gone.user if one is not None and one.gone is not None else "not deleted"
        for one in found
    )


def says_owned(parent: Json) -> bool:
    """Whether a condition of the parent has the reason AlreadyOwned."""
    conditions = (parent.get("status") or {}).get("conditions") or ()
    return any(one.get("reason") == "AlreadyOwned" for one in conditions)


def stamp(at: float) -> str:
    """Write a time as the audit log does."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S.%f")


def _cause(
    obj: Json, reference: Json, histories: Histories, created_at: float
) -> tuple[Cause, str]:
    owner = histories.get(reference["uid"])
    kinds = reference["kind"], obj["kind"]
    if owner is None or owner.place != _place(obj, reference):
        return Cause.LEAK, "the owner reference names an object that never existed"
    gone_from, gone_until = gone_between(owner, histories)
    if created_at >= gone_until:
        return Cause.LATE, f"{created_at - gone_until:.3f} s after the owner was gone"
    if owner.gone is None and created_at > gone_from:
        return Cause.LEAK, "the log does not prove that the owner still existed at its creation"
    if kinds in DELETED_BY_FINALIZER:
        return Cause.LEAK, "the finalizer state of its owner should have deleted it"
    return Cause.COLLECTOR, "the owner still existed at its creation"


def _place(obj: Json, reference: Json) -> Place:
    """Return where the owner must have been for the reference to be right."""
    return Place(f"{reference['kind'].lower()}s", obj["metadata"]["namespace"], reference["name"])
