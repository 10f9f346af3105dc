"""Peers: which members live, by what this process has seen of their Leases and its monotonic clock.

The rules are those of the leader election (``leader.election``).  Clocks of two machines are never
compared.  When the slices of a member may be given to others:

- It *released* its Lease: it had stopped writing before.
- It *expired*: its Lease was seen unchanged for its lease duration.  It is first *expelled*, with a
  write bound to the resourceVersion that was seen: the Lease becomes a released one.  So a renewal
  that is still on its way fails, and the member cannot work on.
- Its Lease is *missing* in a consistent list, because a person deleted it or removed its label.  Then
  it is created again without a holder, or given its label back (``placeholder``), and the second rule
  applies to it: the member learns of it with its next renewal, or its time ends.

Watch events only tell when a state of a Lease was first seen; that a Lease is missing is decided by
consistent lists, because a watch may be behind.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, annotations_of, name_of
from myrmidon.runtime.leader.lease_record import (
    RELEASED_SECONDS,
    LeaseRecord,
    granted_seconds,
    read_lease,
    with_spec,
)
from myrmidon.runtime.shards.written_versions import Versions, versions_in


class _Peer:
    """A member Lease: its last state, and since when it has been so."""

    __slots__ = ("lease", "patience", "record", "since")

    def __init__(self, lease: Json, record: LeaseRecord, since: float, patience: float) -> None:
        self.lease, self.record, self.since, self.patience = lease, record, since, patience

    @property
    def expires_at(self) -> float:
        return self.since + self.patience


class Peers:
    """The member Leases of a program.  All times are of this process's monotonic clock."""

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._peers: dict[str, _Peer] = {}

    def seen(self, lease: Json, now: float) -> None:
        """Process the state of one member Lease, from a watch event, a list or an own write."""
        name, record = name_of(lease), read_lease(lease)
        known = self._peers.get(name)
        if known is not None and known.record == record:
            return
        before = 0.0 if known is None else known.record.seconds  # it may be shortened by hand
        patience = max(self._lease_seconds, before, record.seconds)
        self._peers[name] = _Peer(lease, record, now, patience)

    def listed(self, leases: Iterable[Json], now: float) -> None:
        """Process a consistent list of all member Leases."""
        found = {name_of(lease): lease for lease in leases}
        for lease in found.values():
            self.seen(lease, now)
        for name in self._peers.keys() - found.keys():
            del self._peers[name]

    def missing(self, owners: Iterable[str]) -> list[str]:
        """Return the owners of slices that had no Lease in the last list."""
        return [name for name in dict.fromkeys(owners) if name and name not in self._peers]

    def live(self, now: float) -> frozenset[str]:
        """Return the members that hold their Lease."""
        return frozenset(
            name
            for name, peer in self._peers.items()
            if peer.record.holder and now < peer.expires_at
        )

    def is_gone(self, name: str) -> bool:
        """Whether the slices of a member may be given to others."""
        peer = self._peers.get(name)
        return peer is not None and peer.record.is_released and bool(peer.record.renewed_at)

    def expired(self, now: float) -> list[Json]:
        """Return the Leases that were not renewed in time and are not released yet."""
        return [
            peer.lease
            for peer in self._peers.values()
            if now >= peer.expires_at and not (peer.record.is_released and peer.record.renewed_at)
        ]

    def leftovers(self, owners: Collection[str]) -> list[Json]:
        """Return the released Leases of members that own no slice any more: they can be deleted."""
        return [
            peer.lease
            for name, peer in self._peers.items()
            if peer.record.is_released and peer.record.renewed_at and name not in owners
        ]

    def changes_at(self, now: float) -> float:
        """Return when the next Lease expires."""
        times = (peer.expires_at for peer in self._peers.values())
        return min((at for at in times if at > now), default=float("inf"))

    def versions(self, name: str) -> Versions:
        """Return the versions of the last writes of a member, as its Lease says."""
        peer = self._peers.get(name)
        return {} if peer is None else versions_in(annotations_of(peer.lease))


def placeholder(name: str, labels: Mapping[str, str], lease_seconds: float) -> Json:
    """Return a Lease without a holder, for a member whose Lease is missing."""
    return {
        "apiVersion": kinds.LEASE.api_version,
        "kind": kinds.LEASE.kind,
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"leaseDurationSeconds": granted_seconds(lease_seconds)},
    }


def expelled(lease: Mapping[str, Any], stamp: str) -> Json:
    """Return the Lease of an expired member in its released form, bound to the version that was seen."""
    spec = lease.get("spec")
    spec = dict(spec) if isinstance(spec, Mapping) else {}
    spec |= {"holderIdentity": "", "leaseDurationSeconds": RELEASED_SECONDS, "renewTime": stamp}
    return with_spec(lease, spec)
