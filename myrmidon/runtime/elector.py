"""Elector: keeps a Lease or waits for it.  It decides nothing; ``runtime.election`` does."""

import asyncio
from datetime import datetime
from typing import NoReturn

from myrmidon.api import kinds
from myrmidon.api.clock import Clock
from myrmidon.api.objects import Json
from myrmidon.api.refs import ObjectRef
from myrmidon.errors import (
    ApiError,
    ConflictError,
    LeadershipLostError,
    NotFoundError,
    TransportError,
)
from myrmidon.io.client import Client
from myrmidon.runtime.election import Create, Election, Follow, Update
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics import Metrics


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
        metrics: Metrics,
    ) -> None:
        self._client, self._lease, self._election = client, lease, election
        self._clock, self._log = clock, log.having(lease=lease.key, identity=election.identity)
        self._gauge = metrics.leading.labels(lease.name)
        self._gauge.set(0)
        self._led = False
        self.elected = asyncio.Event()

    async def run(self) -> NoReturn:
        """Take part until cancelled; raise when leading has ended."""
        await self._look()
        while True:
            seconds = await self._step()
            self._check()
            await self._pause(seconds)
            self._check()

    def permit(self) -> float:
        """Raise unless this process may write at this very moment; for how long nobody else may."""
        now = self._clock.monotonic()
        if not self._election.leads(now):
            raise LeadershipLostError(
                f"{self._election.identity} may no longer write: its lease {self._lease.key} was not "
                "renewed in time"
            )
        return self._election.safe_until - now

    @property
    def leads(self) -> bool:
        """Whether this process leads at this very moment."""
        return self._election.leads(self._clock.monotonic())

    async def resign(self) -> None:
        """Give the Lease back, so that another need not wait for its end."""
        lease = self._election.resignation(_stamp(self._clock.now()))
        self._election.resign()
        self._gauge.set(0)
        self._led = False
        if lease is None:
            return
        try:
            await self._client.update(kinds.LEASE, lease)
        except (ApiError, TransportError) as error:
            self._log.warning("lease not released", error=str(error))
        else:
            self._log.info("lease released")

    # --------------------------------------------------------------------------- inside

    async def _step(self) -> float:
        """One attempt; return the seconds until the next."""
        retry = self._election.terms.retry_seconds
        sent_at = self._clock.monotonic()
        step = self._election.step(sent_at, _stamp(self._clock.now()))
        if isinstance(step, Follow):
            await self._pause(step.seconds)
            await self._look()
            return 0.0
        try:
            lease = await self._write(step)
        except (ConflictError, NotFoundError):
            await self._look()
            return 0.0 if not self._led else retry / 2
        except (ApiError, TransportError) as error:
            self._log.warning("lease not renewed", error=str(error))
            return retry / 2
        self._election.wrote(lease, sent_at)
        self._lead()
        return retry

    async def _write(self, step: Create | Update) -> Json:
        if isinstance(step, Create):
            return await self._client.create(kinds.LEASE, self._manifest(step.spec))
        return await self._client.update(kinds.LEASE, step.lease)

    async def _look(self) -> None:
        try:
            lease: Json | None = await self._client.get(self._lease)
        except NotFoundError:
            lease = None
        except (ApiError, TransportError) as error:
            self._log.warning("lease not read", error=str(error))
            return
        self._election.observe(lease, self._clock.monotonic())

    def _lead(self) -> None:
        if not self._led:
            self._led = True
            self._gauge.set(1)
            self._log.info("leading")
            self.elected.set()

    def _check(self) -> None:
        if self._led and not self.leads:
            self._gauge.set(0)
            self.permit()

    async def _pause(self, seconds: float) -> None:
        """Wait, but not beyond the moment at which leading ends."""
        if self._led:
            seconds = min(seconds, self._election.leads_until - self._clock.monotonic())
        if seconds > 0:
            await self._clock.sleep(seconds)

    def _manifest(self, spec: Json) -> Json:
        return {
            "apiVersion": kinds.LEASE.api_version,
            "kind": kinds.LEASE.kind,
            "metadata": {"name": self._lease.name, "namespace": self._lease.namespace},
            "spec": spec,
        }


def _stamp(now: datetime) -> str:
    """The time as a Lease prints it: exactly six digits, also where they are zeros."""
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
