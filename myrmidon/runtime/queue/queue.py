"""WorkQueue: decides which key is reconciled next.  No I/O and no clock: callers pass the time.

A ``Turn`` is a pass that a key is still owed: when it is due, since when, how urgent, and why.

- At most one worker has a key at a time.  Adds during its pass result in exactly one more turn.
- Adds of the same key collapse into one turn: the earliest due time and the higher urgency win.
  The causes are kept, up to ``CAUSES_MAX``; the others are only counted.
- Live changes go before background work, which start-up and resyncs cause.  After
  ``LIVE_TURNS_MAX`` live turns the oldest background turn goes first, so that a busy cluster does
  not starve it.
- Memory is bounded by the keys that are queued or in work: each has at most one entry in each
  table, however many passes ran.

A turn that is due in the future has an entry in ``Delays``.  The entry may be too early, but never
too late.  Example: a key waits for its resync in ten hours, its object changes, it has a pass and
is due again ten hours from now.  Its old entry stays where it is; when that time comes,
``_move_due`` sees that the turn is due later and moves the entry.  So a pass over a converged
object does not touch the heap at all.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, TypeVar

from myrmidon.fsm.context import Cause
from myrmidon.runtime.queue.delays import Delays

K = TypeVar("K", bound=Hashable)

CAUSES_MAX = 8
_TIMERS = ("timer", "resync", "schedule")
DUE_NOW = float("-inf")
LIVE_TURNS_MAX = 10  # then one background turn, if there is one


class Urgency(IntEnum):
    """Which of the due keys go first: live changes, then background work."""

    LIVE = 0
    BACKGROUND = 1


@dataclass(slots=True)
class Turn(Generic[K]):
    """A pass that a key is owed: when it is due, and why.  ``collapsed`` causes were not kept."""

    key: K
    due_at: float
    added_at: float
    urgency: Urgency
    causes: list[Cause] = field(default_factory=list)
    collapsed: int = 0
    admitted: bool = False  # a retry that has its token of the retry budget

    def join(self, due_at: float, now: float, urgency: Urgency, cause: Cause | None) -> None:
        """Merge another add of the same key into this turn.

        If the new add is due earlier, a timer that was pending has not fired: it is not a cause of
        the earlier turn, and the time since it was set does not count as waiting.
        """
        if due_at < self.due_at:
            self.causes = [known for known in self.causes if known.relation not in _TIMERS]
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
    """The keys that are due, delayed or in work."""

    def __init__(self) -> None:
        self._turns: dict[K, Turn[K]] = {}  # delayed, ready, or waiting for a pass to end
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
        """Queue the key for a turn at ``due_at``, by default now."""
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
        """Return the next turn that is due and mark its key as in work; None if none is due."""
        self._move_due(now)
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

    def postpone(self, turn: Turn[K], until: float, *, now: float) -> None:
        """Give a turn back that was just taken; it is due at ``until``, or when an add is due."""
        del self._working[turn.key]
        turn.due_at = until
        self._turns[turn.key] = turn
        self._place(turn, now)

    def finish(self, key: K, *, now: float) -> None:
        """End the work on a key; a turn that was added meanwhile can then be taken."""
        del self._working[key]
        turn = self._turns.get(key)
        if turn is None:
            self._delayed.remove(key)
        else:
            self._place(turn, now)

    def wake_at(self) -> float | None:
        """Return when the next key is due, without keys in work; ``DUE_NOW``, or None for never."""
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
        """Remove the key's turn, if it has one; a pass under way is not affected."""
        self._delayed.remove(key)
        turn = self._turns.pop(key, None)
        if turn is not None:
            self._ready[turn.urgency].pop(key, None)

    def turn_of(self, key: K) -> Turn[K] | None:
        """Return the pending turn of the key, None if it has none."""
        return self._turns.get(key)

    def owed(self) -> list[Turn[K]]:
        """Return all pending turns, due or delayed, in no particular order."""
        return list(self._turns.values())

    def depth(self, urgency: Urgency) -> int:
        """Return how many keys of that urgency are due now."""
        return len(self._ready[urgency])

    @property
    def working(self) -> dict[K, float]:
        """The keys in work, with the time at which each was taken."""
        return self._working

    def __len__(self) -> int:
        return len(self._turns) + len(self._working)

    def __contains__(self, key: object) -> bool:
        return key in self._turns or key in self._working

    def _place(self, turn: Turn[K], now: float) -> None:
        """File a turn under ready or delayed; ``finish`` does it for a key that is in work."""
        if turn.key in self._working:
            return
        if turn.due_at <= now:
            # A key that is ready already keeps its place: new events must not push it back.
            self._ready[turn.urgency].setdefault(turn.key)
            return
        entry_at = self._delayed.at(turn.key)
        if entry_at is None or entry_at > turn.due_at:
            self._delayed.set(turn.key, turn.due_at)

    def _move_due(self, now: float) -> None:
        """Move keys that have become due from the delayed to the ready ones."""
        while (first := self._delayed.first()) is not None and first[0] <= now:
            key = first[1]
            turn = self._turns.get(key)
            if turn is not None and key not in self._working and turn.due_at > now:
                self._delayed.set(key, turn.due_at)
                continue
            self._delayed.remove(key)
            if turn is not None and key not in self._working:
                self._ready[turn.urgency].setdefault(key)
