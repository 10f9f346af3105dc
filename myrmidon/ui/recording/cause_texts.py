"""What woke a pass, as the end of a sentence that begins with "woken by"."""

from myrmidon.fsm.context import Cause

_EVENTS = {
    "create": "the creation of",
    "update": "a change of",
    "delete": "the deletion of",
    "generic": "a look at",
}
_WITHOUT_OBJECT = {
    "timer": "its timer",
    "resync": "the regular resync",
    "schedule": "its schedule",
    "again": "the last pass, which changed objects that it had read before",
    "channel": "a source outside the cluster",
}


def cause_text(cause: Cause) -> str:
    """Return what woke a pass, in words."""
    if cause.relation in _WITHOUT_OBJECT:
        return _WITHOUT_OBJECT[cause.relation]
    event = _EVENTS[cause.event]
    if cause.relation == "self" or cause.ref is None:
        return f"{event} the object itself"
    named = f"{cause.ref.kind.kind} {cause.ref.key}"
    if cause.relation == "read":
        return f"{event} {named}, which state {cause.state} read"
    return f"{event} {'its child' if cause.relation == 'child' else 'the related'} {named}"
