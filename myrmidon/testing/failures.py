"""What a failed test says: which object, which field, before and after."""

from collections.abc import Iterable
from typing import Any

from myrmidon.api.objects import Json, uid_of
from myrmidon.patch.diff import difference
from myrmidon.testing.recording import Exchange

_NOISE = ("managedFields", "resourceVersion", "generation")


class NotSettledError(AssertionError):
    """The controllers did not come to rest in the time that they were given."""


class NotAtRestError(AssertionError):
    """Controllers wrote although nothing had changed."""


def told(written: Iterable[Exchange], before: Iterable[Json] = ()) -> str:
    """Writes, one paragraph each: the request, and what it changed field by field."""
    known = {uid_of(obj): obj for obj in before}
    lines: list[str] = []
    for one in written:
        answer = one.answer
        lines.append(f"  {one}")
        if one.status >= 400:
            lines.append(f"      refused: {answer.get('message')}")
            continue
        if answer.get("kind") == "Status":
            continue
        was = known.get(uid_of(answer))
        lines += [f"      {line}" for line in _changes(was, answer)]
        known[uid_of(answer)] = answer
    return "\n".join(lines)


def compared(left: Any, right: Any) -> list[str] | None:
    """How pytest tells of a comparison with a list of writes; None where it is about others."""
    exchanges = left if _are_exchanges(left) else right if _are_exchanges(right) else None
    if exchanges is None:
        return None
    other = right if exchanges is left else left
    wanted = f"{len(other)} were expected" if isinstance(other, list) else f"{other!r}"
    return [f"{len(exchanges)} writes, and {wanted}", *told(exchanges).splitlines()]


def _are_exchanges(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Exchange)


def _changes(was: Json | None, became: Json) -> list[str]:
    if was is None:
        return []
    found = difference(_quiet(was), _quiet(became))
    return found or ["(no field changed)"]


def _quiet(obj: Json) -> Json:
    """The object without what changes with every write."""
    meta = {key: value for key, value in obj.get("metadata", {}).items() if key not in _NOISE}
    return {**obj, "metadata": meta}
