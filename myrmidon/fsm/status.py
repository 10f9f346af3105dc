"""The status that follows from a finished walk: conditions, Ready, observedGeneration, references.

No lying: a condition says what this pass saw for the generation that it read.  What the pass did
not reach is kept only if it was observed for that very generation; branches not taken disappear
when the walk has come to an end.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from myrmidon.api.conditions import READY, ConditionValue, timestamp
from myrmidon.api.objects import Json, conditions_in, generation_of, status_fields, version_of
from myrmidon.api.refs import ObjectRef
from myrmidon.api.requests import Request, Verb
from myrmidon.fsm.engine import Outcome, Visit
from myrmidon.fsm.graph import Graph
from myrmidon.patch.covering import covers
from myrmidon.patch.merge_patch import same

T = TypeVar("T")
_Said: TypeAlias = tuple[ConditionValue, bool]  # the second: whether it is a failure

_READY = ConditionValue("True", "Ready")
_NOT_REACHED = (ConditionValue("Unknown", "NotReached"), False)
_VOLATILE = re.compile(r"\S*\d\S*")


def status_request(ref: ObjectRef, obj: Mapping[str, Any], status: Json) -> Request | None:
    """The one status write of a pass: only the fields that differ, None if none does.

    The list of conditions is shared with other writers and a merge patch replaces it, so the
    request is bound to the version that was read.  That also keeps it off a re-created namesake,
    which a uid would not: the server ignores one in a merge patch of /status.  Where another
    writer was faster, ``status_edits`` makes a request that needs no lock.
    """
    changes = changes_of(obj, status)
    if not changes:
        return None
    body = {"metadata": {"resourceVersion": version_of(obj)}, "status": changes}
    return Request(Verb.PATCH, ref, body, subresource="status")


def changes_of(obj: Mapping[str, Any], status: Json) -> Json:
    """The fields of a status that the object does not hold yet."""
    current = status_fields(obj)
    return {
        field: value for field, value in status.items() if not _holds(current.get(field), value)
    }


def status_after(
    outcome: Outcome,
    graph: Graph,
    obj: Mapping[str, Any],
    *,
    now: datetime,
    managed: Iterable[ObjectRef] = (),
    own_fields: Mapping[str, Any] | None = None,
    ready: bool = True,
    generation: int | None = None,
    hint: str = "",
    former: tuple[str, ...] = (),
) -> Json:
    """All status fields as they should be: the framework's and those that states have set.

    ``generation`` is the one that the pass read, where ``obj`` may be newer.  ``hint`` ends the
    message of a Ready that is not True.  Conditions of the types in ``former`` are removed: states
    of an older version of the controller wrote them.
    """
    current = status_fields(obj)
    generation = generation_of(obj) if generation is None else generation
    status: Json = dict(own_fields or {})
    status["conditions"] = conditions_after(
        outcome,
        graph,
        conditions_in(obj),
        generation,
        now,
        ready=ready,
        hint=hint,
        former=former,
    )
    if generation:
        status["observedGeneration"] = generation
    refs = [reference(ref) for ref in managed]
    recorded = current.get("resourceRefs")
    if refs or recorded:
        status["resourceRefs"] = _kept(recorded, refs)
    return status


def conditions_after(
    outcome: Outcome,
    graph: Graph,
    previous: Sequence[Any],
    generation: int,
    now: datetime,
    *,
    ready: bool = True,
    hint: str = "",
    former: tuple[str, ...] = (),
) -> list[Json]:
    """The list of conditions after a pass, each where it was, those of other writers untouched."""
    own = (*graph.conditions, READY) if ready else graph.conditions
    left: dict[str, _Said] = {
        state.condition: (value, failed) for state, value, failed in outcome.visits
    }
    if ready:
        value = _ready(outcome)
        if hint and value.status != "True":
            value = value._replace(message=f"{value.message}; {hint}")
        left[READY] = (value, outcome.failure is not None)
    if not outcome.ended:  # else, branches not taken disappear
        for kind in graph.conditions:
            left.setdefault(kind, _NOT_REACHED)
    after: list[Any] = []
    for raw in previous:
        found = raw.get("type") if isinstance(raw, dict) else None
        if found not in own:
            if found not in former:
                after.append(raw)
        elif found in left:
            said = left.pop(found)
            stays = said is _NOT_REACHED and raw.get("observedGeneration") == generation
            after.append(raw if stays else _condition(found, said, raw, generation, now))
    after += [
        _condition(kind, said, None, generation, now)
        for kind, said in left.items()
        if said is not _NOT_REACHED
    ]
    return _kept(previous, after)


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


def _condition(kind: str, said: _Said, old: Json | None, generation: int, now: datetime) -> Json:
    """A condition without what only seems to change: the time unless it flips, noise in errors.

    It is made as JSON, without a stop at ``Condition``: every pass over every object makes them.
    """
    (status, reason, message), failed = said
    since = None
    if old is not None and old.get("status") == status:
        since = old.get("lastTransitionTime")
        if (
            failed
            and (old.get("reason"), old.get("observedGeneration")) == (reason, generation)
            and _differ_in_noise_only(str(old.get("message")), message)
        ):
            message = old["message"]
    made = {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": since or timestamp(now),
    }
    return _kept(old, made)


def _kept(old: Any, new: T) -> T:
    """The old value itself where it says the same, so that comparing the two costs nothing."""
    return old if old == new else new


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


def _holds(there: Any, wanted: Any) -> bool:
    if there is wanted:
        return True
    return covers(there, wanted) if isinstance(wanted, dict) else same(there, wanted)
