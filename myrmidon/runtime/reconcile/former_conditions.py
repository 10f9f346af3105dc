"""Conditions that a former version of the controller left on the object.

A state that an upgrade renames or removes leaves its condition behind, and nothing would ever change
it again: it would stay True for good.  The list is shared with other writers, so a type that no state
declares is not proof.  The proof is in ``metadata.managedFields``: every status write names the
controller as its field manager, and the server records the manager of each condition.

Caches do not keep ``managedFields``.  So the object is read live, but only if it carries a type that
no state declares, and only once per object and process: types that turn out to be another writer's
are remembered (``PassDependencies.foreign_conditions``).

Not handled: lists that a definition of another party calls atomic, of which the server does not
record single entries.  Such a condition has to be removed by hand.
"""

from collections.abc import Sequence
from functools import cache

from myrmidon.api.conditions import READY, STALLED
from myrmidon.api.managed_fields import conditions_of
from myrmidon.api.objects import conditions_in
from myrmidon.errors import ApiError, TransportError
from myrmidon.runtime.reconcile.subject import Subject


def undeclared_conditions(subject: Subject) -> list[str]:
    """The types on the object that no state declares and that are not known to be another writer's."""
    controller = subject.deps.controller
    declared = _declared(controller.graph.conditions, controller.options.ready_condition)
    found: list[str] = []
    for one in conditions_in(subject.obj):
        kind = one.get("type") if type(one) is dict else None
        if type(kind) is str and kind not in declared:
            found.append(kind)
    if not found:
        return found
    foreign = subject.deps.foreign_conditions.get(subject.ref, {})
    return [kind for kind in found if kind not in foreign]


async def former_conditions(subject: Subject, undeclared: Sequence[str]) -> tuple[str, ...]:
    """Those of the undeclared types that this controller wrote; the others are remembered."""
    deps = subject.deps
    try:
        fresh = await deps.client.get(subject.ref)
    except (ApiError, TransportError) as error:
        subject.log.debug("conditions of former states not looked up", error=str(error))
        return ()
    ours = conditions_of(fresh, deps.controller.name)
    foreign = {kind: None for kind in undeclared if kind not in ours}
    deps.foreign_conditions.setdefault(subject.ref, {}).update(foreign)
    return tuple(kind for kind in undeclared if kind in ours)


@cache  # every pass of a controller asks for the same ones
def _declared(conditions: tuple[str, ...], ready: bool) -> frozenset[str]:
    own = (*conditions, STALLED)  # Stalled is removed by the first pass that is not
    return frozenset((*own, READY) if ready else own)
