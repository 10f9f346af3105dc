"""Elector: the loop that reads and writes the Lease.  ``leader.election`` makes every decision.

``permit`` is called before each write of the controllers (``io.http.fence``).  It raises as soon as
this process may no longer write, also if this loop is late.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NoReturn

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.values.timestamps import write_micro_time
from myrmidon.errors import (
    ApiError,
    ConflictError,
    LeadershipLostError,
    NotFoundError,
    TransportError,
    UnreachableError,
)
from myrmidon.io.client import Client
from myrmidon.runtime.leader.election import Create, Election, Follow, Update
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.families import Metrics


class Elector:
    """One candidate for one Lease."""

    def __init__(
        self,
        client: Client,
        lease: ObjectRef,
        election: Election,
        *,
        clock: Clock,
        log: Logger,
        metrics: Metrics | None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """``labels`` are set with each write of the Lease.

        ``metrics`` show whether this process leads; None for a Lease that is not about leading.
        """
        self._labels = dict(labels or {})
        self.annotations: Callable[[], Mapping[str, str]] = dict
        """Returns the annotations that are set with each write of the Lease."""
        self._client, self._lease, self._election = client, lease, election
        self._clock, self._log = clock, log.having(lease=lease.key, identity=election.identity)
        self._gauge = None if metrics is None else metrics.leading.labels(lease.name)
        self._show(leads=False)
        self._led = self._told_unheld = False
        self.elected = asyncio.Event()

    async def run(self) -> NoReturn:
        """Acquire and renew the Lease until cancelled; raise LeadershipLostError if it is lost."""
        while True:
            seconds = await self._step()
            self._check()
            await self._pause(seconds)
            self._check()

    def permit(self) -> float:
        """Return the seconds after which a write must be cancelled; raise if none may be sent.

        After a conflict it is not known yet whether this process still leads.  Then the error is
        UnreachableError: the write is not sent, and may be retried.
        """
        now, election = self._clock.monotonic(), self._election
        if election.leads(now):
            return election.safe_until - now
        if election.is_in_doubt(now):
            raise UnreachableError(
                f"not sent: the lease {self._lease.key} was written by another client, and is "
                "being read again"
            )
        raise LeadershipLostError(
            f"{election.identity} may no longer write: its lease {self._lease.key} {election.loss}"
        )

    @property
    def leads(self) -> bool:
        """Whether this process leads now."""
        return self._election.leads(self._clock.monotonic())

    @property
    def names(self) -> tuple[str, str]:
        """The name of this replica, and of the one that leads; "" if none does."""
        leader = self._election.identity if self.leads else self._election.holder
        return self._election.identity, leader

    async def resign(self, *, release: bool = True) -> None:
        """Stop leading; with ``release``, let another replica take the Lease at once."""
        self._election.resign()
        self._show(leads=False)
        self._led = False
        if not release:
            self._log.warning("lease not released", error="writes without an answer are under way")
            return
        try:
            await self._release()
        except (ApiError, TransportError) as error:
            self._log.warning("lease not released", error=str(error))

    # --------------------------------------------------------------------------- inside

    async def _step(self) -> float:
        """Make one attempt; return the seconds until the next."""
        sent_at = self._clock.monotonic()
        step = self._election.step(sent_at, write_micro_time(self._clock.now()))
        if isinstance(step, Follow):
            await self._pause(step.seconds)
            return await self._read()
        return await self._write(step, sent_at)

    async def _write(self, step: Create | Update, sent_at: float) -> float:
        """Create or update the Lease; return the seconds until the next attempt."""
        retry = self._election.terms.retry_seconds
        try:
            if isinstance(step, Create):
                lease = await self._client.create(
                    kinds.LEASE, self._identified({"spec": step.spec})
                )
                self._election.observe(lease, self._clock.monotonic())
                return 0.0
            lease = await self._client.update(kinds.LEASE, self._identified(step.lease))
        except (ConflictError, NotFoundError):
            # Another client wrote or deleted the Lease: read it before the next write.
            self._election.refused()
            return await self._read() or (retry / 4 if isinstance(step, Update) else retry / 2)
        except (ApiError, TransportError) as error:
            self._log.warning("lease not renewed", error=str(error))
            self._election.unanswered()
            return retry / 2
        self._election.wrote(lease, sent_at, self._clock.monotonic())
        self._lead()
        return retry

    async def _read(self) -> float:
        """Read the Lease; return the seconds to wait, 0.0 if it was read."""
        try:
            lease: Json | None = await self._client.get(self._lease)
        except NotFoundError:
            lease = None
        except (ApiError, TransportError) as error:
            self._log.warning("lease not read", error=str(error))
            return self._election.terms.retry_seconds / 2
        self._election.observe(lease, self._clock.monotonic())
        self._lead()
        self._tell_unheld()
        return 0.0

    async def _release(self) -> None:
        """Release the Lease; after a conflict with our own last renewal, try once more."""
        for is_last in (False, True):
            stamp = write_micro_time(self._clock.now())
            lease = self._election.resignation(self._clock.monotonic(), stamp)
            if lease is None:
                return
            try:
                await self._client.update(kinds.LEASE, self._identified(lease))
            except ConflictError:
                if is_last:
                    raise
                await self._read()
            else:
                self._log.info("lease released")
                return

    def _lead(self) -> None:
        """Set ``elected`` if this process has begun to lead."""
        if not self._led and self.leads:
            self._led = True
            self._show(leads=True)
            self._log.info("leading")
            self.elected.set()

    def _tell_unheld(self) -> None:
        """Log once why a Lease without a holder is not taken at once."""
        if not self._told_unheld and self._election.is_unheld:
            self._told_unheld = True
            self._log.info(
                "lease has no holder",
                waits_seconds=self._election.terms.lease_seconds,
                why="it may have been deleted or edited while another replica leads",
            )

    def _check(self) -> None:
        """Raise if this process led and has lost the Lease; a conflict alone is not a loss."""
        if self._led:
            self._show(leads=self.leads)
            with suppress(UnreachableError):
                self.permit()

    def _show(self, *, leads: bool) -> None:
        if self._gauge is not None:
            self._gauge.set(leads)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than until leading ends."""
        if self._led:
            seconds = min(seconds, self._election.leads_until - self._clock.monotonic())
        if seconds > 0:
            await self._clock.sleep(seconds)

    def _identified(self, lease: Json) -> Json:
        """Return the Lease with kind, name and namespace set, whatever the server returned."""
        meta = {**lease.get("metadata", {}), "name": self._lease.name}
        meta["namespace"] = self._lease.namespace
        if self._labels:
            meta["labels"] = {**(meta.get("labels") or {}), **self._labels}
        if said := self.annotations():
            meta["annotations"] = {**(meta.get("annotations") or {}), **said}
        return {
            **lease,
            "apiVersion": kinds.LEASE.api_version,
            "kind": kinds.LEASE.kind,
            "metadata": meta,
        }
