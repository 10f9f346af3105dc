"""Applies the faults of the plan, and counts those that had an effect."""

import asyncio
import contextlib
import http.client
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import StartError
from tests.soak.pace import monotonic, pause, wall
from tests.soak.plan import Strike
from tests.soak.processes import Slot
from tests.soak.replica import LEASE, LEASE_NAMESPACE
from tests.soak.users import MERGE_PATCH

LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases/{LEASE}"
_FAILURES = (OSError, http.client.HTTPException)
_DELAY_SECONDS = 0.2
_ATTEMPTS = 5


class Struck(NamedTuple):
    """One fault that was applied, with the times of the API server's machine."""

    began_at: float
    ended_at: float
    fault: str
    victim: str
    """The life of the replica that was chosen; a fault of the server or the Lease ignores it."""


class Faults:
    """Every fault on this control plane and these replicas."""

    def __init__(self, plane: ControlPlane, slots: Sequence[Slot]) -> None:
        self._plane, self._slots = plane, slots
        self._client = plane.client(timeout=5.0)
        self._server = asyncio.Lock()  # one outage of the server at a time
        self.fired: Counter[str] = Counter()
        self.history: list[Struck] = []
        self._acts: dict[str, Callable[[Slot, Strike], Awaitable[bool]]] = {
            "cut": self._cut,
            "reset": self._reset,
            "half-close": self._half_close,
            "stall": self._stall,
            "delay": self._delay,
            "refuse": self._refuse,
            "kill": self._kill,
            "terminate": self._terminate,
            "freeze": self._freeze,
            "clock": self._clock,
            "api server restart": self._restart_api_server,
            "etcd restart": self._restart_etcd,
            "etcd pause": self._pause_etcd,
            "etcd compaction": self._compact_etcd,
            "lease deleted": self._delete_lease,
            "lease edited": self._edit_lease,
            "lease labelled": self._label_lease,
        }

    async def run(self, plan: Sequence[Strike]) -> None:
        """Apply the plan; faults may overlap, outages of the server do not."""
        began_at = monotonic()
        async with asyncio.TaskGroup() as group:
            for strike in plan:
                await pause(began_at + strike.at - monotonic())
                group.create_task(self._strike(strike))

    async def _strike(self, strike: Strike) -> None:
        slot = self._slots[strike.victim] if strike.victim >= 0 else await self._leader(strike)
        for _ in range(_ATTEMPTS):
            began_at, victim = wall(), slot.name
            with contextlib.suppress(*_FAILURES):
                if await self._acts[strike.fault](slot, strike):
                    self.fired[strike.fault] += 1
                    self.history.append(Struck(began_at, wall(), strike.fault, victim))
                    return
            await pause(1.0)  # a process that starts has no connections, a Lease may be missing

    async def _leader(self, strike: Strike) -> Slot:
        """Return the slot of the leader; any replica while there is none."""
        lease = await asyncio.to_thread(self._lease)
        holder = (lease or {}).get("spec", {}).get("holderIdentity") or ""
        for slot in self._slots:
            if slot.names and holder == slot.name:
                return slot
        return self._slots[strike.number % (len(self._slots) - 1)]

    def _lease(self) -> dict[str, Any] | None:
        with contextlib.suppress(*_FAILURES):
            answer = self._client.get(LEASE_PATH)
            if answer.status == 200:
                body: dict[str, Any] = answer.body
                return body
        return None

    # ------------------------------------------------------------------------------ the network

    async def _cut(self, slot: Slot, _strike: Strike) -> bool:
        return slot.proxy.cut() > 0

    async def _reset(self, slot: Slot, _strike: Strike) -> bool:
        return slot.proxy.reset() > 0

    async def _half_close(self, slot: Slot, _strike: Strike) -> bool:
        return slot.proxy.half_close() > 0

    async def _stall(self, slot: Slot, strike: Strike) -> bool:
        async with slot.busy:
            return await slot.proxy.stall(strike.seconds, new=bool(strike.number % 2)) > 0

    async def _delay(self, slot: Slot, strike: Strike) -> bool:
        return await slot.proxy.delay(_DELAY_SECONDS, strike.seconds) > 0

    async def _refuse(self, slot: Slot, strike: Strike) -> bool:
        return await slot.proxy.refuse(strike.seconds) > 0

    # ---------------------------------------------------------------------------- the processes

    # A process that is dead or frozen while the network holds its bytes cannot take them back, and
    # no lease helps against a network that delivers them later than it lasts: not at the same time.

    async def _kill(self, slot: Slot, strike: Strike) -> bool:
        async with slot.busy:
            slot.rest(strike.seconds)
            return slot.send(signal.SIGKILL)

    async def _terminate(self, slot: Slot, strike: Strike) -> bool:
        async with slot.busy:
            slot.rest(strike.seconds)
            return slot.send(signal.SIGTERM)

    async def _freeze(self, slot: Slot, strike: Strike) -> bool:
        async with slot.busy:
            if not slot.send(signal.SIGSTOP):
                return False
            await pause(strike.seconds)
            return slot.send(signal.SIGCONT)

    async def _clock(self, slot: Slot, strike: Strike) -> bool:
        """Set the wall clock of a replica by up to nine hours, forward or back."""
        seconds = strike.number - (1 << 15)
        slot.base.with_suffix(".clock").write_text(str(seconds))
        return True

    # ------------------------------------------------------------------------------- the server

    async def _restart_api_server(self, _slot: Slot, strike: Strike) -> bool:
        async with self._server:
            await asyncio.to_thread(self._plane.kill_apiserver)
            await pause(strike.seconds)
            await asyncio.to_thread(self._start_api_server)
        return True

    def _start_api_server(self) -> None:
        """Start it; on a machine with other load the first attempts may time out."""
        for is_last in (False, False, True):
            try:
                self._plane.start_apiserver()
            except StartError:
                if is_last:
                    raise
                self._plane.kill_apiserver()
            else:
                return

    async def _restart_etcd(self, _slot: Slot, strike: Strike) -> bool:
        async with self._server:
            await asyncio.to_thread(self._plane.kill_etcd)
            await pause(strike.seconds)
            await asyncio.to_thread(self._plane.start_etcd)
            await self._served()
        return True

    async def _pause_etcd(self, _slot: Slot, strike: Strike) -> bool:
        async with self._server:
            self._plane.pause_etcd()
            try:
                await pause(strike.seconds)
            finally:
                self._plane.resume_etcd()
            await self._served()
        return True

    async def _compact_etcd(self, _slot: Slot, _strike: Strike) -> bool:
        async with self._server:
            return await asyncio.to_thread(self._plane.compact_etcd) > 0

    async def _served(self) -> None:
        """Wait until the API server answers from etcd again."""
        until = monotonic() + 60.0
        while await asyncio.to_thread(self._client.status, LEASE_PATH) not in (200, 404):
            if monotonic() > until:
                raise TimeoutError("the API server did not come back after an outage of etcd")
            await pause(0.2)

    # -------------------------------------------------------------------------------- the Lease

    async def _delete_lease(self, _slot: Slot, _strike: Strike) -> bool:
        answer = await asyncio.to_thread(self._client.delete, LEASE_PATH)
        return answer.status == 200

    async def _edit_lease(self, slot: Slot, strike: Strike) -> bool:
        """Remove the holder, replace it by a replica, or shorten the duration."""
        changes = (
            {"holderIdentity": None},
            {"holderIdentity": slot.name},
            {"leaseDurationSeconds": 2},
        )
        return await self._patch({"spec": changes[strike.number % len(changes)]})

    async def _label_lease(self, _slot: Slot, strike: Strike) -> bool:
        return await self._patch({"metadata": {"labels": {"touched": str(strike.number)}}})

    async def _patch(self, body: dict[str, Any]) -> bool:
        answer = await asyncio.to_thread(
            self._client.request, "PATCH", LEASE_PATH, body, MERGE_PATCH
        )
        return answer.status == 200
