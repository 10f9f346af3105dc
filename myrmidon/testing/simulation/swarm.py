"""Swarm: random plans from a seed, each with a few classes of faults only.

A plan that mixes everything hides most bugs behind each other.  So each seed first chooses which
classes of faults it uses, and how many.

Every fourth seed is in liveness mode: a replica, or one of several objects, stays broken until everything
else was judged.
"""

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from myrmidon.testing.simulation import actions as do
from myrmidon.testing.simulation.actions import Action
from myrmidon.testing.simulation.plan import Plan, PlannedFault
from myrmidon.testing.simulation.result import Facts
from myrmidon.testing.simulation.triggers import Moment, event, time, write

FAULTS_MAX = 5
_CLASSES_MAX = 4
_LIVENESS_EVERY = 4
JITTERS = (0.0, 0.0, 0.02, 0.5)
Draw: TypeAlias = Callable[[Random, Facts], tuple[Moment, Action]]


def drawn(seed: int, facts: Facts) -> tuple[Plan, float]:
    """Return the plan of a seed, and the greatest latency of its schedule."""
    rng = Random(f"{seed}:plan")  # noqa: S311 - draws tests; keeps no secret
    names = rng.sample(sorted(_CLASSES), rng.randint(1, _CLASSES_MAX))
    faults = []
    for _ in range(rng.randint(1, FAULTS_MAX)):
        moment, action = _CLASSES[rng.choice(names)](rng, facts)
        faults.append(PlannedFault(moment, action))
    if seed % _LIVENESS_EVERY == _LIVENESS_EVERY - 1:
        faults += _broken(rng, facts)
    return Plan(tuple(faults)), rng.choice(JITTERS)


def _broken(rng: Random, facts: Facts) -> list[PlannedFault]:
    """Return an outage that other parts must survive, if the scenario has other parts."""
    wanted = [target for target in facts.made if target.partition("/")[0] in facts.kinds]
    if facts.replicas > 1:
        return [PlannedFault(_write(rng, facts), do.outage("replica"))]
    if len(wanted) > 1:
        return [PlannedFault(_write(rng, facts), do.outage("object", rng.choice(wanted)))]
    return []


def _write(rng: Random, facts: Facts) -> Moment:
    return write(rng.randint(1, max(len(facts.writes) * 3 // 2, 1)))


def _event(rng: Random, facts: Facts) -> Moment:
    kind = rng.choice(sorted(facts.events) or [""])
    return event(kind, rng.randint(1, max(facts.events.get(kind, 1), 1)))


def _kind(rng: Random, facts: Facts) -> str:
    return rng.choice(sorted(facts.events) or [""])


def _target(rng: Random, facts: Facts) -> str:
    return rng.choice(sorted(facts.children) or ["ConfigMap/none"])


_CLASSES: dict[str, Draw] = {
    "crash": lambda r, f: (_write(r, f), do.crash(r.choice(("before", "after")), down=r.choice((0.1, 5.0, 40.0)))),
    "crash at an event": lambda r, f: (_event(r, f), do.crash("after")),
    "ambiguous": lambda r, f: (_write(r, f), do.applied_then(r.choice(("timeout", "reset", "500")))),
    "lost": lambda r, f: (_write(r, f), do.lost()),
    "refused": lambda r, f: (_write(r, f), do.reply(r.choice((409, 429, 500, 503, 403)))),
    "lag": lambda r, f: (_write(r, f), do.lag(_kind(r, f), r.choice((0.5, 5.0, 30.0)))),
    "hold": lambda r, f: (_event(r, f), do.hold(_kind(r, f), r.choice((2.0, 30.0, 90.0)))),
    "travel": lambda r, f: (_write(r, f), do.travel(_kind(r, f), r.randint(1, 3))),
    "watch": lambda r, f: (_event(r, f), do.watch(r.choice(("eof", "410", "dup", "stall")))),
    "pause": lambda r, f: (_write(r, f), do.pause(r.choice((3.0, 12.0, 30.0)))),
    "slow": lambda r, f: (_write(r, f), do.slow(r.choice((0.3, 1.2, 8.0)))),
    "clock": lambda r, f: (_write(r, f), do.clock(r.choice((-3600.0, 90.0, 86400.0)))),
    "lease": lambda r, f: (_write(r, f), do.lease(r.choice(("lose", "steal")))),
    "webhook": lambda r, f: (_write(r, f), do.webhook(r.choice(("mutate", "reject", "down")), _kind(r, f))),
    "monkey": lambda r, f: (_write(r, f), do.monkey(r.choice(("delete", "edit")), _target(r, f))),
    "rbac": lambda r, f: (_write(r, f), do.rbac(_kind(r, f))),
    "gap": lambda r, f: (_event(r, f), do.gap(_kind(r, f), r.choice((5.0, 45.0)))),
    "stop": lambda r, f: (_write(r, f), do.stop(r.choice((0.1, 5.0, 40.0)))),
    "spurious": lambda r, f: (_write(r, f), do.spurious()),
    "schedule": lambda r, _: (time(0.0), do.schedule("pct", r.randrange(9999), depth=2 + r.randrange(2))),
    "gc": lambda r, f: (_write(r, f), do.gc(r.choice(("lag", "restart")))),
}  # fmt: skip
