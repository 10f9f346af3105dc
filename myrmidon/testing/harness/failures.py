"""What a failed test prints: the object, its state, the reason, and the server's refusal.

It is printed in three places.  ``NotSettledError`` and ``NotAtRestError`` have it in their message.
For any other failure it is a note on the exception (``with Harness(...)``) or a section of pytest's
report (the fixture ``harness``).  The captured log contains each failure once, with its traceback;
retries that fail in the same way are left out.
"""

import logging
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from myrmidon.api.objects.accessors import Json, generation_of, is_deleting, uid_of
from myrmidon.api.objects.conditions import READY, Condition, find
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.values.texts import shortened
from myrmidon.fsm.machine.graph import Graph
from myrmidon.patch.diff import difference
from myrmidon.runtime.logs import ROOT
from myrmidon.testing.harness.recording import Exchange

_PASSES = f"{ROOT}.controller"  # the logger of passes
_MESSAGE_MAX = 2000
_DIGITS = re.compile(r"\d+")
_NOISE = ("managedFields", "resourceVersion", "generation")


class NotSettledError(AssertionError):
    """The controllers did not settle in the time that the test allowed."""


class NotAtRestError(AssertionError):
    """Converged controllers wrote although no object had changed."""


def told(written: Iterable[Exchange], before: Iterable[Json] = ()) -> str:
    """Return one paragraph per write: the request, and the fields that it changed."""
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


def told_object(ref: ObjectRef, obj: Json | None, graph: Graph) -> list[str]:
    """Return the lines about one object: its conditions that are not True, with reasons."""
    lines = [f"  {ref}"]
    if obj is None:
        return [*lines, "      it is gone, or has not been seen yet"]
    if is_deleting(obj):
        lines.append("      it is being deleted")
    ready = find(obj, READY)
    if ready is None:
        return [*lines, "      no pass over it has ended yet: it has no condition Ready"]
    failing = [
        (f"state {state.name}", condition)
        for state in graph.states.values()
        if (condition := find(obj, state.condition)) is not None
        and condition.status != "True"
        and condition.reason != "NotReached"
    ]
    if not failing and ready.status != "True":
        failing = [("the walk", ready)]
    for where, condition in failing:
        lines += _told_condition(where, condition)
    if ready.observed_generation != generation_of(obj):
        lines.append(
            f"      it has generation {generation_of(obj)}; "
            f"its conditions are of generation {ready.observed_generation}"
        )
    return lines


def _told_condition(where: str, condition: Condition) -> list[str]:
    message = shortened(condition.message, _MESSAGE_MAX).splitlines() or [""]
    first = f"      {where}: {condition.type} is {condition.status} ({condition.reason})"
    return [f"{first}: {message[0]}".rstrip(": "), *(f"        {line}" for line in message[1:])]


def last_refusal(written: Sequence[Exchange], ref: ObjectRef) -> str:
    """Return the last write to that object and the server's message if it was refused, else ""."""
    path = f"/{ref.kind.plural}/{ref.name}"
    for one in reversed(written):
        if one.path.endswith((path, f"{path}/status")):
            message = shortened(str(one.answer.get("message")), _MESSAGE_MAX)
            return f"{one}: {message}" if one.status >= 400 else ""
    return ""


class OncePerFailure(logging.Filter):
    """Log filter: lets each failure of an object pass once, however often it is retried."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[tuple[str, ...]] = set()

    def start(self) -> None:
        """Begin to filter the log of the controllers; failures seen before count as new."""
        self._seen.clear()
        logging.getLogger(_PASSES).addFilter(self)

    def stop(self) -> None:
        """Stop filtering."""
        logging.getLogger(_PASSES).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged: always below WARNING, else if it is new."""
        if record.levelno < logging.WARNING:
            return True
        facts = getattr(record, "facts", None) or {}
        named = (facts.get(name, "") for name in ("controller", "object", "state", "reason"))
        error = _DIGITS.sub("#", str(facts.get("error", "")))[:_MESSAGE_MAX]
        line = (str(record.msg), *map(str, named), error)
        new = line not in self._seen
        self._seen.add(line)
        return new


def compared(left: Any, right: Any) -> list[str] | None:
    """Return pytest's explanation of a comparison with a list of writes; None for other values."""
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
    """Return the object without the fields that change with every write."""
    meta = {key: value for key, value in obj.get("metadata", {}).items() if key not in _NOISE}
    return {**obj, "metadata": meta}


def next_pass(due_at: float | None, now: float) -> str:
    """Say when an object gets its next pass; both times are those of the event loop."""
    if due_at is None:
        return "no pass is owed until it changes"
    if due_at <= now:
        return "its next pass is due"
    return f"its next pass is due in {timedelta(seconds=round(due_at - now, 3))}"
