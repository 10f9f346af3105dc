"""ShardMember: reads the Leases, writes the shard map, and opens and closes slices of its process.

It is a loop; ``shards.board`` makes every decision.  A slice of this process is in one of these states:

    active    passes begin, writes are sent
    draining  no pass begins; those under way may finish and write
    stopped   no pass runs and no write is sent; the map may be given another owner

The member joins when its caches are in sync: another replica would otherwise give it slices that it
cannot serve yet.  Its own Lease is held by an ``Elector``, whose Lease has no other candidates.  A
member that cannot renew it ends its process, as a leader does.

A handover: the owner sees that another member should have a slice, lets its passes finish for
the renew deadline, cancels those that are left, closes the fence, waits until no write can take effect
any more, and writes the new owner into the map.  The new owner is woken by its watch, reads the map,
fills its caches with the objects of the slice, opens it and queues all of them.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NoReturn

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, labels_of, name_of, uid_of, version_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.values.timestamps import write_micro_time
from myrmidon.errors import ApiError, ConflictError, TransportError, UnreachableError, UsageError
from myrmidon.io.client import Client
from myrmidon.io.watch.changes import Change
from myrmidon.io.watch.subscriptions import Subscription
from myrmidon.io.watch.views import View
from myrmidon.runtime.leader.elector import Elector
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.shards import ShardMetrics
from myrmidon.runtime.shards.assignment import moves_text
from myrmidon.runtime.shards.board import ShardBoard
from myrmidon.runtime.shards.fence import SliceWrites
from myrmidon.runtime.shards.peers import expelled, placeholder
from myrmidon.runtime.shards.process_parts import Work, Worked, nothing
from myrmidon.runtime.shards.shard_map import (
    LABEL,
    SLICES_ANNOTATION,
    is_map,
    label_value,
    map_name,
    written_map,
)
from myrmidon.runtime.shards.slices import Range, ranges_of, text_of
from myrmidon.runtime.shards.written_versions import (
    VERSIONS_ANNOTATION,
    Versions,
    text_of_versions,
)

CANCEL_SECONDS_MAX = 2.0  # time for cancelled passes to clean up
_CATCH_UP_SECONDS = 0.02  # between two looks at the caches


class ShardMember:
    """One member of the set of replicas that share the objects of a program."""

    def __init__(
        self,
        client: Client,
        program: str,
        namespace: str,
        elector: Elector,
        board: ShardBoard,
        *,
        clock: Clock,
        log: Logger,
        metrics: ShardMetrics,
    ) -> None:
        self._client, self._program, self._namespace = client, program, namespace
        self._elector, self._board, self._clock = elector, board, clock
        self._log = log.having(member=board.member)
        self._metrics = metrics
        elector.annotations = self.annotations
        self.writes = SliceWrites(clock)
        self.controllers: Callable[[], Iterable[Worked]] = tuple
        """The controllers that are told of slices that come and go."""
        self.has_reached: Callable[[Versions], bool] = lambda _versions: True
        """Whether the caches have come to the versions."""
        self.keep: Callable[[list[Range]], None] = lambda _ranges: None
        """Called with the ranges of hashes whose objects the caches should hold from now on."""
        self.wait_kept: Callable[[], Work] = nothing
        """Waits until the caches hold them."""
        self.moved: Callable[[Json, str], None] = lambda _lease, _said: None
        """Called with the shard map and a sentence when this member has changed its owners."""
        self._active: frozenset[int] = frozenset()
        self._open: frozenset[int] = frozenset()
        self._busy: frozenset[int] = frozenset()  # slices that come or go at the moment
        self._kept: frozenset[int] = frozenset()  # slices whose objects the caches hold
        self._woken, self.joined = asyncio.Event(), asyncio.Event()

    # --------------------------------------------------------------------------- asking

    @property
    def by(self) -> str:
        """What is hashed: ``uid`` or ``namespace``."""
        return self._board.by

    @property
    def labels(self) -> str:
        """The label selector of all Leases of the program's members, and of the shard map."""
        return f"{LABEL}={label_value(self._program)}"

    @property
    def namespace(self) -> str:
        """The namespace of the Leases."""
        return self._namespace

    @property
    def slices(self) -> frozenset[int]:
        """The slices on which this process works."""
        return self._active

    @property
    def ranges(self) -> list[Range]:
        """The ranges of the hash space on which this process works."""
        return ranges_of(self._active)

    @property
    def is_settled(self) -> bool:
        """Whether no slice comes or goes, and this process works on all that it owns."""
        return self.joined.is_set() and not self._busy and self._active == self._board.owned

    def is_active(self, number: int) -> bool:
        """Whether passes over the objects of a slice may begin."""
        return number in self._active

    def permit(self, number: int | None) -> float:
        """Return the seconds after which a write must be cancelled; raise if none may be sent.

        ``number`` is the slice of the pass; None for a write outside a pass.
        """
        left = self._elector.permit()
        if number is None:
            return left
        now, board = self._clock.monotonic(), self._board
        if number not in self._open or now >= board.valid_until:
            raise UnreachableError(
                f"not sent: slice {number} is being handed over, or the shard map could not be read"
            )
        return min(left, board.safe_until - now)

    # ---------------------------------------------------------------------------- running

    async def run(self, leases: View, ready: asyncio.Event) -> NoReturn:
        """Take part until cancelled, from the moment when ``ready`` is set."""
        await ready.wait()
        await leases.wait_synced()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._elector.run())
            group.create_task(self._follow(leases))
            while True:
                await self._round(group)
                await self._pause()
        raise AssertionError("the loop above does not end")

    def annotations(self) -> dict[str, str]:
        """Return what the member Lease says about the slices of this process."""
        versions = text_of_versions(self.writes.versions)
        return {SLICES_ANNOTATION: text_of(self._active), VERSIONS_ANNOTATION: versions}

    async def resign(self, *, release: bool) -> None:
        """Leave the set of members, after all passes have ended; others take the slices at once."""
        self._active = self._open = frozenset()
        self._show()
        await self._elector.resign(release=release)

    # ----------------------------------------------------------------------------- inside

    async def _round(self, group: asyncio.TaskGroup) -> None:
        """Read the Leases, change what is to be changed, and open and close slices."""
        self._woken.clear()
        try:
            await self._read()
            self._settle(group)
            await self._recover()
            await self._expel()
            while await self._write():
                self._settle(group)
        except (ApiError, TransportError) as error:
            self._log.warning("shard map not read or written", error=str(error))
        self._settle(group)
        self._show()

    async def _read(self) -> None:
        sent_at = self._clock.monotonic()
        found = await self._client.list(kinds.LEASE, self._namespace, labels=self.labels)
        members = [lease for lease in found if not is_map(lease, self._program)]
        shard_map = next((lease for lease in found if is_map(lease, self._program)), None)
        self._board.listed(members, shard_map, sent_at, self._clock.monotonic())
        self._check_by()
        if shard_map is None:
            made = written_map(map_name(self._program), self._program, self._board.by)
            made["metadata"]["namespace"] = self._namespace
            with suppress(ConflictError):  # another member created it
                await self._client.create(kinds.LEASE, made)
            self._woken.set()

    def _check_by(self) -> None:
        """Raise if other members divide the objects in another way: objects would have two owners."""
        known, board = self._board.known, self._board
        others = board.peers.live(self._clock.monotonic()) - {board.member}
        if known is not None and known.by not in {board.by, ""} and others & set(known.owners):
            raise UsageError(
                f"this replica divides the objects by {board.by}, but the running replicas of "
                f"{self._program} divide them by {known.by}.\n"
                "  fix: use the same --shard-by everywhere, or stop all replicas before you change it"
            )

    async def _recover(self) -> None:
        """Create the Leases of owners that have none, or give them their label back."""
        labels = {LABEL: label_value(self._program)}
        seconds = self._board.terms.lease_seconds
        for name in self._board.peers.missing(self._board.owners):
            lease = placeholder(name, labels, seconds)
            lease["metadata"]["namespace"] = self._namespace
            try:
                created = await self._client.create(kinds.LEASE, lease)
            except ConflictError:
                found = await self._client.get(ObjectRef(kinds.LEASE, name, self._namespace))
                meta = {**found["metadata"], "labels": {**labels_of(found), **labels}}
                with suppress(ConflictError):
                    await self._client.update(kinds.LEASE, {**found, "metadata": meta})
                self._woken.set()
            else:
                self._board.peers.seen(created, self._clock.monotonic())
                self._log.warning("member without a Lease", missing=name)

    async def _expel(self) -> None:
        """Release the Leases of members that did not renew theirs; delete those of former members.

        Another member may do the same at the same time; then the write is refused, and the next list
        shows the result.
        """
        board, now = self._board, self._clock.monotonic()
        for lease in board.peers.expired(now):
            if name_of(lease) == board.member:
                continue
            stamp = write_micro_time(self._clock.now())
            with suppress(ApiError):
                released = await self._client.update(kinds.LEASE, expelled(lease, stamp))
                board.peers.seen(released, self._clock.monotonic())
                self._log.warning("member expelled", expelled=name_of(lease))
        for lease in board.peers.leftovers(set(board.owners)):
            ref = ObjectRef(kinds.LEASE, name_of(lease), self._namespace)
            with suppress(ApiError):
                await self._client.delete(
                    ref, uid=uid_of(lease), resource_version=version_of(lease)
                )

    async def _write(self) -> bool:
        """Write the shard map if it is to be changed; whether it was."""
        board, sent_at = self._board, self._clock.monotonic()
        if not self._elector.leads:
            return False
        before = board.owners
        stopped = board.owned - self._open - self._busy
        lease = board.next_map(stopped, sent_at, self.writes.versions)
        if lease is None:
            return False
        try:
            written = await self._client.update(kinds.LEASE, lease)
        except ConflictError:
            self._woken.set()  # another member was faster: read the map again
            return False
        except (ApiError, TransportError):
            board.unanswered()
            raise
        board.wrote(written, sent_at, self._clock.monotonic())
        said = moves_text(before, board.owners)
        self._log.info("slices moved", moves=said)
        self.moved(written, said)
        return True

    def _settle(self, group: asyncio.TaskGroup) -> None:
        """Open and close slices as the board says.

        Slices that the map does not give to this process any more are closed at once: it was
        replaced, and other members do not wait for an answer.
        """
        board = self._board
        lost = (self._open - board.owned) - self._busy
        self._active &= board.owned
        self._open &= board.owned
        if lost:
            self._log.warning("slices lost", slices=text_of(lost))
            self._start(group, lost, self._drain(lost, 0.0))
        if not self._elector.leads:
            return
        leaving = board.leaving(self._clock.monotonic())
        draining = (self._active & leaving) - self._busy
        if draining:
            self._active -= draining
            self._start(group, draining, self._drain(draining, board.terms.renew_seconds))
        gained = board.owned - self._open - self._busy - leaving
        if gained and not board.is_in_doubt:
            self._start(group, gained, self._gain(gained))
        if board.owned or board.has_map:
            self.joined.set()

    def _start(self, group: asyncio.TaskGroup, slices: frozenset[int], work: Work) -> None:
        self._busy |= slices
        group.create_task(self._done(slices, work))

    async def _done(self, slices: frozenset[int], work: Work) -> None:
        await work
        self._busy -= slices
        self._woken.set()

    async def _gain(self, slices: frozenset[int]) -> None:
        """Open slices as soon as the caches show the last writes of their former owners."""
        self._keep(self._kept | slices)
        await self.wait_kept()
        known = self._board.known
        await self._catch_up({} if known is None else known.versions)
        slices &= self._board.owned
        self._open |= slices
        self._active |= slices
        self._log.info("slices gained", slices=text_of(slices))
        self._metrics.moved.labels(self._program, "gained").inc(len(slices))
        for controller in self.controllers():
            await controller.gain(slices)

    def _keep(self, slices: frozenset[int]) -> None:
        self._kept = slices
        self.keep(ranges_of(slices))

    async def _catch_up(self, versions: Versions) -> None:
        """Wait until the caches have reached these versions, or for the retry period.

        A cache may never reach one: another replica may watch other namespaces.
        """
        until = self._clock.monotonic() + self._board.terms.retry_seconds
        while self._clock.monotonic() < until and not self.has_reached(versions):
            await self._clock.sleep(_CATCH_UP_SECONDS)

    async def _drain(self, slices: frozenset[int], seconds: float) -> None:
        """Stop the work on slices; return when no write for them can take effect any more."""
        self._metrics.moved.labels(self._program, "lost").inc(len(slices))
        async with asyncio.TaskGroup() as group:
            for controller in self.controllers():
                group.create_task(controller.finish(slices, seconds))
        self._open -= slices
        terms = self._board.terms
        margin = terms.lease_seconds - terms.renew_seconds
        while (left := self.writes.settle_in(slices, margin)) > 0:
            await self._clock.sleep(left)
        self._keep(self._kept - slices)
        self._log.info("slices stopped", slices=text_of(slices))

    async def _follow(self, leases: View) -> NoReturn:
        """Wake the loop when the shard map changes, and when a member comes, goes or resigns."""
        changes = Subscription()
        leases.subscribe(changes)
        async for change in changes:
            self._hear(change)
        raise AssertionError("a subscription does not end")

    def _hear(self, change: Change) -> None:
        lease = change.after
        if lease is None or change.old is None or is_map(lease, self._program):
            self._woken.set()
            return
        live = self._board.peers.live(self._clock.monotonic())
        self._board.peers.seen(lease, self._clock.monotonic())
        if live != self._board.peers.live(self._clock.monotonic()):
            self._woken.set()

    async def _pause(self) -> None:
        now, retry = self._clock.monotonic(), self._board.terms.retry_seconds
        seconds = max(0.001, min(retry, self._board.changes_at(now) - now))
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()

    def _show(self) -> None:
        """Set the gauges."""
        now, board = self._clock.monotonic(), self._board
        metrics, name = self._metrics, self._program
        metrics.slices.labels(name).set(len(self._active))
        metrics.members.labels(name).set(len(board.peers.live(now)))
        metrics.unowned.labels(name).set(board.unserved(now))
