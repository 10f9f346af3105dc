"""Start states: worlds that a new process meets although no process left them so.

A process is down while another client changes the world; the next process has to reach the end of the
reference from there:

    every subset of at most six children is missing
    a child is drifted, has no labels and owners any more, or is being deleted by another client
    the name of a child is taken by an object of another owner, until that client removes it
    the status of an object says the contrary of what is true, and has forgotten the rest
    the finalizer of a controller was removed; another client holds the object with a finalizer
    the new process reads old lists, where the protocol allows it

Prefixes of the writes are the crashes of ``enumeration``.  A start state is a plan like any other, so it
shrinks, replays and counts only if it had an effect.  So only objects that exist at the end are chosen: a
scenario that ends with a deletion has hardly any start states, and one without it has all of them.
"""

from collections.abc import Iterator
from itertools import combinations

from myrmidon.testing.simulation import actions as do
from myrmidon.testing.simulation.plan import Plan, PlannedFault
from myrmidon.testing.simulation.result import Facts
from myrmidon.testing.simulation.triggers import end

CHILDREN_MAX = 6
_BACK_MAX = 3
_DOWN_SECONDS = 10.0
_LASTS_SECONDS = 40.0


def start_states(facts: Facts) -> Iterator[Plan]:
    """Return restarts after which a process meets a world that it did not leave so."""
    crash = PlannedFault(end(), do.crash("after", down=_DOWN_SECONDS))
    children = _children(facts)
    for size in range(1, len(children) + 1):
        for chosen in combinations(children, size):
            missing = (PlannedFault(end(), do.monkey("delete", one)) for one in chosen)
            yield Plan((crash, *missing))
    for child in children:
        yield Plan((crash, PlannedFault(end(), do.monkey("edit", child))))
        yield Plan((PlannedFault(end(), do.monkey("delete", child)),))
        yield Plan((PlannedFault(end(), do.monkey("edit", child)),))
    for kind in facts.stale_reads:
        for back in range(1, _BACK_MAX + 1):
            yield Plan((PlannedFault(end(), do.travel(kind, back)), crash))
    yield Plan((crash,))
    yield from _taken_over(facts, crash)


def _children(facts: Facts) -> list[str]:
    """Return the children that exist at the end; a fault at another one has no effect."""
    return [child for child in facts.children if child in facts.remaining][:CHILDREN_MAX]


def _taken_over(facts: Facts, crash: PlannedFault) -> Iterator[Plan]:
    """Return restarts after which another client has taken hold of an object."""
    # A program that finds its children by their names alone may well leave foreign ones alone.
    hows = ("terminate",) if facts.is_plain else ("terminate", "occupy", "orphan")
    for child in _children(facts):
        for how in hows:
            action = do.monkey(how, child, lasts=_LASTS_SECONDS)
            yield Plan((crash, PlannedFault(end(), action)))
        if not facts.is_plain:
            unowned = do.monkey("occupy", child, lasts=_LASTS_SECONDS, number=1)
            yield Plan((crash, PlannedFault(end(), unowned)))
    for target in facts.made:
        kind, _, name = target.partition("/")
        if kind in facts.kinds and any(
            place.startswith(f"{kind}/") and place.endswith(f"/{name}") for place in facts.remaining
        ):
            for how in ("hold",) if facts.is_plain else ("hold", "garbage", "strip"):
                yield Plan((crash, PlannedFault(end(), do.monkey(how, target))))
