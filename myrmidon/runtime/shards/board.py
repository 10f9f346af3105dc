"""ShardBoard: decides which slices this member owns, gives away and may give to others.  No I/O.

The problem: every object needs exactly one replica that works on it, while replicas start, stop, hang
and die.  A slice is owned as the shard map records it (``shard_map``), and these rules keep two
members from writing for one slice at the same time:

1. A member works on a slice only while the map records it as the owner, the map was read within the
   renew deadline (counted from before the read was sent), and its own member Lease is valid by the
   rules of the leader election.
2. While the owner of a slice lives, only the owner changes that entry, after it has stopped: no pass
   of the slice runs, its fence is closed, and every write was answered.
3. The entry of an owner that does not live is changed by any member, after the owner was found *gone*
   (``peers``): then the owner cannot send a write, and can never renew its Lease again.
4. A slice without an owner is given away after the map has been seen so, in the same version, for a
   full lease duration: the map may be new because a person deleted the old one while members work by it.  Hence the first
   start of a program waits once for the lease duration.
5. A map that was replaced, set back or edited (another uid, an older epoch, other owners in the same
   epoch) is not believed: its members stop at once, and rule 4 applies to all slices.

Who should own what is computed by ``assignment`` from the same map and the same Leases in every
member.  Views may differ for a moment; that delays a handover and never causes a second writer,
because every change of the map is bound to the version that was read.

The member with the lowest name gives the slices of gone members away at once; the others follow one
second later each, in case it does not, so that they do not all try to write the same.

Not handled: what the leader election does not handle (suspended machines, a person who writes what a
member would write), and an etcd that is restored while a member is cut off from it.
"""

from collections.abc import Mapping, Sequence

from myrmidon.api.objects.accessors import Json, name_of, version_of
from myrmidon.runtime.leader.election import Terms
from myrmidon.runtime.shards.assignment import Owners, assign
from myrmidon.runtime.shards.peers import Peers
from myrmidon.runtime.shards.shard_map import UNOWNED, ShardMap, read_map, with_owners
from myrmidon.runtime.shards.written_versions import merged

_NEVER = float("-inf")
_RANK_SECONDS = 1.0


class ShardBoard:
    """What one member knows about the shard map and the other members.

    All times are of its monotonic clock.
    """

    def __init__(self, member: str, by: str, terms: Terms) -> None:
        self.member, self.by, self.terms = member, by, terms
        self.peers = Peers(terms.lease_seconds)
        self._lease: Json | None = None
        self._known: ShardMap | None = None
        self._distrusted: tuple[str, int] | None = None
        self._epoch_max = 0
        self._owners: Owners = UNOWNED
        self._unowned_since: dict[int, float] = {}
        self._free_since: float | None = None
        self._read_at = _NEVER  # when the read that gave the owners was sent
        self._is_listed = False  # whether the last list had the Lease of this member
        self._doubtful = ""  # the version to which a write without an answer is bound

    # ------------------------------------------------------------------------- observing

    def listed(
        self, leases: Sequence[Json], found: Json | None, sent_at: float, now: float
    ) -> None:
        """Process a consistent list of the member Leases and the shard map (None: there is none).

        A member that is not in its own list (a person removed the label) does not work: the others
        do not see it either, and give its slices away after the lease duration.
        """
        self._is_listed = any(name_of(lease) == self.member for lease in leases)
        self._take(found, sent_at, now)
        self.peers.listed(leases, now)

    def wrote(self, lease: Json, sent_at: float, now: float) -> None:
        """Process the answer to a successful write of the shard map."""
        since = self._unowned_since
        self._take(lease, sent_at, now)
        # It was bound to the version that was known, so no other change came in between.
        self._unowned_since = {each: since.get(each, now) for each in self._unowned_since}

    def unanswered(self) -> None:
        """Process a write of the shard map without an answer: it may still take effect.

        It is bound to the version of the map that is known.  So until another version is seen, no
        slice is opened that the write might give to another member.
        """
        self._doubtful = self._version

    def _take(self, lease: Json | None, sent_at: float, now: float) -> None:
        if self._lease is None or lease is None or version_of(lease) != self._version:
            self._unowned_since = {}  # the slices may have had owners in between
        self._lease, self._read_at = lease, sent_at
        if self._version != self._doubtful:
            self._doubtful = ""
        if lease is None:
            self._owners = UNOWNED
        else:
            found = read_map(lease)
            if self._known is not None and _is_replaced(self._known, found):
                self._distrusted = (found.uid, found.epoch)
            self._known = found
            self._epoch_max = max(self._epoch_max, found.epoch)
            believed = self._distrusted != (found.uid, found.epoch)
            self._owners = found.owners if believed else UNOWNED
        self._unowned_since = {
            number: self._unowned_since.get(number, now)
            for number, owner in enumerate(self._owners)
            if not owner
        }

    # --------------------------------------------------------------------------- deciding

    @property
    def has_map(self) -> bool:
        """Whether there was a shard map when it was last read."""
        return self._lease is not None

    @property
    def known(self) -> ShardMap | None:
        """The shard map as it was last read."""
        return self._known

    @property
    def owners(self) -> Owners:
        """The owner of each slice, as far as the map is believed."""
        return self._owners

    @property
    def is_in_doubt(self) -> bool:
        """Whether a write of the shard map that got no answer may still take effect."""
        return bool(self._doubtful)

    @property
    def _version(self) -> str:
        return "" if self._lease is None else version_of(self._lease)

    @property
    def owned(self) -> frozenset[int]:
        """The slices that the map gives to this member."""
        if not self._is_listed:
            return frozenset()
        return frozenset(
            number for number, owner in enumerate(self._owners) if owner == self.member
        )

    @property
    def valid_until(self) -> float:
        """Until when this member may begin writes, unless the map is read again."""
        return self._read_at + self.terms.renew_seconds

    @property
    def safe_until(self) -> float:
        """When a write without an answer is cancelled, unless the map is read again."""
        return self._read_at + (self.terms.renew_seconds + self.terms.lease_seconds) / 2

    def target(self, now: float) -> Owners:
        """Return the owner that each slice should have; this member is one of them if it lives."""
        return assign(self._owners, self.peers.live(now))

    def leaving(self, now: float) -> frozenset[int]:
        """Return the slices of this member that another one should own."""
        target = self.target(now)
        return frozenset(number for number in self.owned if target[number] != self.member)

    def free(self, now: float) -> frozenset[int]:
        """Return the slices that any member may give away: their owner is gone, or they have none."""
        gone = {name for name in dict.fromkeys(self._owners) if name and self.peers.is_gone(name)}
        wait = self.terms.lease_seconds
        return frozenset(
            number
            for number, owner in enumerate(self._owners)
            if (owner in gone if owner else now >= self._unowned_since[number] + wait)
        )

    def next_map(
        self, stopped: frozenset[int], now: float, versions: Mapping[str, int] | None = None
    ) -> Json | None:
        """Return the shard map as it should be written now, None if nothing is to be changed.

        ``stopped`` are own slices on which this member does not work any more.  After a write without
        an answer the map is written in any case, so that the earlier write cannot take effect later.
        ``versions`` are those of this member's last writes; those of gone members are in their Leases.
        """
        live, free = self.peers.live(now), self.free(now)
        self._free_since = (self._free_since or now) if free else None
        if self._lease is None or self.member not in live:
            return None
        movable = set(stopped & self.owned)
        rank = sorted(live).index(self.member)
        if self._free_since is not None and now >= self._free_since + rank * _RANK_SECONDS:
            movable |= free
        target = assign(self._owners, live)
        owners = tuple(
            target[number] if number in movable else owner
            for number, owner in enumerate(self._owners)
        )
        if owners == self._owners and not self._doubtful:
            return None
        former = {owner for number, owner in enumerate(self._owners) if owners[number] != owner}
        reached = [self.peers.versions(name) for name in former] + [versions or {}]
        return with_owners(self._lease, owners, self._epoch_max + 1, self.by, merged(*reached))

    def unserved(self, now: float) -> int:
        """Return how many slices have no living owner."""
        live = self.peers.live(now)
        return sum(owner not in live for owner in self._owners)

    def changes_at(self, now: float) -> float:
        """Return when this member may have to act although no Lease has changed."""
        times = [self.peers.changes_at(now)]
        times += [since + self.terms.lease_seconds for since in self._unowned_since.values()]
        if self._free_since is not None:
            times.append(now + _RANK_SECONDS)
        return min((at for at in times if at > now), default=float("inf"))


def _is_replaced(known: ShardMap, found: ShardMap) -> bool:
    """Whether the map did not come about by changes of members (rule 5)."""
    if found.uid != known.uid or found.epoch < known.epoch:
        return True
    return found.epoch == known.epoch and found.owners != known.owners
