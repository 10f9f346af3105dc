"""Compute an object's status from the outcome of a pass: conditions, Ready, observedGeneration.

``status_after`` returns all status fields as they should be, ``status_request`` the merge patch for
those that differ from the object.  A converged object differs in none, so nothing is sent.

The conditions follow these rules:

- The condition of a state that ran says what this pass saw, for the generation that it read.
- The condition of a state that the walk did not reach, because it stopped before, stays if it was
  observed for the same generation; if it is older, it becomes Unknown (``NotReached``).
- The conditions of branches that were not taken are removed once the walk has reached an end.
- ``Ready`` is True if the walk reached an end, every condition is True, and no state asked for
  another pass.
- ``Stalled`` is written while a state's output is stalled (``sets.contested_fields``), and removed after.
- With ``kstatus``, exactly one of ``Ready``, ``Reconciling`` and ``Stalled`` is True, so that
  kstatus, Flux and Argo CD can tell Current, InProgress and Failed apart: ``Stalled`` also for a
  failure that is not retried, ``Reconciling`` for everything else that is not Ready.  Either is
  removed when it does not apply.
- Conditions of other writers are not changed.

``status.resourceRefs`` records the children, so that a later pass can prune or delete them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from myrmidon.api.objects.accessors import (
    Json,
    conditions_in,
    generation_of,
    status_fields,
    version_of,
)
from myrmidon.api.objects.conditions import READY, RECONCILING, STALLED, ConditionValue
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Request, Verb
from myrmidon.api.typed.resource import Resource, status_patch
from myrmidon.api.values.equality import same
from myrmidon.api.values.json_values import NotJsonError, json_value
from myrmidon.api.values.texts import condition_message, is_shortened, printable, text_of
from myrmidon.api.values.timestamps import write_time
from myrmidon.errors import StatusError
from myrmidon.fsm.engine import Outcome, Visit
from myrmidon.fsm.machine.graph import Graph
from myrmidon.patch.covering import covers

T = TypeVar("T")
_Value: TypeAlias = tuple[ConditionValue, bool]  # the value, and whether the state failed

_READY = ConditionValue("True", "Ready")
_NOT_REACHED = (ConditionValue("Unknown", "NotReached"), False)
_CUT_WORDS = 5  # at the end of a shortened message: the cut word, and "(123 characters left out)"
_DIGIT = re.compile(r"\d")


def status_request(ref: ObjectRef, obj: Mapping[str, Any], status: Json) -> Request | None:
    """Return the merge patch of the status fields that differ from the object; None if none does.

    The list of conditions is shared with other writers and a merge patch replaces it, so the
    request carries the resourceVersion that was read.  That also keeps it from changing a new
    object with the same name; a uid would not, because the server ignores it in a merge patch of
    /status.  After a conflict, ``status_edits`` makes a request that needs no lock.
    """
    changes = changes_of(obj, status)
    if not changes:
        return None
    body = {"metadata": {"resourceVersion": version_of(obj)}, "status": changes}
    return Request(Verb.PATCH, ref, body, subresource="status")


def changes_of(obj: Mapping[str, Any], status: Json) -> Json:
    """Return the fields of ``status`` whose values differ from the object's."""
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
    managed: Iterable[ObjectRef] | None = (),
    own_fields: Mapping[str, Any] | None = None,
    ready: bool = True,
    generation: int | None = None,
    hint: str = "",
    former: tuple[str, ...] = (),
    kstatus: bool = False,
) -> Json:
    """Return all status fields as they should be: the framework's and those that states have set.

    - ``managed``: the children for ``resourceRefs``; None if the record is not to be changed.
    - ``own_fields``: the fields that states have set.
    - ``ready``: whether to write the condition Ready.  Default: True.
    - ``generation``: the generation that the pass read, if ``obj`` may be newer.  Default: that of
      ``obj``.
    - ``hint``: text to append to the message of a Ready that is not True.  Default: none.
    - ``former``: types of conditions to remove, because an older version of the controller wrote
      them.  Default: none.
    - ``kstatus``: whether to write ``Reconciling`` and ``Stalled``.  Default: False.
    """
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
        kstatus=kstatus,
    )
    if generation:
        status["observedGeneration"] = generation
    if managed is not None:
        refs = [reference(ref) for ref in managed]
        recorded = status_fields(obj).get("resourceRefs")
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
    kstatus: bool = False,
) -> list[Json]:
    """Return the list of conditions after a pass, by the rules at the top of this module.

    Existing conditions keep their order, and new ones are appended.
    """
    own = (*graph.conditions, READY) if ready else graph.conditions
    if kstatus:
        own = (*own, RECONCILING, STALLED)
    left = _said(outcome, graph, hint=hint, kstatus=kstatus)
    if not ready:
        del left[READY]
    after: list[Any] = []
    for raw in previous:
        found = raw.get("type") if isinstance(raw, dict) else None
        if found not in own and not _is_own_stall(raw, found):
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


def own_fields(resource: Resource[Any, Any]) -> Json:
    """Return what the states of this pass changed in the status, as a merge patch.

    Text that cannot be encoded is made printable.  A value that JSON cannot express, such as NaN,
    raises ``StatusError``: encoded as ``null`` it would delete the field.
    """
    try:
        changed = status_patch(resource)
        if not changed:
            return changed
        patch: Json = json_value(changed, "status", text=lambda text, _path: printable(text))
    except StatusError:
        raise
    except NotJsonError as error:
        raise StatusError(f"{resource!r}: {error}.\n  fix: {error.fix}") from error
    except Exception as error:
        raise StatusError(
            f"{resource!r}: its status cannot be written as JSON: {text_of(error)}.\n"
            "  fix: use strings, numbers, booleans, None, lists and dicts with string keys"
        ) from error
    return patch


def managed_after(
    recorded: Iterable[ObjectRef], applied: Iterable[ObjectRef], gone: Iterable[ObjectRef]
) -> tuple[ObjectRef, ...]:
    """Return the children for ``resourceRefs``: those recorded or applied, without those gone."""
    left = dict.fromkeys((*recorded, *applied))
    for ref in gone:
        left.pop(ref, None)
    return tuple(left)


def reference(ref: ObjectRef) -> Json:
    """Return an entry of ``status.resourceRefs``."""
    kind, name, namespace = ref
    entry = {"apiVersion": kind.api_version, "kind": kind.kind, "name": name}
    if namespace:
        entry["namespace"] = namespace
    if kind.cluster:
        entry["cluster"] = kind.cluster
    return entry


# --------------------------------------------------------------------------- conditions


def _said(outcome: Outcome, graph: Graph, *, hint: str, kstatus: bool) -> dict[str, _Value]:
    """Return the value of each condition after the pass, ``_NOT_REACHED`` for one to be kept."""
    left: dict[str, _Value] = {
        state.condition: (value, failed) for state, value, failed, _branch in outcome.visits
    }
    value = ready_of(outcome)
    if hint and value.status != "True":
        value = value._replace(message=f"{value.message}; {hint}")
    left[READY] = (value, outcome.failure is not None)
    if kstatus:
        left |= _progress(outcome, value)
    elif not outcome.ended and STALLED not in graph.conditions:  # the walk stops at a stalled state
        left |= _stalled(outcome)
    if not outcome.ended:  # otherwise branches not taken are removed
        for kind in graph.conditions:
            left.setdefault(kind, _NOT_REACHED)
    return left


def _stalled(outcome: Outcome) -> dict[str, _Value]:
    """Return the condition ``Stalled`` if an output of this pass is stalled, else an empty dict."""
    for visit in outcome.visits:
        if visit.value.reason == STALLED and visit.value.status == "False":
            return {STALLED: (ConditionValue("True", STALLED, visit.value.message), False)}
    return {}


def _progress(outcome: Outcome, ready: ConditionValue) -> dict[str, _Value]:
    """Return ``Reconciling`` or ``Stalled``, as kstatus defines them; neither if Ready is True."""
    failed = outcome.failure is not None
    if ready.status == "True":
        return {}
    stalled = _stalled(outcome)
    if stalled or not outcome.is_terminal:
        return stalled or {RECONCILING: (ready._replace(status="True"), failed)}
    said = "; ".join(f"{failure.reason}: {failure.message}" for failure in outcome.failures)
    return {STALLED: (ConditionValue("True", STALLED, said), True)}


def _is_own_stall(raw: Any, found: str | None) -> bool:
    """Whether the condition is a ``Stalled`` of ours; another writer's has a different reason."""
    return found == STALLED and raw.get("reason") == STALLED


def _condition(kind: str, said: _Value, old: Json | None, generation: int, now: datetime) -> Json:
    """Build a condition as JSON.

    lastTransitionTime moves only when status flips.  The message of a failure that differs from the
    old one only in addresses, times or ids is kept, so that retries do not change the object.
    """
    (status, reason, message), failed = said
    if message:
        message = condition_message(message)
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
        "lastTransitionTime": since or write_time(now),
    }
    return _kept(old, made)


def _kept(old: Any, new: T) -> T:
    """Return ``old`` itself if it equals ``new``, so that later comparisons are by identity."""
    return old if old == new else new


def _differ_in_noise_only(old: str, new: str) -> bool:
    """Whether two messages are the same error, apart from addresses, times or ids in them.

    Messages are at most 32,768 characters long and each word is compared once, so the cost is
    bounded and linear.  Shortened messages are compared up to where the shorter one ends: a longer
    number near the beginning moves the cut, but does not make it another error.
    """
    if old == new:
        return True
    before, after = _without_noise(old), _without_noise(new)
    if is_shortened(old) and is_shortened(new):
        common = min(len(before), len(after)) - _CUT_WORDS
        ends = before[common].removesuffix("…"), after[common].removesuffix("…")
        alike = "#" in ends or ends[0].startswith(ends[1]) or ends[1].startswith(ends[0])
        return alike and before[:common] == after[:common]
    return before == after


def _without_noise(message: str) -> list[str]:
    """Return the words of a message, with ``#`` for each word that contains a digit."""
    return ["#" if _DIGIT.search(word) else word for word in message.split()]


def ready_of(outcome: Outcome) -> ConditionValue:
    """Return the value of the condition Ready after a pass."""
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
    """Return type, status and reason of a condition, after the branch of a fork that it is in."""
    said = f"{visit.state.condition} is {visit.value.status} ({visit.value.reason})"
    return f"{visit.branch}: {said}" if visit.branch else said


def _holds(there: Any, wanted: Any) -> bool:
    if there is wanted:
        return True
    return covers(there, wanted) if isinstance(wanted, dict) else same(there, wanted)
