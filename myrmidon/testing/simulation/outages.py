"""Outages: a part that is broken and stays so, while everything else must converge (F36).

Faults that always end hide controllers in which one broken object keeps all others from being reconciled.
So an outage is not healed before the run has come to rest and was judged in that state:

    replica    the process never goes on; another replica has to take over
    kind       every write of a kind is refused with 503
    object     every write to one object of the scenario, and to its status, is refused with 503

``affected`` says which objects may differ from the reference then: what the broken part consists of, what
belongs to it, and what owns it.  All others must be as in the reference, and the affected ones must not
claim to be Ready (O8).  Afterwards the outage is healed, and the whole world must be as in the reference.
"""

from collections.abc import Iterable, Mapping
from math import inf

from myrmidon.testing.simulation.actions import Action
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.stage import Stage, StageProcess

_WRITES = ("create", "update", "patch", "delete")


def break_part(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    """Let a part fail until all faults are over."""
    if action.how == "replica":
        run.director.mark(index)
        process.pause(inf)
        return
    kind, _, name = action.target.partition("/")
    mark = lambda: run.director.mark(index)  # noqa: E731 - a callback
    for each in run.players:
        for verb in _WRITES:
            each.refuse(inf, kind, verb, mark, code=503, name=name)


def has_outage(plan: Plan) -> bool:
    """Whether a part of the world stays broken until the rest was judged."""
    return any(fault.action.kind == "outage" for fault in plan)


def affected(plan: Plan, owners: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return the roles that may differ from the reference during the outages of a plan.

    ``owners``: the roles of the owners of each role.
    """
    broken: set[str] = set()
    for fault in plan:
        if fault.action.kind == "outage" and fault.action.target:
            kind, _, name = fault.action.target.partition("/")
            broken |= {role for role in owners if _matches(role, kind, name)}
    while True:
        # Owners of what is broken report it, and may not get to their other children.
        above = {owner for role in broken for owner in owners.get(role, ())}
        below = {role for role, found in owners.items() if broken & {*found}}
        if above | below <= broken:
            return frozenset(broken)
        broken |= above | below


def _matches(role: str, kind: str, name: str) -> bool:
    found, _, place = role.partition(" ")
    return found == kind and name in ("", place.rpartition("/")[2])
