"""What the audit log of the API server proves about leadership and rest.

All times are those of the one API server, so clocks need not be compared.  A write of the Lease is
logged with its body and its answer; the resourceVersion in the answer orders these writes as etcd
committed them.  Every process life of a replica is a user of its own, with the name of its identity.

Rules, for a write W (anything but a Lease) of replica X:

1. The last Lease write of a replica that was received before W makes X the holder.
2. W was received at most ``lease_seconds`` after X's last successful renewal was received.

Both follow from Q6: X counts from before it sent the renewal, sends nothing after ``renew_seconds``,
and gives up what is unanswered after ``lease_seconds``.  Deleting the Lease does not end X's right at
once (X cannot know), which is why rule 2 has to hold beside rule 1.  For the same reason edits of the
Lease by hand, and the creation of a Lease without a holder, are not counted in rule 1: what counts is
a replica that makes itself the holder, or gives the Lease back.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

_COMPLETE = ("ResponseComplete",)
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True, slots=True)
class Write:
    """One write that reached the API server."""

    user: str
    verb: str
    target: str
    code: int
    received_at: float
    answered_at: float
    line: str
    """The audit event, as evidence."""


@dataclass(frozen=True, slots=True)
class Held:
    """One successful write of the Lease, and the holder that it left; "" for none."""

    user: str
    holder: str
    version: int
    received_at: float
    answered_at: float


@dataclass(frozen=True, slots=True)
class Tenure:
    """Lease writes in a row with one holder."""

    holder: str
    began_at: float
    renewed_at: tuple[float, ...]
    """When each of its writes was received."""


@dataclass(frozen=True, slots=True)
class Log:
    """The audit log, sorted by what it is about."""

    leases: tuple[Held, ...]
    writes: tuple[Write, ...]


def read_log(lines: Iterable[str], lease: str, users: frozenset[str]) -> Log:
    """Read the lines that concern the Lease of that name or are writes of the users."""
    held: list[Held] = []
    writes: list[Write] = []
    for line in lines:
        event = event_of(line)
        if event is None or event.get("verb") not in WRITES:
            continue
        target = event.get("objectRef") or {}
        if target.get("resource") == "leases":
            if target.get("name") == lease or event["verb"] == "create":
                held.extend(_held(event, lease))
            continue
        if user_of(event) in users:
            writes.append(_write(event, line))
    held.sort(key=lambda one: one.version)
    writes.sort(key=lambda one: one.received_at)
    return Log(tuple(held), tuple(writes))


def tenures(leases: Iterable[Held]) -> list[Tenure]:
    """Return which replica held the Lease after which; "" after one that gave it back."""
    found: list[Tenure] = []
    for one in leases:
        current = found[-1] if found else Tenure("", float("-inf"), ())
        if found and one.holder == one.user == current.holder:
            found[-1] = Tenure(
                current.holder, current.began_at, (*current.renewed_at, one.received_at)
            )
        elif one.user == one.holder or (not one.holder and one.user == current.holder):
            found.append(Tenure(one.holder, one.received_at, (one.received_at,)))
    return found


def violations(log: Log, lease_seconds: float) -> list[str]:
    """Return one text for each write that its sender had no right to; the module says the rules."""
    found: list[str] = []
    history = tenures(log.leases)
    position, current = 0, Tenure("", float("-inf"), ())
    for write in log.writes:
        while position < len(history) and history[position].began_at <= write.received_at:
            current = history[position]
            position += 1
        problem = _problem(write, current, lease_seconds)
        if problem:
            found.append(f"{problem}\n    {write.line.strip()}")
    return found


def longest_gap(leases: Iterable[Held], until: float) -> float:
    """Return the longest time without a renewal by any holder."""
    times = [one.received_at for one in leases if one.holder and one.holder == one.user]
    return max((later - one for one, later in pairwise([*times, until])), default=0.0)


def takeovers(leases: Iterable[Held]) -> int:
    """Return how often a replica got the Lease."""
    return sum(bool(one.holder) for one in tenures(leases))


def writes_between(log: Log, start: float, end: float) -> list[Write]:
    """Return the writes that were received in a span of time."""
    return [one for one in log.writes if start <= one.received_at < end]


def summary(writes: Iterable[Write]) -> Counter[str]:
    """Count writes by verb and resource."""
    return Counter(f"{one.verb} {one.target.partition(' ')[0]}" for one in writes)


# ------------------------------------------------------------- the fields of an audit event


def event_of(line: str, *stages: str) -> dict[str, Any] | None:
    """Return the event of a line; None for another stage, or a line that a killed server cut off."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return (
        event if isinstance(event, dict) and event.get("stage") in (stages or _COMPLETE) else None
    )


def user_of(event: Mapping[str, Any]) -> str:
    """Return the user whose request it was."""
    user = event.get("impersonatedUser") or event.get("user") or {}
    return str(user.get("username", ""))


def code_of(event: Mapping[str, Any]) -> int:
    """Return the status code of the answer; 0 if there is none."""
    return int((event.get("responseStatus") or {}).get("code", 0))


def times_of(event: Mapping[str, Any]) -> tuple[float, float]:
    """Return when the request was received and when it was answered."""
    names = ("requestReceivedTimestamp", "stageTimestamp")
    received_at, answered_at = (datetime.fromisoformat(event[name]).timestamp() for name in names)
    return received_at, answered_at


# ------------------------------------------------------------------------------------- inside


def _problem(write: Write, current: Tenure, lease_seconds: float) -> str:
    what = f"{write.user} sent {write.verb} {write.target} ({write.code})"
    if current.holder != write.user:
        late = write.received_at - current.began_at
        return f"{what} {late:.3f} s after {current.holder or 'no replica'} became the holder"
    renewed_at = max(at for at in current.renewed_at if at <= write.received_at)
    age = write.received_at - renewed_at
    if age > lease_seconds:
        return f"{what} {age:.3f} s after its last renewal; the lease lasts {lease_seconds:g} s"
    return ""


def _held(event: Mapping[str, Any], lease: str) -> Iterator[Held]:
    answer = event.get("responseObject") or {}
    meta = answer.get("metadata") or {}
    if code_of(event) >= 300 or answer.get("kind") != "Lease" or meta.get("name") != lease:
        return
    holder = (answer.get("spec") or {}).get("holderIdentity") or ""
    received_at, answered_at = times_of(event)
    yield Held(user_of(event), holder, int(meta["resourceVersion"]), received_at, answered_at)


def _write(event: Mapping[str, Any], line: str) -> Write:
    target = event.get("objectRef") or {}
    resource = "/".join(filter(None, (target.get("resource"), target.get("subresource"))))
    place = "/".join(filter(None, (target.get("namespace"), target.get("name"))))
    received_at, answered_at = times_of(event)
    return Write(
        user=user_of(event),
        verb=event["verb"],
        target=f"{resource} {place}",
        code=code_of(event),
        received_at=received_at,
        answered_at=answered_at,
        line=line,
    )
