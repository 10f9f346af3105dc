"""Enumeration: every fault of depth 1 at every moment of the reference, as plans.

In this order, so that a small budget finds most:

1. at every write: crash, lost and ambiguous answers
2. for replicas: a pause, a lost lease, also with slow answers; restarts with old views per kind
3. at every write: edits, deletions and recreations by the user; lag and hold of the written kind
4. at every watch delivery: end, 410, repetition, hold, a restart with old views per kind
5. start states (``start_states``)
6. at every write: refusals, crashes before it, orderly stops, gaps, edits while the process is down
7. the world (``world_plans``): webhooks, rights, definitions, clocks, parts that stay broken, schedules

Each kind of fault comes at all writes before the next kind, because most bugs have one write that shows
them.

Left out are moments that lead to the same world: a crash before a write and a crash after the write
before it are the same if nothing else happened in between.
"""

from collections.abc import Iterator

from myrmidon.testing.simulation import actions as do
from myrmidon.testing.simulation.actions import Action
from myrmidon.testing.simulation.plan import Plan, PlannedFault
from myrmidon.testing.simulation.result import Facts
from myrmidon.testing.simulation.start_states import start_states
from myrmidon.testing.simulation.triggers import Moment, event, write
from myrmidon.testing.simulation.world_plans import one as _one
from myrmidon.testing.simulation.world_plans import world_plans

_SAME_TIME_SECONDS = 1.0
_EVENTS_MAX = 40
_BACK_MAX = 3
_SLOW_SECONDS, _SLOW_LASTS_SECONDS = 1.2, 20.0
_REFUSALS = (409, 429, 503, 500, 403)
"""Not 404: a server never says that of an object that exists; a real one comes from user(delete)."""


def depth_one(facts: Facts) -> Iterator[Plan]:
    """Return every plan with one fault, or with one restart and its circumstances."""
    yield from _at_writes(facts)
    yield from _among_replicas(facts)
    yield from _old_views_at_writes(facts)
    yield from _steps_of_the_user(facts)
    yield from _lag_at_writes(facts)
    yield from _at_events(facts)
    yield from start_states(facts)
    yield from _refusals_at_writes(facts)
    yield from _interruptions_at_writes(facts)
    yield from world_plans(facts)


def _at_writes(facts: Facts) -> Iterator[Plan]:
    moments = [write(number) for number in range(1, len(facts.writes) + 1)]
    for action in (do.crash("after"), do.applied_then("timeout"), do.lost()):
        yield from (_one(moment, action) for moment in moments)


def _among_replicas(facts: Facts) -> Iterator[Plan]:
    if facts.replicas > 1:
        for action in (do.pause(20.0), do.lease("lose"), do.lease("steal")):
            for number in range(1, len(facts.writes) + 1):
                yield _one(write(number), action)
        # With slow answers, a replica still writes when it has read that another one holds the Lease.
        slow = do.slow(_SLOW_SECONDS, lasts=_SLOW_LASTS_SECONDS)
        for number in range(1, len(facts.writes) + 1):
            stolen = (slow, do.lease("steal"))
            yield Plan(tuple(PlannedFault(write(number), one) for one in stolen))


def _old_views_at_writes(facts: Facts) -> Iterator[Plan]:
    for back in range(1, _BACK_MAX + 1):
        for kind in facts.stale_reads:
            for number in range(1, len(facts.writes) + 1):
                yield _restart(write(number), (do.travel(kind, back),))


def _steps_of_the_user(facts: Facts) -> Iterator[Plan]:
    edits = [(target, body) for what, target, body in facts.steps if what == "patch"]
    actions = [do.user("edit", target, body) for target, body in edits]
    for how in ("delete", "recreate"):
        actions += [do.user(how, target) for target in facts.made]
    for action in actions:
        for number in range(1, len(facts.writes) + 1):
            yield _one(write(number), action)


def _lag_at_writes(facts: Facts) -> Iterator[Plan]:
    for number, fact in enumerate(facts.writes, 1):
        if fact.kind in facts.events:
            yield _one(write(number), do.lag(fact.kind, 20.0))
            yield _one(write(number), do.hold(fact.kind, 45.0))


def _refusals_at_writes(facts: Facts) -> Iterator[Plan]:
    last = None
    for number, fact in enumerate(facts.writes, 1):
        moment = write(number)
        if last is None or last.after != fact.before or fact.at - last.at > _SAME_TIME_SECONDS:
            yield _one(moment, do.crash("before"))
        yield _one(moment, do.applied_then("reset"))
        yield _one(moment, do.applied_then("500"))
        for code in _REFUSALS:
            yield _one(moment, do.reply(code))
        last = fact


def _interruptions_at_writes(facts: Facts) -> Iterator[Plan]:
    moments = [write(number) for number in range(1, len(facts.writes) + 1)]
    for action in (do.stop(), do.spurious()):
        yield from (_one(moment, action) for moment in moments)
    for moment, fact in zip(moments, facts.writes, strict=True):
        if fact.kind in facts.events:
            yield _one(moment, do.gap(fact.kind, 45.0))
    changes = [do.user("delete", target) for target in facts.made]
    if not facts.is_plain:
        changes += [do.user("edit", on, body) for what, on, body in facts.steps if what == "patch"]
    for change in changes:
        yield from (_restart(moment, (change,), down=60.0) for moment in moments)


def _restart(moment: Moment, actions: tuple[Action, ...], down: float = 5.0) -> Plan:
    """Return a crash at a moment, with what the next process meets."""
    crash = do.crash("after", down=down)
    return Plan(tuple(PlannedFault(moment, one) for one in (*actions, crash)))


def _at_events(facts: Facts) -> Iterator[Plan]:
    for kind, count in sorted(facts.events.items()):
        for number in range(1, min(count, _EVENTS_MAX) + 1):
            moment = event(kind, number)
            yield _one(moment, do.crash("after"))
            yield _one(moment, do.watch("410"))
            yield _one(moment, do.watch("dup"))
            yield _one(moment, do.watch("eof"))
            if not facts.is_plain:
                yield _one(moment, do.watch("replay"))
            yield _one(moment, do.hold(kind, 45.0))
            for stale in facts.stale_reads:
                for back in range(1, _BACK_MAX + 1):
                    yield _restart(moment, (do.travel(stale, back),))
        yield _one(event(kind, 1), do.watch("stall"))


def depth_two(first: Plan, facts: Facts) -> Iterator[Plan]:
    """Return the plans with a second fault in the recovery from the first one.

    ``facts`` are those of the run under the first plan, whose last writes are the recovery.
    """
    begun = max((fault.trigger.number for fault in first if fault.trigger.on == "write"), default=0)
    if not begun:
        return
    for number in range(begun + 1, len(facts.writes) + 1):
        for action in (do.crash("after"), do.applied_then("timeout"), do.lost(), do.reply(409)):
            yield first.with_faults((*first.faults, PlannedFault(write(number), action)))


def world_key(first: Plan, facts: Facts) -> tuple[object, ...] | None:
    """Return what the recovery from a crash depends on: the writes that were made before it.

    Two plans with the same key lead to the same world, so one of them is enough for depth two.
    """
    fault = first.faults[0]
    if fault.action.kind != "crash" or fault.trigger.on != "write":
        return None
    made = facts.writes[: fault.trigger.number]
    if fault.action.how == "before":
        made = made[:-1]
    return tuple((one.verb, one.kind, one.name, one.subresource, one.after) for one in made)
