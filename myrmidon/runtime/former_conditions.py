"""Conditions that a former version of the controller left on the object.

A state that an upgrade renames or removes leaves its condition behind, and nothing would ever change
it again: it would stay True for good.  The list is shared with other writers, so a type that no state
declares is not proof.  The proof is in ``metadata.managedFields``: every status write names the
controller as its field manager, and the server records the manager of each condition.

Caches do not keep ``managedFields``.  So the object is read live, but only if it carries a type that
no state declares, and only once per object and process: types that turn out to be another writer's
are remembered (``Crew.foreign_conditions``).

Not handled: lists that a definition of another party calls atomic, of which the server does not
record single entries.  Such a condition has to be removed by hand.
"""

from collections.abc import Sequence
from functools import cache

from myrmidon.api.conditions import READY
from myrmidon.api.managed_fields import conditions_of
from myrmidon.api.objects import conditions_in
from myrmidon.errors import ApiError, TransportError
from myrmidon.runtime.subject import Subject


async def former_conditions(subject: Subject) -> tuple[str, ...]:
    """The types on the object that this controller wrote and that no state declares any more."""
    crew, ref = subject.crew, subject.ref
    controller = crew.controller
    declared = _declared(tuple(controller.graph.conditions), controller.options.ready_condition)
    types = (one.get("type") for one in conditions_in(subject.obj) if isinstance(one, dict))
    undeclared = [kind for kind in types if isinstance(kind, str) and kind not in declared]
    if not undeclared:
        return ()
    foreign = crew.foreign_conditions.setdefault(ref, {})
    if all(kind in foreign for kind in undeclared):
        return ()
    try:
        fresh = await crew.client.get(ref)
    except (ApiError, TransportError) as error:
        subject.log.debug("conditions of former states not looked up", error=str(error))
        return ()
    ours = conditions_of(fresh, controller.name)
    foreign.update({kind: None for kind in undeclared if kind not in ours})
    return tuple(kind for kind in undeclared if kind in ours)


@cache
def _declared(conditions: Sequence[str], ready: bool) -> frozenset[str]:
    return frozenset((*conditions, READY) if ready else conditions)
