"""When each object was created and deleted, and by which user, from the API server's audit log.

The log must hold the answers to all writes (level RequestResponse), because only an answer has the
uid.  An object is gone with the answer

- to a delete, if the answer is a Status: it carries the uid in its details;
- to an update or patch that removed the last finalizer: the answer is the object, with a
  deletionTimestamp and without finalizers.

A delete that is answered with the object itself only began the deletion.  All times are those of
the API server.  A request takes effect at some time between its arrival and its answer.

An API server that is killed between a write to etcd and the line in its log leaves no trace of the
write.  For an object whose deletion is missing for this reason, ``gone_between`` gives bounds: it
was there when the log shows it for the last time, and it was gone when its name was created again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.soak.audit import WRITES, code_of, event_of, times_of, user_of


class Moment(NamedTuple):
    """A request that took effect: when it was received and answered, and its user."""

    received_at: float
    answered_at: float
    user: str


class Place(NamedTuple):
    """A kind, namespace and name, which several objects may have had."""

    resource: str
    namespace: str
    name: str


@dataclass(slots=True)
class History:
    """What is known about one object."""

    uid: str
    place: Place
    created: Moment | None = None
    gone: Moment | None = None
    seen_at: float = 0.0
    """When the last request that shows the object as existing was answered."""


Histories = Mapping[str, History]


def read(lines: Iterable[str]) -> dict[str, History]:
    """Return the history of each object in the log, by uid."""
    found: dict[str, History] = {}
    for line in lines:
        event = event_of(line)
        if event is None or event.get("verb") not in WRITES or code_of(event) >= 300:
            continue
        target = event.get("objectRef") or {}
        if not target.get("subresource"):
            _note(found, event, target)
    return found


def gone_between(history: History, others: Histories) -> tuple[float, float]:
    """Return two times, between which the object's deletion was completed."""
    if history.gone is not None:
        return history.gone.received_at, history.gone.answered_at
    successors = (
        other.created.received_at
        for other in others.values()
        if other.place == history.place and other.uid != history.uid and other.created is not None
    )
    later = (at for at in successors if at > history.seen_at)
    return history.seen_at, min(later, default=float("inf"))


def _note(found: dict[str, History], event: Mapping[str, Any], target: Mapping[str, Any]) -> None:
    answer = event.get("responseObject") or {}
    is_status = answer.get("kind") == "Status"
    meta = (answer.get("details") if is_status else answer.get("metadata")) or {}
    uid, name = str(meta.get("uid") or ""), str(meta.get("name") or "")
    if not uid:
        return
    place = Place(target.get("resource", ""), target.get("namespace", ""), name)
    history = found.setdefault(uid, History(uid, place))
    moment = Moment(*times_of(event), user_of(event))
    if event["verb"] == "create" or code_of(event) == 201:
        history.created = moment
    if is_status or (meta.get("deletionTimestamp") and not meta.get("finalizers")):
        history.gone = history.gone or moment
    else:
        history.seen_at = max(history.seen_at, moment.answered_at)
