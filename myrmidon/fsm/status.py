"""The status that follows from a finished walk: conditions, Ready, observedGeneration, references.

No lying: a condition says what this pass saw for the generation that it read.  What the pass did
not reach is kept only if it was observed for that very generation; branches not taken disappear
when the walk has come to an end.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from myrmidon.api.conditions import READY, ConditionValue, timestamp
from myrmidon.api.objects import Json, generation_of, version_of
from myrmidon.api.refs import ObjectRef
from myrmidon.api.requests import Request, Verb
from myrmidon.fsm.engine import Outcome, Visit
from myrmidon.fsm.graph import Graph
from myrmidon.patch.covering import covers
from myrmidon.patch.merge_patch import same

_READY = ConditionValue("True", "Ready")
_NOT_REACHED = ConditionValue("Unknown", "NotReached")
_VOLATILE = re.compile(r"\S*\d\S*")


def status_request(ref: ObjectRef, obj: Mapping[str, Any], status: Json) -> Request | None:
    """The one status write of a pass: only the fields that differ, None if none does.

    The list of conditions is shared with other writers and a merge patch replaces it, so the
    request is bound to the version that was read.  That also keeps it off a re-created namesake,
    which a uid would not: the server ignores one in a patch of /status.
    """
    current = obj.get("status") or {}
    changes = {
        field: value for field, value in status.items() if not _holds(current.get(field), value)
    }
    if not changes:
        return None
    body = {"metadata": {"resourceVersion": version_of(obj)}, "status": changes}
    return Request(Verb.PATCH, ref, body, subresource="status")


def status_after(
    outcome: Outcome,
    graph: Graph,
    obj: Mapping[str, Any],
    *,
    now: datetime,
    managed: Iterable[ObjectRef] = (),
    own_fields: Mapping[str, Any] | None = None,
    ready: bool = True,
) -> Json:
    """All status fields as they should be: the framework's and those that states have set."""
    current = obj.get("status") or {}
    status: Json = dict(own_fields or {})
    status["conditions"] = conditions_after(
        outcome, graph, current.get("conditions") or [], generation_of(obj), now, ready=ready
    )
    if generation_of(obj):
        status["observedGeneration"] = generation_of(obj)
    refs = [reference(ref) for ref in managed]
    if refs or current.get("resourceRefs"):
        status["resourceRefs"] = refs
    return status


def conditions_after(
    outcome: Outcome,
    graph: Graph,
    previous: Sequence[Any],
    generation: int,
    now: datetime,
    *,
    ready: bool = True,
) -> list[Json]:
    """The list of conditions after a pass; those of other writers stay as they are, where they are."""
    own = {*graph.conditions, READY} if ready else {*graph.conditions}
    typed = [(_type_of(raw), raw) for raw in previous]
    before = {kind: raw for kind, raw in typed if kind is not None and kind in own}
    made = _Making(before, generation, now)
    after = made.unvisited(outcome)
    after += [
        made.condition(visit.state.condition, visit.value, failed=visit.failed)
        for visit in outcome.visits
    ]
    if ready:
        failed = outcome.failure is not None
        after.append(made.condition(READY, _ready(outcome), failed=failed))
    return _in_place(typed, own, after)


def managed_after(
    recorded: Iterable[ObjectRef], applied: Iterable[ObjectRef], gone: Iterable[ObjectRef]
) -> tuple[ObjectRef, ...]:
    """What the object manages: all that was recorded or applied, without what is gone."""
    left = dict.fromkeys((*recorded, *applied))
    for ref in gone:
        left.pop(ref, None)
    return tuple(left)


def reference(ref: ObjectRef) -> Json:
    """A reference as ``status.resourceRefs`` holds it."""
    kind, name, namespace = ref
    entry = {"apiVersion": kind.api_version, "kind": kind.kind, "name": name}
    if namespace:
        entry["namespace"] = namespace
    return entry


# -------------------------------------------------------------------------------- inside


class _Making(NamedTuple):
    """What the conditions of a pass are made from, beside what they say.

    They are made as JSON, without a stop at ``Condition``: every pass over every object makes them.
    """

    before: Mapping[str, Json]
    generation: int
    now: datetime

    def condition(self, kind: str, value: ConditionValue, *, failed: bool = False) -> Json:
        """A condition without what only seems to change: the time unless it flips, noise in errors.

        The old one itself where nothing changes, so that comparing the two costs nothing.
        """
        status, reason, message, since = value.status, value.reason, value.message, None
        old = self.before.get(kind)
        if old is not None and old.get("status") == status:
            since = old.get("lastTransitionTime")
            if (
                failed
                and (old.get("reason"), old.get("observedGeneration")) == (reason, self.generation)
                and _differ_in_noise_only(str(old.get("message")), message)
            ):
                message = old["message"]
        made = {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": self.generation,
            "lastTransitionTime": since or timestamp(self.now),
        }
        return old if old == made else made

    def unvisited(self, outcome: Outcome) -> list[Json]:
        """Conditions of states that this pass did not reach, as far as they may stay."""
        if outcome.ended:
            return []
        passed = {READY, *(visit.state.condition for visit in outcome.visits)}
        return [
            raw
            if raw.get("observedGeneration") == self.generation
            else self.condition(kind, _NOT_REACHED)
            for kind, raw in self.before.items()
            if kind not in passed
        ]


def _differ_in_noise_only(old: str, new: str) -> bool:
    """Whether two errors are one error with another address, time or id in it.

    Writing each of them would change the object on every attempt.
    """
    return _VOLATILE.sub("#", old) == _VOLATILE.sub("#", new)


def _ready(outcome: Outcome) -> ConditionValue:
    wanting = [visit for visit in outcome.visits if visit.value.status != "True"]
    if outcome.ended and not wanting and not outcome.unsettled:
        return _READY
    if wanting:
        message = "; ".join(_named(visit) for visit in wanting)
        return ConditionValue("False", wanting[0].value.reason, message)
    if outcome.failure is not None:
        return ConditionValue("False", outcome.failure.reason, outcome.failure.message)
    return ConditionValue("False", "InProgress", "the walk has not reached an end")


def _named(visit: Visit) -> str:
    """A condition that is not True: its name, and whether it is known to be False."""
    return f"{visit.state.condition} is {visit.value.status} ({visit.value.reason})"


def _type_of(raw: Any) -> str | None:
    """The type of a condition; None for what is none, which then nobody touches."""
    found = raw.get("type") if isinstance(raw, dict) else None
    return found if isinstance(found, str) else None


def _in_place(
    typed: Iterable[tuple[str | None, Any]], own: set[str], after: Sequence[Json]
) -> list[Json]:
    """Put our conditions where they were, others' untouched between them, new ones at the end."""
    left = {condition["type"]: condition for condition in after}
    placed: list[Json] = []
    for kind, raw in typed:
        if kind not in own:
            placed.append(raw)
        elif kind in left:
            placed.append(left.pop(kind))
    return [*placed, *left.values()]


def _holds(there: Any, wanted: Any) -> bool:
    if wanted is None:
        return there is None
    if isinstance(wanted, dict):
        return covers(there, wanted)
    return there is not None and same(there, wanted)
