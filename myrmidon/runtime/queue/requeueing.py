"""Decide when the next pass over an object is due, from the outcome of the last one.

Without a watch event, there are four reasons for a pass, each with a time:

    relation   due                                              asked for by
    ---------  -----------------------------------------------  --------------------------------
    timer      after a growing delay                            a failure, a Wait without a time
    timer      after ``outcome.after``                          ``Wait(after=...)``
    schedule   at ``outcome.again``, by the wall clock          ``Done(again=...)``
    resync     after ``sync_period``, only if the pass settled  the options

The queue holds one turn per object, so only the earliest is queued.  The others are not lost: every
pass walks all states again and asks for them again.  That is also why no time has to be stored: the
first pass after a restart computes all of them anew.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Literal, NamedTuple

from myrmidon.fsm.engine import Outcome
from myrmidon.runtime.queue.queue import Urgency

REQUEUE_SECONDS_MIN = 0.1


class Requeue(NamedTuple):
    """The next pass: why, after how many seconds, and how urgent it then is."""

    relation: Literal["timer", "schedule", "resync"]
    delay: float
    urgency: Urgency = Urgency.LIVE


def requeue_of(
    outcome: Outcome,
    *,
    retry: float | None,
    resync: float | None,
    now: Callable[[], datetime],
) -> Requeue | None:
    """Return the earliest pass that the outcome asks for; None if only a change causes one.

    - ``retry``: the seconds of the growing delay; None if the outcome asks for none.
    - ``resync``: the seconds until the resync; None for never.
    - ``now``: returns the wall-clock time, from which the delay of a schedule is computed.
    """
    if retry is None and outcome.after is None and outcome.again is None:  # as most outcomes are
        return None if resync is None else Requeue("resync", resync, Urgency.BACKGROUND)
    found: list[Requeue] = []
    if retry is not None:
        found.append(Requeue("timer", retry))
    if outcome.after is not None:
        found.append(Requeue("timer", outcome.after.total_seconds()))
    if resync is not None and not found:
        found.append(Requeue("resync", resync, Urgency.BACKGROUND))
    if outcome.again is not None:
        found.append(Requeue("schedule", (outcome.again.at - now()).total_seconds()))
    first = min(found, key=lambda one: one.delay)
    return (
        first if first.delay >= REQUEUE_SECONDS_MIN else first._replace(delay=REQUEUE_SECONDS_MIN)
    )
