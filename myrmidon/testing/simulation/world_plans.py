"""World plans: faults that do not belong to one write or one event, each once or a few times.

Webhooks, rights and quotas per kind that controllers write; definitions and malformed objects per kind
that they reconcile; clocks; the garbage collector; parts that stay broken for ever; other schedules.

Faults that only a complete client can survive (an HTTP 410 at the start of a watch, half a line, a list
in pages) are left out for plain programs: what they do about them is not what a scenario is about.
"""

from collections.abc import Iterator

from myrmidon.testing.simulation import actions as do
from myrmidon.testing.simulation.actions import Action
from myrmidon.testing.simulation.plan import Plan, PlannedFault
from myrmidon.testing.simulation.result import Facts
from myrmidon.testing.simulation.triggers import Moment, end, event, time, write

_SCHEDULES = 8
_SCHEDULES_ALONE = 2


def one(moment: Moment, action: Action) -> Plan:
    """Return the plan with one fault."""
    return Plan((PlannedFault(moment, action),))


def world_plans(facts: Facts) -> Iterator[Plan]:
    """Return the plans of faults of the world."""
    yield one(write(1), do.slow(1.2, lasts=3600.0))
    yield one(write(1), do.slow(45.0, lasts=100.0))
    yield one(write(1), do.clock(7200.0))
    yield one(write(1), do.clock(-7200.0))
    yield one(write(1), do.drift(0.5))
    yield one(end(), do.gc("restart"))
    yield one(write(1), do.gc("lag", 20.0))
    yield one(time(0.0), do.crash())
    for kind in dict.fromkeys(fact.kind for fact in facts.writes if fact.kind in facts.events):
        first = write(kind=kind)
        for how in ("mutate", "reject", "down", "quota"):
            yield one(first, do.webhook(how, kind))
        yield one(first, do.rbac(kind))
        yield one(first, do.refuse(413, kind))
    yield one(write(1), do.refuse(401, lasts=60.0))
    yield one(end(), do.namespace())
    yield from _broken_parts(facts)
    yield from _schedules(facts)
    if not facts.is_plain:
        yield from _for_complete_clients(facts)


def _broken_parts(facts: Facts) -> Iterator[Plan]:
    """Return outages: of a replica at every write; of an object or a kind among several objects."""
    if facts.replicas > 1:
        for number in range(1, len(facts.writes) + 1):
            yield one(write(number), do.outage("replica"))
    wanted = [target for target in facts.made if target.partition("/")[0] in facts.kinds]
    if len(wanted) > 1:
        for target in wanted:
            yield one(write(1), do.outage("object", target))
        for kind in dict.fromkeys(name.partition("/")[0] for name in facts.children):
            yield one(write(1), do.outage("kind", kind))


def _schedules(facts: Facts) -> Iterator[Plan]:
    many = facts.replicas > 1 or len(facts.made) > 1
    for seed in range(_SCHEDULES if many else _SCHEDULES_ALONE):
        yield one(time(0.0), do.schedule("pct", seed, depth=2 + seed % 2))


def _for_complete_clients(facts: Facts) -> Iterator[Plan]:
    # Retries are due while workers are still busy with slow requests.
    retried = (do.slow(1.2, lasts=60.0), do.refuse(401, lasts=60.0))
    yield Plan(tuple(PlannedFault(write(1), action) for action in retried))
    for kind in sorted(facts.events):
        for how in ("cut", "gone", "empty"):
            yield one(event(kind, 1), do.watch(how))
        listed = PlannedFault(end(), do.pages(kind))
        yield Plan((listed, PlannedFault(end(), do.crash("after"))))
    for kind in dict.fromkeys(facts.kinds):
        yield one(write(1), do.malformed(kind))
        for how in ("absent", "change"):
            yield one(write(1), do.crd(how, kind))
        yield one(end(), do.crd("drop", kind))
    for child in [one for one in facts.children if one in facts.remaining][:1]:
        yield one(end(), do.monkey("burst", child))
