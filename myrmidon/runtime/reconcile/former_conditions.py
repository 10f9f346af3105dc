"""Find the conditions that a former version of the controller left on the object.

When an upgrade renames or removes a state, its condition stays on the object and would never change
again.  It has to be removed, but other writers may have conditions in the same list, so a type that
no state declares is not necessarily ours.  ``metadata.managedFields`` tells: every status write
names the controller as its field manager, and the server records the manager of each condition.

Caches do not keep ``managedFields``.  So the object is read live, but only if it has a condition
that no state declares, and only once per object and process: types that belong to another writer
are remembered (``PassDependencies.foreign_conditions``).

Not handled: condition lists that the CRD (of another project) declares atomic.  The server does not
record managers of their entries, so such a condition has to be removed by hand.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from myrmidon.api.objects.accessors import conditions_in
from myrmidon.api.objects.conditions import READY, RECONCILING, STALLED
from myrmidon.api.objects.managed_fields import conditions_of
from myrmidon.errors import ApiError, TransportError
from myrmidon.fsm.controller import Controller
from myrmidon.runtime.reconcile.subject import Subject


def undeclared_conditions(subject: Subject) -> list[str]:
    """Return the condition types that no state declares and that may be ours."""
    declared = own_conditions(subject.deps.controller)
    home, obj = subject.deps.home, subject.obj
    listed = conditions_in(obj if home.is_plain else home.seen(obj))
    try:
        if declared.issuperset([one["type"] for one in listed]):
            return []
    except (TypeError, KeyError):  # an entry of another shape
        pass
    kinds = (one.get("type") for one in listed if type(one) is dict)
    found = [kind for kind in kinds if type(kind) is str and kind not in declared]
    foreign = subject.deps.foreign_conditions.get(subject.ref, {})
    return [kind for kind in found if kind not in foreign]


async def former_conditions(subject: Subject, undeclared: Sequence[str]) -> tuple[str, ...]:
    """Return the undeclared types that this controller wrote; remember the others as foreign."""
    deps = subject.deps
    if deps.home.where != "status":
        return tuple(undeclared)  # no other writer has conditions there
    try:
        fresh = await deps.client.get(subject.ref)
    except (ApiError, TransportError) as error:
        subject.log.debug("could not look up conditions of former states", error=str(error))
        return ()
    ours = conditions_of(fresh, deps.controller.name)
    foreign = {kind: None for kind in undeclared if kind not in ours}
    deps.foreign_conditions.setdefault(subject.ref, {}).update(foreign)
    return tuple(kind for kind in undeclared if kind in ours)


def own_conditions(controller: Controller[Any]) -> frozenset[str]:
    """Return the types of the conditions that a controller may write."""
    options = controller.options
    return _declared(controller.graph.conditions, options.ready_condition, options.kstatus)


@cache  # every pass of a controller uses the same ones
def _declared(conditions: tuple[str, ...], ready: bool, kstatus: bool) -> frozenset[str]:
    own = (*conditions, STALLED)  # Stalled is removed by the first pass that is not stalled
    own = (*own, RECONCILING) if kstatus else own
    return frozenset((*own, READY) if ready else own)
