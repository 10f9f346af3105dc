"""Why the garbage collector of kube-controller-manager misses the deletion of a parent.

Its informers know objects by namespace and name.  While a watch is broken, a parent may be deleted
and created again under its name.  The list after the outage then has another object under the name
that the informer knows, and the informer reports an update.  The garbage collector handles an update
by the uid of the new object alone, so the old one stays in its graph as if it existed, and the
children of the old one are never looked at.  It learns better only when it is started again.

The audit log proves it: it has no watch event, but it has each list of the garbage collector, so it
shows whether the parent's name was in use again when the garbage collector listed its kind for the
first time after the deletion.
"""

from collections.abc import Iterable, Mapping

from tests.soak.audit import code_of, event_of, times_of, user_of
from tests.soak.histories import Histories, gone_between

USER = "system:kube-controller-manager"
_STREAMED = "sendInitialEvents=true"  # a watch that begins with a list

Lists = Mapping[str, list[float]]


def lists(lines: Iterable[str]) -> dict[str, list[float]]:
    """Return when the garbage collector asked for a list of each resource, in order."""
    found: dict[str, list[float]] = {}
    for line in lines:
        event = event_of(line, "ResponseStarted") if _STREAMED in line else event_of(line)
        if event is None or user_of(event) != USER or code_of(event) != 200:
            continue
        if event["verb"] == "list" or _STREAMED in event["requestURI"]:
            resource = event["objectRef"]["resource"]
            found.setdefault(resource, []).append(times_of(event)[0])
    return {resource: sorted(times) for resource, times in found.items()}


def is_hidden(uid: str, histories: Histories, listed: Lists) -> bool:
    """Whether the object's name was created again before the garbage collector listed its kind."""
    old = histories[uid]
    gone_at = gone_between(old, histories)[1]
    again_at = min(
        (
            one.created.answered_at
            for one in histories.values()
            if one.place == old.place and one.created and one.created.received_at >= gone_at
        ),
        default=float("inf"),
    )
    next_list = min(
        (at for at in listed.get(old.place.resource, ()) if at >= gone_at), default=None
    )
    return next_list is not None and again_at <= next_list
