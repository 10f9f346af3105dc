"""Which faults happen when, and what the users do: drawn from a seed, to repeat a run.

The plan is fixed before the run begins.  What it meets (which replica leads, which connections are
open) is not, so two runs with one seed are alike, not equal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

# Each fault and how many seconds it may last.
FAULTS: dict[str, tuple[float, float]] = {
    "cut": (0.0, 0.0),
    "reset": (0.0, 0.0),
    "half-close": (0.0, 0.0),
    "stall": (2.0, 7.0),
    "delay": (3.0, 8.0),
    "refuse": (0.5, 4.5),
    "kill": (0.2, 3.0),
    "terminate": (0.2, 3.0),
    "freeze": (1.0, 8.0),
    "clock": (0.0, 0.0),
    "api server restart": (0.5, 4.0),
    "etcd restart": (0.5, 3.0),
    "etcd pause": (1.0, 6.0),
    "etcd compaction": (0.0, 0.0),
    "lease deleted": (0.0, 0.0),
    "lease edited": (0.0, 0.0),
    "lease labelled": (0.0, 0.0),
}
REPLICAS = 3
ALONE = REPLICAS
"""The number of the process that runs alone; faults of the network meet it, too."""
NETWORK = frozenset({"cut", "reset", "half-close", "stall", "delay", "refuse"})


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault: its time, kind, victim and duration."""

    at: float
    """Seconds after the beginning."""
    fault: str
    victim: int
    """A replica, -1 for the leader."""
    seconds: float
    number: int
    """A random number for other choices of the fault."""


def strikes(seed: int, seconds: float) -> list[Strike]:
    """Return the faults of a run.  Each kind comes once before any is repeated."""
    rng = Random(seed)
    found: list[Strike] = []
    deck: list[str] = []
    at = 5.0
    while at < seconds:
        if not deck:
            deck = sorted(FAULTS)
            rng.shuffle(deck)
        fault = deck.pop()
        victims = [-1, -1, -1, *range(REPLICAS)]
        if fault in NETWORK:
            victims.append(ALONE)
        shortest, longest = FAULTS[fault]
        lasts = rng.uniform(shortest, longest)
        found.append(Strike(at, fault, rng.choice(victims), lasts, rng.getrandbits(16)))
        at += rng.uniform(2.0, 7.0) + lasts / 2
    return found


@dataclass(frozen=True, slots=True)
class Act:
    """One action of a user on a parent or on its children."""

    verb: str
    kind: str
    namespace: str
    name: str
    text: str
    parts: tuple[str, ...]


_VERBS = (
    ("edit",) * 10 + ("create",) * 4 + ("delete",) * 2 + ("recreate", "spoil", "spoil", "remove")
)
_PARTS = ("a", "b", "c", "d")


def acts(seed: int, kinds: tuple[str, ...], parents: int) -> Iterator[Act]:
    """Yield what the users do, without end; they begin with creating every parent once."""
    rng = Random(seed)
    names = [f"p{number:02}" for number in range(max(parents // len(kinds), 1))]
    for name in names:
        for kind in kinds:
            yield _act(rng, "create", kind, name)
    while True:
        yield _act(rng, rng.choice(_VERBS), rng.choice(kinds), rng.choice(names))


def _act(rng: Random, verb: str, kind: str, name: str) -> Act:
    """Return one action.

    A fifth of the parents, by name, belong to the process without election.
    """
    return Act(
        verb=verb,
        kind=kind,
        namespace="soak-s" if int(name[1:]) % 5 == 0 else "soak-a",
        name=name,
        text="x" * rng.randrange(9) + str(rng.randrange(1000)),
        parts=tuple(sorted(rng.sample(_PARTS, rng.randrange(len(_PARTS) + 1)))),
    )
