"""Election: decides whether this process leads, from the Lease it read and its monotonic clock.

The problem: several replicas, of which at most one may write, and a Lease that a replica, a person
with kubectl or a restored backup may change or delete at any time.

1. Clocks of different machines are never compared, and the wall clock decides nothing.  All that is
   assumed is that monotonic clocks advance at about the same rate.
2. A leader counts from the moment *before* it sent its last confirmed renewal, for
   ``renew_seconds``.  A renewal whose answer was lost is confirmed by reading it back.
3. Every takeover is a write bound to a resourceVersion that the candidate has seen, unchanged, for
   at least ``lease_seconds``.  The leader's last renewal is older than that first sight, and
   ``renew_seconds < lease_seconds``: when the new leader begins, the old one has ended.  This holds
   whatever the Lease contains: another holder, no holder, our own identity from a write that was
   not ours, a shortened duration.
4. The only exception is a Lease that its holder released: the holder stopped writing before that.
5. A missing Lease does not mean that no replica leads: it may have been deleted while one does.  It
   is created without a holder, and rule 3 applies to it.  Hence the first start in a namespace
   waits once for ``lease_seconds``.
6. A leader that reads that the Lease is gone, was created again, was restored to an older state or
   names another holder stops leading at once, however much time it has left.  After a conflict it
   does not write until it has read the Lease again.

Not handled: a machine whose monotonic clock stops while it is suspended, and a person who edits the
Lease to look released while a replica leads.  In both cases two replicas may lead.
"""

from dataclasses import dataclass
from typing import TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import UsageError
from myrmidon.runtime.leader.lease_record import (
    RELEASED_SECONDS,
    SECONDS_MAX,
    LeaseRecord,
    granted_seconds,
    read_lease,
    with_spec,
)

_INT32_MAX = 2**31 - 1
_NEVER = float("-inf")
_NOT_RENEWED = "was not renewed in time"


@dataclass(frozen=True, slots=True)
class Terms:
    """The durations of a leader election, in seconds.  ``retry < renew < lease`` must hold."""

    lease_seconds: float = 15.0
    """Another replica may take a Lease that was not renewed for so long; 15 by default."""
    renew_seconds: float = 10.0
    """A leader that could not renew its Lease for so long stops, and its process exits; 10 by
    default."""
    retry_seconds: float = 2.0
    """The time between two attempts to renew or to take the Lease; 2 by default."""

    def __post_init__(self) -> None:
        if not 0 < self.retry_seconds < self.renew_seconds < self.lease_seconds <= SECONDS_MAX:
            raise UsageError(
                "leader election needs retry < renew deadline < lease duration <= "
                f"{SECONDS_MAX:g} s, but got "
                f"{self.retry_seconds} s, {self.renew_seconds} s, {self.lease_seconds} s.\n"
                "  fix: keep the proportions of 2, 10 and 15 seconds"
            )


@dataclass(frozen=True, slots=True)
class Create:
    """There is no Lease: create one that has no holder."""

    spec: Json


@dataclass(frozen=True, slots=True)
class Update:
    """Take or renew the Lease, with a write bound to the resourceVersion that was read."""

    lease: Json


@dataclass(frozen=True, slots=True)
class Follow:
    """Write nothing; read the Lease again after ``seconds``."""

    seconds: float


Step: TypeAlias = Create | Update | Follow


class Election:
    """What one candidate knows about the Lease.  All times are of its monotonic clock."""

    def __init__(self, identity: str, terms: Terms | None = None, *, alone: bool = False) -> None:
        """``alone``: the Lease has a name that no other process uses, so a new one is free at once."""
        self.identity, self.terms = identity, terms or Terms()
        self._seconds_of_new = (
            RELEASED_SECONDS if alone else granted_seconds(self.terms.lease_seconds)
        )
        self._lease: Json | None = None
        self._record: LeaseRecord | None = None
        self._is_known = False  # False before the first read and after a conflict
        self._is_unanswered = False  # whether the last write may or may not have taken effect
        self._unchanged_since = _NEVER
        self._patience = self.terms.lease_seconds
        # The record after our last confirmed write, and (renewTime, sent at) of our writes that are
        # bound to the current record and may still take effect.
        self._written: LeaseRecord | None = None
        self._attempts: list[tuple[str, float]] = []
        self._leads_until = self._safe_until = _NEVER
        self._has_resigned = False
        self.loss = _NOT_RENEWED
        """Why this process does not lead, as the end of a sentence about its lease."""

    @property
    def holder(self) -> str:
        """The replica that the Lease named when it was read last; "" if it named none."""
        return self._record.holder if self._record is not None else ""

    def observe(self, lease: Json | None, now: float) -> None:
        """Process the answer to a read; None if there is no Lease."""
        record = None if lease is None else read_lease(lease)
        if not self._is_ever_read or record != self._record:
            confirmed = self._confirmed(record)
            self._changed(record, now)
            if confirmed is not None and record is not None:
                self._renewed(record, confirmed)
        self._lease, self._record, self._is_known = lease, record, True
        self._is_unanswered = False
        self._stop_if_lost()

    def step(self, now: float, stamp: str) -> Step:
        """Return what to do now.  ``stamp`` is the wall clock as the Lease prints it.

        The write must be sent at once: its time counts from ``now``.
        """
        record, pause = self._record, self.terms.retry_seconds / 2
        if not self._is_known or self._is_unanswered:
            return Follow(0.0)
        if record is None or self._lease is None:
            return Create({"leaseDurationSeconds": self._seconds_of_new})
        if not record.version:
            return Follow(pause)  # without a version the write would be bound to nothing
        renews = self._has_time_left(now)
        if not renews and not record.is_released and now < self._takeover_at:
            return Follow(min(pause, self._takeover_at - now))
        self._attempts.append((stamp, now))
        return Update(with_spec(self._lease, self._spec(record, stamp, acquired=not renews)))

    def wrote(self, lease: Json, sent_at: float, now: float) -> None:
        """Process the answer to a successful Update that was sent at ``sent_at``."""
        record = read_lease(lease)
        self._changed(record, now)
        self._lease, self._record, self._is_known = lease, record, True
        if record.holder == self.identity:
            self._renewed(record, sent_at)
        self._stop_if_lost()

    def refused(self) -> None:
        """Process a conflict: the holder is unknown until the Lease is read again."""
        self._is_known = False

    def unanswered(self) -> None:
        """Process a write without an answer: the Lease is read before the next write."""
        self._is_unanswered = True

    def resignation(self, now: float, stamp: str) -> Json | None:
        """Return the Lease in its released form, None if this process does not hold it."""
        if self._lease is None or not self._is_known or not self._has_time_left(now):
            return None
        spec = {
            **self._lease["spec"],
            "holderIdentity": "",
            "leaseDurationSeconds": RELEASED_SECONDS,
            "renewTime": stamp,
        }
        return with_spec(self._lease, spec)

    def resign(self) -> None:
        """Stop leading for good, whatever the Lease says."""
        self._has_resigned = True

    def leads(self, now: float) -> bool:
        """Whether a write may be sent now."""
        return self._is_known and not self._has_resigned and self._has_time_left(now)

    def is_in_doubt(self, now: float) -> bool:
        """Whether this process led until a conflict, and has not yet read who holds the Lease."""
        return not self._is_known and not self._has_resigned and self._has_time_left(now)

    @property
    def leads_until(self) -> float:
        """When leading ends unless the Lease is renewed."""
        return self._leads_until

    @property
    def safe_until(self) -> float:
        """When a write without an answer is cancelled, unless the Lease is renewed.

        Halfway between the end of leading and the earliest takeover.  The second half is a margin
        for a network that delivers the write, or the reset of its connection, late.
        """
        return self._safe_until

    @property
    def is_unheld(self) -> bool:
        """Whether the Lease has no holder and was not released: rule 5 delays the takeover."""
        record = self._record
        return record is not None and not record.holder and not record.is_released

    # --------------------------------------------------------------------------- inside

    @property
    def _is_ever_read(self) -> bool:
        return self._unchanged_since != _NEVER

    @property
    def _takeover_at(self) -> float:
        return self._unchanged_since + self._patience

    def _has_time_left(self, now: float) -> bool:
        return now < self._leads_until

    def _changed(self, record: LeaseRecord | None, now: float) -> None:
        """Restart the wait for a takeover; our earlier writes can no longer take effect.

        The longer one of the old and new durations counts: it may have been shortened by hand.
        """
        durations = (one.seconds for one in (self._record, record) if one is not None)
        self._patience = max(self.terms.lease_seconds, *durations, 0.0)
        self._unchanged_since = now
        self._attempts = []

    def _confirmed(self, record: LeaseRecord | None) -> float | None:
        """Return when we sent the write that produced this record, None if it was not ours.

        If the wall clock was set back, two writes may have the same stamp; the earlier one is safe.
        """
        if record is None or record.holder != self.identity:
            return None
        times = (sent_at for stamp, sent_at in self._attempts if stamp == record.renewed_at)
        return min(times, default=None)

    def _renewed(self, record: LeaseRecord, sent_at: float) -> None:
        self._written = record
        self._leads_until = sent_at + self.terms.renew_seconds
        self._safe_until = sent_at + (self.terms.renew_seconds + self.terms.lease_seconds) / 2
        self.loss = _NOT_RENEWED

    def _stop_if_lost(self) -> None:
        """Stop leading if the Lease says so, however much time is left (rule 6)."""
        if self._leads_until == _NEVER or self._written is None:
            return
        record, written = self._record, self._written
        if record is None:
            self.loss = "was deleted"
        elif record.holder != self.identity:
            self.loss = f"is held by {record.holder or 'no replica'}, written by another client"
        elif record.uid != written.uid:
            self.loss = "was deleted and created again"
        elif record.transitions < written.transitions:
            self.loss = "was replaced by an older one"
        else:
            return
        self._leads_until = self._safe_until = _NEVER

    def _spec(self, record: LeaseRecord, stamp: str, *, acquired: bool) -> Json:
        assert self._lease is not None
        before = self._lease.get("spec")
        kept = before.get("acquireTime") if isinstance(before, dict) and not acquired else None
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": granted_seconds(self.terms.lease_seconds),
            "acquireTime": kept or stamp,
            "renewTime": stamp,
            # The first holder of a Lease is not a transition from another.
            "leaseTransitions": min(
                record.transitions + bool(acquired and record.renewed_at), _INT32_MAX
            ),
        }
