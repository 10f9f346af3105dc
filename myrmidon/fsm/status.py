"""The status that follows from a finished walk: conditions, Ready, observedGeneration, references.

No lying: a condition says what this pass saw for the generation that it read.  What the pass did
not reach is kept only if it was observed for that very generation; branches not taken disappear
when the walk has come to an end.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from myrmidon.api.conditions import READY, Condition, ConditionValue, timestamp
from myrmidon.api.objects import Json, generation_of, version_of
from myrmidon.api.refs import ObjectRef
from myrmidon.api.requests import Request, Verb
from myrmidon.fsm.engine import Outcome, Visit
from myrmidon.fsm.graph import Graph
from myrmidon.patch.covering import covers
from myrmidon.patch.merge_patch import same

_READY_VALUE = ConditionValue("True", "Ready")
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
    if _say_so_already(previous, own, outcome, generation):
        return list(previous)
    read = [Condition.from_json(raw) for raw in previous]
    before = {one.type: one for one in read if one is not None and one.type in own}
    after = _unvisited(before, outcome, generation)
    after += [
        _steady(_condition(visit, generation), before, failed=visit.failed)
        for visit in outcome.visits
    ]
    if ready:
        failed = outcome.failure is not None
        after.append(_steady(_ready(outcome, generation), before, failed=failed))
    return _in_place(zip(previous, read, strict=True), own, _stamped(after, before, now))


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
    entry = {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "name": ref.name}
    return {**entry, "namespace": ref.namespace} if ref.namespace else entry


# -------------------------------------------------------------------------------- inside


def _say_so_already(
    previous: Sequence[Any], own: set[str], outcome: Outcome, generation: int
) -> bool:
    """Whether the conditions are those of a success, which most passes are: nothing will change."""
    if not outcome.ended or outcome.unsettled:
        return False
    wanted = {visit.state.condition: visit.value for visit in outcome.visits}
    if READY in own:
        if any(value.status != "True" for value in wanted.values()):
            return False
        wanted[READY] = _READY_VALUE
    for raw in previous:
        if not isinstance(raw, dict):
            return False
        if raw.get("type") not in own:
            continue
        value = wanted.pop(raw["type"], None)
        if value is None or not raw.get("lastTransitionTime"):
            return False
        fields = {"lastTransitionTime": raw["lastTransitionTime"], "type": raw["type"]}
        said = {"status": value.status, "reason": value.reason, "message": value.message}
        if raw != {**fields, **said, "observedGeneration": generation}:
            return False
    return not wanted


def _condition(visit: Visit, generation: int) -> Condition:
    value = visit.value
    return Condition(visit.state.condition, value.status, value.reason, value.message, generation)


def _stamped(
    conditions: list[Condition], before: Mapping[str, Condition], now: datetime
) -> list[Condition]:
    """The conditions with a time for those that have just flipped; mostly there are none."""
    return [
        one
        if one.last_transition_time or one is before.get(one.type)
        else replace(one, last_transition_time=timestamp(now))
        for one in conditions
    ]


def _steady(new: Condition, before: Mapping[str, Condition], *, failed: bool = False) -> Condition:
    """The condition without what only seems to change: the time unless it flips, noise in errors."""
    old = before.get(new.type)
    if old is None or old.status != new.status:
        return new
    message = old.message if failed and _differs_in_noise_only(old, new) else new.message
    since = old.last_transition_time
    return Condition(new.type, new.status, new.reason, message, new.observed_generation, since)


def _differs_in_noise_only(old: Condition, new: Condition) -> bool:
    """Whether two errors are one error with another address, time or id in it.

    Writing each of them would change the object on every attempt.
    """
    return (old.reason, old.observed_generation) == (new.reason, new.observed_generation) and (
        _VOLATILE.sub("#", old.message) == _VOLATILE.sub("#", new.message)
    )


def _unvisited(
    before: Mapping[str, Condition], outcome: Outcome, generation: int
) -> list[Condition]:
    """Conditions of states that this pass did not reach, as far as they may stay."""
    if outcome.ended:
        return []
    passed = {READY, *(visit.state.condition for visit in outcome.visits)}
    left = [condition for condition in before.values() if condition.type not in passed]
    return [
        condition
        if condition.observed_generation == generation
        else _steady(_not_reached(condition.type, generation), before)
        for condition in left
    ]


def _not_reached(condition_type: str, generation: int) -> Condition:
    return Condition(condition_type, "Unknown", "NotReached", "", generation)


def _ready(outcome: Outcome, generation: int) -> Condition:
    wanting = [visit for visit in outcome.visits if visit.value.status != "True"]
    if outcome.ended and not wanting and not outcome.unsettled:
        return Condition(READY, "True", "Ready", "", generation)
    if wanting:
        reason = wanting[0].value.reason
        message = "; ".join(_named(visit) for visit in wanting)
    elif outcome.failure is not None:
        reason, message = outcome.failure.reason, outcome.failure.message
    else:
        reason, message = "InProgress", "the walk has not reached an end"
    return Condition(READY, "False", reason, message, generation)


def _named(visit: Visit) -> str:
    """A condition that is not True: its name, and whether it is known to be False."""
    return f"{visit.state.condition} is {visit.value.status} ({visit.value.reason})"


def _in_place(
    previous: Iterable[tuple[Any, Condition | None]], own: set[str], after: Sequence[Condition]
) -> list[Json]:
    """Put our conditions where they were, others' untouched between them, new ones at the end."""
    left = {condition.type: condition for condition in after}
    placed: list[Json] = []
    for raw, condition in previous:
        if condition is None or condition.type not in own:
            placed.append(raw)
        elif condition.type in left:
            placed.append(left.pop(condition.type).to_json())
    return placed + [condition.to_json() for condition in left.values()]


def _holds(there: Any, wanted: Any) -> bool:
    if wanted is None:
        return there is None
    if isinstance(wanted, dict):
        return covers(there, wanted)
    return there is not None and same(there, wanted)
