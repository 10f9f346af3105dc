"""Conditions in the status of objects that the server itself maintains, as plain JSON."""

from myrmidon.api.objects.accessors import Json


def condition(status: Json, wanted: str) -> Json | None:
    """Return the condition of a type, or None if the status does not have it."""
    return next((each for each in status.get("conditions") or () if each["type"] == wanted), None)


def is_true(status: Json, wanted: str) -> bool:
    """Whether the status has a condition of this type, and it is True."""
    found = condition(status, wanted)
    return found is not None and found["status"] == "True"


def with_condition(status: Json, now: str, wanted: tuple[str, str, str, str]) -> Json:
    """Return the status with a condition (type, status, reason, message) set.

    ``lastTransitionTime`` changes only when the status of the condition does.
    """
    kind, value, reason, message = wanted
    old = condition(status, kind)
    since = old["lastTransitionTime"] if old and old["status"] == value else now
    new = {
        "type": kind,
        "status": value,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    listed = list(status.get("conditions") or ())
    if old is None:
        listed.append(new)
    else:
        listed[listed.index(old)] = new
    return {**status, "conditions": listed}
