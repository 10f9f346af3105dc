"""Make the JSON patch (RFC 6902) that turns one JSON document into another.

Lists are replaced as a whole.  An admission webhook answers with a JSON patch, and a replaced list
says the same as edits of its elements, whichever webhook ran before.
"""

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import same


def json_patch_between(before: Json, after: Json, at: str = "") -> list[Json]:
    """Return the operations that turn ``before`` into ``after``; none if they are equal."""
    made: list[Json] = [
        {"op": "remove", "path": _pointer(at, key)} for key in before if key not in after
    ]
    for key, wanted in after.items():
        path = _pointer(at, key)
        if key not in before:
            made.append({"op": "add", "path": path, "value": wanted})
        elif isinstance(wanted, dict) and isinstance(before[key], dict):
            made += json_patch_between(before[key], wanted, path)
        elif not same(before[key], wanted):
            made.append({"op": "replace", "path": path, "value": wanted})
    return made


def _pointer(at: str, key: str) -> str:
    return f"{at}/{key.replace('~', '~0').replace('/', '~1')}"
