"""Conditions in a status, as plain JSON: for the objects that the server itself keeps."""

from myrmidon.api.objects.accessors import Json


def condition(status: Json, wanted: str) -> Json | None:
    """One condition of a status."""
    return next((each for each in status.get("conditions") or () if each["type"] == wanted), None)


def is_true(status: Json, wanted: str) -> bool:
    """Whether a condition is there and true."""
    found = condition(status, wanted)
    return found is not None and found["status"] == "True"


def with_condition(status: Json, now: str, wanted: tuple[str, str, str, str]) -> Json:
    """The status with a condition (type, status, reason, message) set.

    Its time moves only when its value does.
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
