"""Why the garbage collector of kube-controller-manager misses the deletion of a parent.

Its informers know objects by namespace and name.  While a watch is broken, a parent may be deleted
and created again under its name.  The list after the outage then has another object under the name
that the informer knows, and the informer reports an update.  The garbage collector handles an update
by the uid of the new object alone, so the old one stays in its graph as if it existed, and the
children of the old one are never looked at.  It learns better only when it is started again.

The audit log proves it, because it has each watch and list of the garbage collector: a deletion is
*hidden* if no watch of the parent's kind was open at that time, the next request was a list and not
a resumed watch, and the name was in use again before that list.  A watch ends with its own last line
in the log or, if the API server was killed, before the next API server starts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.soak.audit import code_of, event_of, times_of, user_of
from tests.soak.histories import Histories

USER = "system:kube-controller-manager"
_SERVER = "system:apiserver"
_LISTS = "sendInitialEvents=true"  # a watch that begins with a list
_RESUMED_SECONDS_MIN = 1.0  # a watch that ends earlier was refused: its version was too old


@dataclass(slots=True)
class Watch:
    """A watch of one resource; a plain list begins and ends at the same time."""

    began_at: float
    ended_at: float
    lists: bool

    @property
    def is_refused(self) -> bool:
        """Whether it ended at once and delivered nothing."""
        return not self.lists and self.ended_at - self.began_at < _RESUMED_SECONDS_MIN


Watches = Mapping[str, Sequence[Watch]]


def watches(lines: Iterable[str]) -> dict[str, list[Watch]]:
    """Return the watches and lists of the garbage collector for each resource, in order."""
    found: dict[str, dict[str, Watch]] = {}
    starts: list[float] = []
    for line in lines:
        event = event_of(line, "ResponseStarted", "ResponseComplete")
        if event is None:
            continue
        if _is_server_start(event):
            starts.append(times_of(event)[0])
        elif (
            user_of(event) == USER and event["verb"] in ("list", "watch") and code_of(event) == 200
        ):
            _note(found.setdefault(event["objectRef"]["resource"], {}), event)
    for by_id in found.values():
        for watch in by_id.values():
            later = (at for at in starts if watch.began_at < at)
            watch.ended_at = min(watch.ended_at, min(later, default=watch.ended_at))
    return {
        resource: sorted(by_id.values(), key=lambda watch: watch.began_at)
        for resource, by_id in found.items()
    }


def is_hidden(uid: str, histories: Histories, seen: Watches) -> bool:
    """Whether the garbage collector could not see that this object was deleted."""
    old = histories[uid]
    if old.gone is None:
        return False
    gone_at = old.gone.answered_at
    requests = [one for one in seen.get(old.place.resource, ()) if not one.is_refused]
    if any(one.began_at <= gone_at < one.ended_at for one in requests):
        return False
    after = next((one for one in requests if one.began_at > gone_at), None)
    if after is None or not after.lists:
        return False
    return any(
        one.created is not None and gone_at <= one.created.answered_at <= after.began_at
        for one in histories.values()
        if one.place == old.place and one.uid != uid
    )


def _note(by_id: dict[str, Watch], event: Mapping[str, Any]) -> None:
    received_at, stage_at = times_of(event)
    lists = event["verb"] == "list" or _LISTS in event["requestURI"]
    watch = by_id.setdefault(event["auditID"], Watch(received_at, float("inf"), lists))
    if event["stage"] == "ResponseComplete":
        watch.ended_at = stage_at


def _is_server_start(event: Mapping[str, Any]) -> bool:
    """Whether a new API server replaces the Lease of its identity, as it does when it starts."""
    target = event.get("objectRef") or {}
    is_lease = target.get("resource") == "leases" and target.get("namespace") == "kube-system"
    return is_lease and event["verb"] in ("create", "delete") and user_of(event) == _SERVER
