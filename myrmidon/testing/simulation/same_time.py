"""Runs of a controller whose work depends on the time are compared at the same virtual time.

A fault takes time: a process is down for five seconds, a request for thirty.  So a run under a plan ends
later than its reference.  Most controllers come to rest, so it does not matter for them.  But some plan
work for later: an object that expires after ten minutes, a job every five minutes (``Done(again=...)``).  At
the end of one run that work was done, at the end of the other it was not, and both are right.

1. A reference tells whether a scenario is timed: passes are planned when its controllers have settled, or, for
   a plain program, whose plans cannot be seen, its objects change within the horizon.
2. In a timed scenario every run goes on until the same virtual time, ``HORIZON_SECONDS`` after the end of the
   reference (``PLAIN_HORIZON_SECONDS`` for plain programs).  So planned work is done, in a run that forgot it after a crash it is not, and O1 tells.
3. A run that comes to rest later than that is compared with the reference at the time of its own end.
4. Work that a fault has delayed may be done in one run and not yet in the other even then.  A run that differs is
   therefore run again until later times, ``LATER_SECONDS``.  It fails if it differs at all of them: a delay does not
   last, but a wrong world does.
5. How often objects of a kind are created and deleted may depend on how long the scenario takes.  Such kinds
   are found with a reference in which the user is slow; O4 judges only the roles that the references have, and
   only by their greatest count.
"""

from collections.abc import Callable, Iterator

from myrmidon.testing.simulation.result import SimulationResult

HORIZON_SECONDS = 4050.0
"""More than an hour, and not at the same time as the schedules that people write: 5 or 10 minutes, an hour."""
PLAIN_HORIZON_SECONDS = 1350.0
"""The same for plain programs, of which each scenario is tried: longer than they get to recover."""
LATER_SECONDS = (97.0, 1231.0, 4007.0)
_OF_ENDS = frozenset({"O1", "O3", "O4", "O5"})


def compared_later(
    run_until: Callable[[float | None], SimulationResult], until: float | None
) -> SimulationResult:
    """Run until a time; if that is not None and the ends differ, again until later times."""
    result = run_until(until)
    if until is None:
        return result
    for delay in LATER_SECONDS:
        if not any(failure.oracle in _OF_ENDS for failure in result.failures):
            break
        result = run_until(max(result.virtual_seconds, until) + delay)
    return result


def is_timed(early: SimulationResult, late: SimulationResult) -> bool:
    """Whether the objects of a scenario depend on the time at which it ends."""
    return early.is_timed or early.end != late.end or early.summary != late.summary


def counted_kinds(references: Iterator[SimulationResult]) -> frozenset[str]:
    """Return the kinds whose objects are created or deleted more often in one reference than in another."""
    first = next(references)
    return frozenset(
        role.partition(" ")[0]
        for other in references
        for verb, role in sorted({*first.summary, *other.summary})
        if first.summary.get((verb, role)) != other.summary.get((verb, role))
    )
