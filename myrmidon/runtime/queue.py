"""WorkQueue: which key next.  Plain data; the time is an argument.

- A key is handed to one worker at a time; adds during its work make exactly one more turn.
- Adds of the same key collapse: the earliest due time and the higher urgency win, and the causes
  are kept, up to a bound, with a count of those beyond it.
- Live changes go before work found at start-up or by resync; every so many turns the oldest of the
  latter goes first, so that a busy cluster does not starve it.
- What is held is bounded by the keys that are owed a turn or in work: each has at most one entry in
  each table, however many passes ran.

A turn in the future has an entry in ``Delays``.  That entry may be too early, never too late: a key
that had its pass early, because its object changed, is due again hours later, and its entry from
before is left where it is.  When it comes up, ``_ripen`` sees that the turn is due later and moves it.
So a pass over a converged object does not touch the heap at all.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, TypeVar

from myrmidon.fsm.context import Cause
from myrmidon.runtime.delays import Delays

K = TypeVar("K", bound=Hashable)

CAUSES_MAX = 8
_ALARMS = ("timer", "resync")
DUE_NOW = float("-inf")
LIVE_TURNS_MAX = 10  # then one turn for the background, if it has any


class Urgency(IntEnum):
    """How soon a key should have its turn among those that are due."""

    LIVE = 0
    BACKGROUND = 1


@dataclass(slots=True)
class Turn(Generic[K]):
    """A key's turn: why it is due, since when, and how many causes were not kept."""

    key: K
    due_at: float
    added_at: float
    urgency: Urgency
    causes: list[Cause] = field(default_factory=list)
    collapsed: int = 0

    def join(self, due_at: float, now: float, urgency: Urgency, cause: Cause | None) -> None:
        """Take another add of the same key into this turn.

        An alarm clock that is overtaken has not rung: it is no cause of the earlier turn, and the
        key has not been waiting since it was set.
        """
        if due_at < self.due_at:
            self.causes = [known for known in self.causes if known.relation not in _ALARMS]
            self.added_at = now if not self.causes else self.added_at
            self.due_at = due_at
        self.urgency = min(self.urgency, urgency)
        if cause is None or cause in self.causes:
            return
        if len(self.causes) < CAUSES_MAX:
            self.causes.append(cause)
        else:
            self.collapsed += 1


class WorkQueue(Generic[K]):
    """Keys that are due, delayed or in work."""

    def __init__(self) -> None:
        self._turns: dict[K, Turn[K]] = {}  # owed, whether delayed, ready or held back by work
        self._ready: tuple[OrderedDict[K, None], OrderedDict[K, None]] = (
            OrderedDict(),
            OrderedDict(),
        )
        self._delayed: Delays[K] = Delays()
        self._working: dict[K, float] = {}
        self._live_turns = 0

    def add(
        self,
        key: K,
        *,
        now: float,
        due_at: float | None = None,
        urgency: Urgency = Urgency.LIVE,
        cause: Cause | None = None,
    ) -> None:
        """Owe the key a turn, at ``due_at`` or now."""
        due = now if due_at is None else due_at
        turn = self._turns.get(key)
        if turn is None:
            causes = [] if cause is None else [cause]
            turn = self._turns[key] = Turn(key, due, now, urgency, causes)
        else:
            if urgency < turn.urgency:
                self._ready[turn.urgency].pop(key, None)
            turn.join(due, now, urgency, cause)
        self._place(turn, now)

    def take(self, now: float) -> Turn[K] | None:
        """The key whose turn it is, which is then in work; None if none is due."""
        self._ripen(now)
        live, background = self._ready
        if background and (not live or self._live_turns >= LIVE_TURNS_MAX):
            key, _ = background.popitem(last=False)
            self._live_turns = 0
        elif live:
            key, _ = live.popitem(last=False)
            self._live_turns += 1
        else:
            return None
        self._working[key] = now
        return self._turns.pop(key)

    def finish(self, key: K, *, now: float) -> None:
        """The work on a key is over; what was added meanwhile becomes takeable."""
        del self._working[key]
        turn = self._turns.get(key)
        if turn is None:
            self._delayed.remove(key)
        else:
            self._place(turn, now)

    def wake_at(self) -> float | None:
        """When the next key is due that nobody works on, perhaps DUE_NOW; None if there is none."""
        if self._ready[0] or self._ready[1]:
            return DUE_NOW
        while (first := self._delayed.first()) is not None:
            at, key = first
            turn = self._turns.get(key)
            if turn is None or key in self._working:
                self._delayed.remove(key)
            elif turn.due_at > at:
                self._delayed.set(key, turn.due_at)
            else:
                return at
        return None

    def forget(self, key: K) -> None:
        """Owe the key nothing any more."""
        self._delayed.remove(key)
        turn = self._turns.pop(key, None)
        if turn is not None:
            self._ready[turn.urgency].pop(key, None)

    def turn_of(self, key: K) -> Turn[K] | None:
        """Return the turn that the key is owed; None if it is owed none."""
        return self._turns.get(key)

    def owed(self) -> list[Turn[K]]:
        """Every turn that is still to come, in no particular order of time."""
        return list(self._turns.values())

    def depth(self, urgency: Urgency) -> int:
        """How many keys of that urgency are due now."""
        return len(self._ready[urgency])

    @property
    def working(self) -> dict[K, float]:
        """The keys in work and since when."""
        return self._working

    def __len__(self) -> int:
        return len(self._turns) + len(self._working)

    def __contains__(self, key: object) -> bool:
        return key in self._turns or key in self._working

    def _place(self, turn: Turn[K], now: float) -> None:
        """Put a turn where it can be found; one in work is found when that is over."""
        if turn.key in self._working:
            return
        if turn.due_at <= now:
            # A key that is there already keeps its place: events must not push it back.
            self._ready[turn.urgency].setdefault(turn.key)
            return
        entry_at = self._delayed.at(turn.key)
        if entry_at is None or entry_at > turn.due_at:
            self._delayed.set(turn.key, turn.due_at)

    def _ripen(self, now: float) -> None:
        """Move keys that have become due from the delays to those that can be taken."""
        while (first := self._delayed.first()) is not None and first[0] <= now:
            key = first[1]
            turn = self._turns.get(key)
            if turn is not None and key not in self._working and turn.due_at > now:
                self._delayed.set(key, turn.due_at)
                continue
            self._delayed.remove(key)
            if turn is not None and key not in self._working:
                self._ready[turn.urgency].setdefault(key)
