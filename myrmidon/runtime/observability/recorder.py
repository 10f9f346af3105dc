"""Recorder: a bounded record of the passes of a process, for the live page and for ``explain``.

It keeps two things, each within half of ``bytes_max``:

- histories: the last ``passes_max`` passes of each object;
- the stream: every pass of the last ``period``, in the order in which they ended, numbered without
  gaps.  A reader that has seen number n asks for what came ``since(n)``, as often as it likes; so a
  reader that lost its connection neither misses a pass nor gets one twice.

A pass over a converged object that did the same as the one before is not a new record: the last
record counts a repeat, and only the stream has an entry for it.  So a resync does not push the
interesting passes out of the histories.

When the histories need more than their half, the oldest pass goes first.  The last pass of an object
is spared once: it goes when it comes up a second time without having been repeated in between.  The
stream drops its oldest entries.  Both sizes are estimates of ``PassRecord.bytes``; a record that is
in both counts in both.  Repeats are small, and up to 64 of them may exceed the half of the stream.

``add`` and ``repeat`` run at the end of every pass, so they do no more than they must: nothing is
computed for readers, and the lists are tidied every 64 passes or when a limit is reached.  So up to 64
passes of the stream may be older than the period.

Nothing here reads a clock or does I/O.  It is not safe for threads: everything runs in the event
loop of the manager.
"""

from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeAlias

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.runtime.observability.pass_record import Key, PassRecord
from myrmidon.runtime.observability.snapshot import Waiting

BYTES_MAX = 32 * 2**20
PASSES_MAX = 50
PERIOD = timedelta(minutes=15)

_ENTRY_BYTES = 160  # of the stream, beside the record
_TIDY_EVERY = 63  # a mask: old entries are looked for every 64 passes


StreamEntry: TypeAlias = tuple[int, datetime, PassRecord, int]
"""One pass of the stream: its number, when it ended, its record, and the bytes that it counts for.  A
repeat has the record of the pass that it repeats, and counts for the entry alone."""


class PassHistory:
    """The recorded passes of one object of one controller, oldest first."""

    __slots__ = ("dropped", "gone_at", "key", "records", "waiting")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.records: deque[PassRecord] = deque()
        self.dropped = 0
        """How many passes were recorded, and are no longer."""
        self.waiting: Waiting | None = None
        self.gone_at: datetime | None = None

    @property
    def passes(self) -> int:
        """All passes of this process over the object."""
        return self.dropped + len(self.records) + sum(one.repeats for one in self.records)

    @property
    def ref(self) -> ObjectRef:
        """The object."""
        return self.key[1]

    @property
    def last(self) -> PassRecord:
        """The last pass.  A history without a pass is dropped."""
        return self.records[-1]


class Recorder:
    """The recorded passes of one process."""

    def __init__(
        self,
        bytes_max: int = BYTES_MAX,
        passes_max: int = PASSES_MAX,
        period: timedelta = PERIOD,
    ) -> None:
        self._half, self._passes_max, self._period = bytes_max // 2, max(passes_max, 1), period
        self._histories: dict[Key, PassHistory] = {}
        self.find: Callable[[Key], PassHistory | None] = self._histories.get
        """Return the history of an object; None if it has none."""
        self._order: deque[tuple[PassHistory, PassRecord]] = deque()  # oldest first; some are stale
        self._stale = 0  # how many of them have left their history
        self._stream: deque[StreamEntry] = deque()
        self.number = 0
        """The number of the last pass of the stream."""
        self.history_bytes = self.stream_bytes = 0
        """About how much memory the histories and the stream hold."""

    # --------------------------------------------------------------------------- writing

    def add(self, key: Key, record: PassRecord) -> PassHistory:
        """Append a pass to the history of its object and to the stream."""
        history = self._histories.get(key)
        if history is None:
            history = self._histories[key] = PassHistory(key)
        number = self.number = record.number = self.number + 1
        at, size, records = record.at, record.bytes, history.records
        records.append(record)
        self._order.append((history, record))
        self.history_bytes += size
        size += _ENTRY_BYTES
        self._stream.append((number, at, record, size))
        self.stream_bytes += size
        if len(records) > self._passes_max:
            self._forget_first(history)
        if self.history_bytes > self._half:
            self._shrink()
        if self.stream_bytes > self._half or not number & _TIDY_EVERY:
            self._tidy(at)
        return history

    def repeat(self, record: PassRecord, at: datetime) -> None:
        """Count a pass that did the same as ``record``, the last one of its object."""
        record.repeats += 1
        record.at, record.spared = at, False
        number = self.number = record.number = self.number + 1
        self._stream.append((number, at, record, _ENTRY_BYTES))
        self.stream_bytes += _ENTRY_BYTES
        if not number & _TIDY_EVERY:
            self._tidy(at)

    def forget(self, key: Key) -> None:
        """Drop the history of an object; the stream keeps its passes."""
        history = self._histories.get(key)
        while history is not None and history.records:
            self._forget_first(history)

    # --------------------------------------------------------------------------- reading

    def histories(self, controller: str) -> list[PassHistory]:
        """Return the histories of a controller."""
        return [one for key, one in self._histories.items() if key[0] == controller]

    @property
    def first(self) -> int:
        """The number of the oldest pass of the stream; one more than ``number`` if it is empty."""
        return self._stream[0][0] if self._stream else self.number + 1

    def since(self, number: int, limit: int | None = None) -> list[StreamEntry] | None:
        """Return the passes after ``number``, oldest first; None if some of them are dropped."""
        if number + 1 < self.first or number > self.number:
            return None
        found = list(islice(reversed(self._stream), self.number - number))
        found.reverse()
        return found[:limit]

    def stream(self) -> Iterator[StreamEntry]:
        """Return all passes of the stream, oldest first."""
        return iter(self._stream)

    # ---------------------------------------------------------------------------- inside

    def _tidy(self, now: datetime) -> None:
        """Drop the passes of the stream before the period, and those too many; drop stale references."""
        stream, begins_at = self._stream, now - self._period
        while stream and (self.stream_bytes > self._half or stream[0][1] < begins_at):
            self.stream_bytes -= stream.popleft()[3]
        if 2 * self._stale > len(self._order) + 64:
            self._order = deque(one for one in self._order if _is_kept(*one))
            self._stale = 0

    def _shrink(self) -> None:
        """Drop the oldest passes until the histories are small enough; see the module."""
        order = self._order
        while self.history_bytes > self._half:
            history, record = order.popleft()
            if not _is_kept(history, record):
                self._stale -= 1
                continue
            if len(history.records) == 1 and not record.spared and len(order) > self._stale:
                record.spared = True
                order.append((history, record))
            else:
                self._forget_first(history)
                self._stale -= 1

    def _forget_first(self, history: PassHistory) -> None:
        record = history.records.popleft()
        history.dropped += 1 + record.repeats
        self.history_bytes -= record.bytes
        self._stale += 1
        if not history.records:
            self._histories.pop(history.key, None)


def _is_kept(history: PassHistory, record: PassRecord) -> bool:
    """Whether the record is still in its history.

    Records leave a history at its beginning only, so it is enough to compare with the first.
    """
    return bool(history.records) and history.records[0].number <= record.number
