"""Election: who leads, given a Lease and the time.

The Lease names a holder, when it was last renewed and for how long that counts.  Clocks of
different machines are never compared: a candidate waits for a full lease duration on its own clock
since it last *saw the Lease change*.  A leader counts from the moment before it sent its last
successful renewal, and stops writing after ``renew_seconds``, which is shorter than the lease: when
another may begin, this one has ended.
"""

from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

from myrmidon.api.objects import Json, version_of
from myrmidon.errors import UsageError


@dataclass(frozen=True, slots=True)
class Terms:
    """The times of an election, in seconds."""

    lease_seconds: float = 15.0  # a lease that was not renewed for so long may be taken
    renew_seconds: float = 10.0  # a leader that could not renew for so long stops
    retry_seconds: float = 2.0  # between two attempts to renew or to take the lease

    def __post_init__(self) -> None:
        if not 0 < self.retry_seconds < self.renew_seconds < self.lease_seconds:
            raise UsageError(
                "leader election needs retry < renew deadline < lease duration, but got "
                f"{self.retry_seconds} s, {self.renew_seconds} s, {self.lease_seconds} s.\n"
                "  fix: keep the proportions of 2, 10 and 15 seconds"
            )


@dataclass(frozen=True, slots=True)
class Create:
    """There is no Lease: create it."""

    spec: Json


@dataclass(frozen=True, slots=True)
class Update:
    """Write the Lease, bound to the version that was seen."""

    lease: Json


@dataclass(frozen=True, slots=True)
class Follow:
    """Somebody else leads: look again after ``seconds``."""

    seconds: float


Step: TypeAlias = Create | Update | Follow


class Election:
    """One candidate's view of a Lease."""

    def __init__(self, identity: str, terms: Terms | None = None) -> None:
        self.identity, self.terms = identity, terms or Terms()
        self._seen: Json | None = None
        self._seen_at = float("-inf")
        self._leads_until = self._safe_until = float("-inf")

    def observe(self, lease: Json | None, now: float) -> None:
        """Take the Lease as the server has it; a change restarts the clock of its holder."""
        if self._seen is None or lease is None or version_of(lease) != version_of(self._seen):
            self._seen_at = now
        self._seen = lease

    def step(self, now: float, stamp: str) -> Step:
        """What to do now; ``stamp`` is the time as the Lease will print it."""
        if self._seen is None:
            return Create(self._spec(stamp, acquired=True))
        if self._holder() not in ("", self.identity) and not self._is_over(now):
            return Follow(min(self.terms.retry_seconds / 2, self._over_at() - now))
        acquired = self._holder() != self.identity
        return Update({**self._seen, "spec": self._spec(stamp, acquired=acquired)})

    def wrote(self, lease: Json, sent_at: float) -> None:
        """The server took our Lease; what counts is the moment before it was sent."""
        self._seen, self._seen_at = lease, sent_at
        self._leads_until = sent_at + self.terms.renew_seconds
        self._safe_until = sent_at + self.terms.lease_seconds

    def resignation(self, stamp: str) -> Json | None:
        """The Lease that lets another take over at once, if it is ours to give."""
        if self._seen is None or self._holder() != self.identity:
            return None
        spec = {
            **self._seen["spec"],
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "renewTime": stamp,
        }
        return {**self._seen, "spec": spec}

    def resign(self) -> None:
        """Lead no more, whatever the Lease says."""
        self._leads_until = float("-inf")

    def leads(self, now: float) -> bool:
        """Whether a write may be sent now."""
        return now < self._leads_until

    @property
    def leads_until(self) -> float:
        """When leading ends unless it is renewed."""
        return self._leads_until

    @property
    def safe_until(self) -> float:
        """When another may begin to lead, unless ours is renewed."""
        return self._safe_until

    @property
    def holder(self) -> str:
        """Who holds the Lease, as last seen."""
        return self._holder() if self._seen is not None else ""

    def _holder(self) -> str:
        return str(self._seen_spec().get("holderIdentity") or "")

    def _is_over(self, now: float) -> bool:
        return now >= self._over_at()

    def _over_at(self) -> float:
        granted = self._seen_spec().get("leaseDurationSeconds") or self.terms.lease_seconds
        return self._seen_at + float(granted)

    def _seen_spec(self) -> dict[str, Any]:
        assert self._seen is not None
        return self._seen.get("spec") or {}

    def _spec(self, stamp: str, *, acquired: bool) -> Json:
        before = self._seen_spec() if self._seen is not None else {}
        transitions = int(before.get("leaseTransitions") or 0)
        return {
            "holderIdentity": self.identity,
            # Whole seconds, never fewer than we count on ourselves.
            "leaseDurationSeconds": ceil(self.terms.lease_seconds),
            "acquireTime": stamp if acquired else before.get("acquireTime", stamp),
            "renewTime": stamp,
            "leaseTransitions": transitions + 1 if acquired and before else transitions,
        }
