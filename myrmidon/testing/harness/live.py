"""LiveCluster: runs the same test on a real API server, in real time.

As in the harness, the controllers run in an event loop that turns only while the test waits; but
time is real here.  The test gets its own namespace.  The objects that it applied are deleted at its
end, while the controllers still run, because their finalizers need them.

Use a cluster that is meant for tests: CRDs are installed or changed there, and the controllers
reconcile every object of their kinds, not only those of the test.
"""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, generation_of, is_deleting, namespace_of, ref_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Request, Verb
from myrmidon.errors import AlreadyExistsError, ApiError, NotFoundError
from myrmidon.fsm.children.readiness import is_ready
from myrmidon.fsm.controller import Controller
from myrmidon.generate.manifests.layout import definitions_of
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime import ManagerOptions
from myrmidon.sets.outputs.manifests import manifest_of
from myrmidon.testing.harness.cluster import Cluster
from myrmidon.testing.harness.failures import NotSettledError
from myrmidon.testing.harness.recording import RecordingTransport

_LOOK_SECONDS = 0.05
_QUIET_SECONDS = 0.5  # idle for so long: watch events under way would have arrived
_DELETION = timedelta(seconds=20)
_REAL_SECONDS_MAX = 10.0
_TLS_CLOSE_SECONDS = 0.25  # aiohttp does not wait for the TLS shutdown of a closed session


class LiveCluster(Cluster):
    """Controllers against the API server of a kubeconfig.

    - ``manifests``: objects to apply before the controllers start.
    - ``kubelet``: report Deployments of the test as available, for a control plane without nodes.
    """

    _patience = timedelta(seconds=60)

    def __init__(
        self,
        *controllers: Controller[Any],
        kubeconfig: str | Path,
        manifests: Iterable[Any] = (),
        options: ManagerOptions | None = None,
        kubelet: bool = False,
    ) -> None:
        suffix = uuid4().hex[:8]
        self.loop = loop = asyncio.new_event_loop()
        given = ManagerOptions() if options is None else options
        super().__init__(loop, controllers, given, f"test-{suffix}")
        self._suffix = suffix
        self.clock = LoopClock()
        self._applied: dict[ObjectRef, None] = {}
        endpoint = self._wait(load_endpoint(kubeconfig))
        self._http = http = HttpTransport(endpoint)
        self._open.ends.append(lambda: loop.run_until_complete(_disconnect(http, LoopClock())))
        self.transport = RecordingTransport(self._http)
        self._user = Client(self._http, clock=self.clock)
        self.add_namespace("test")
        for definition in definitions_of(map(type, controllers)):
            self._wait(self._define(definition))
        for manifest in manifests:
            self.apply(manifest_of(manifest))
        self._start()
        self._kubelet = self.loop.create_task(self._play_kubelet()) if kubelet else None
        if self._kubelet is not None:
            self._open.ends.insert(0, self._kubelet.cancel)
        self._open.name = "LiveCluster"

    def apply(self, obj: Any) -> Json:
        """Create or change an object; it is deleted when the test is over."""
        answer = super().apply(obj)
        self._applied[self._ref_of(answer)] = None
        return answer

    def settle(self, within: timedelta | None = None, *, until: datetime | None = None) -> None:
        """Wait until no pass has been owed or under way for half a second.

        With ``until``, wait until then first, for at most 10 seconds.

        Raise ``NotSettledError`` after ``within``, by default a minute.
        """
        __tracebackhide__ = True
        if until is not None:
            self.advance(until - self.clock.now())
        allowed = within or self._patience
        ends_at = self.loop.time() + allowed.total_seconds()
        quiet_since = self.loop.time()
        while self.loop.time() - quiet_since < _QUIET_SECONDS:
            self._step()
            if not self.manager.is_idle or any(True for _ in self._turns_at()):
                quiet_since = self.loop.time()
            if self.loop.time() > ends_at:
                raise NotSettledError(self._unsettled(allowed))
            self._pause()

    def advance(self, duration: timedelta) -> None:
        """Wait in real time, for at most 10 seconds."""
        if duration.total_seconds() > _REAL_SECONDS_MAX:
            raise ValueError(
                f"{duration} of real time is more than a test should wait.\n"
                "  fix: use settle, eventually or at_rest, or run the test on the embedded server"
            )
        self._sleep(duration.total_seconds())

    def close(self) -> None:
        """Delete the objects of the test, wait until they are gone, and stop the controllers."""
        if not self._finalizer.detach():
            return
        try:
            self._clean_up()
        finally:
            self._open.close()

    # ---------------------------------------------------------------------------- inside

    def _step(self) -> None:
        self._check_alive()
        if self._kubelet is not None and self._kubelet.done():
            self._kubelet.result()  # raises what ended it

    def _pause(self) -> None:
        self._sleep(_LOOK_SECONDS)

    def _own_name(self, name: str) -> str:
        return f"{name}-{self._suffix}"

    def _clean_up(self) -> None:
        """Delete custom resources first, because their finalizers need the running controllers."""
        applied = list(reversed(self._applied))
        own = [ref for ref in applied if ref.kind.group and ref.kind not in kinds.ALL]
        for ref in (*own, *(ref for ref in applied if ref not in own)):
            self._wait(self._remove(ref))
            if ref in own and not self._task.done():
                self.eventually(lambda ref=ref: self._read(ref) is None, _DELETION)  # type: ignore[misc]

    async def _remove(self, ref: ObjectRef) -> None:
        try:
            await self._user.delete(ref, propagation="Background")
        except NotFoundError:
            return

    async def _define(self, definition: Json) -> None:
        """Install a CRD, or update the existing one, and wait until it is established."""
        kind = kinds.CUSTOM_RESOURCE_DEFINITION
        ref = ref_of(kind, definition)
        try:
            await self._user.create(kind, definition)
        except AlreadyExistsError:
            await self._user.send(Request(Verb.PATCH, ref, definition))
        while not is_ready(await self._user.get(ref)):
            await self.clock.sleep(_LOOK_SECONDS)

    async def _play_kubelet(self) -> None:
        """Simulate the deployment controller, the scheduler and the kubelets.

        A control plane for tests has no nodes, so no pod would ever run.  This reports all replicas
        of every Deployment in the namespaces of this test as available; no pods are created.
        """
        while True:
            spaces = [ref.name for ref in self._applied if ref.kind == kinds.NAMESPACE]
            for space in spaces:
                for obj in await self._user.list(kinds.DEPLOYMENT, space):
                    if not is_deleting(obj) and not is_ready(obj):
                        await _say_available(self._user, obj)
            await self.clock.sleep(_LOOK_SECONDS * 4)


async def _disconnect(http: HttpTransport, clock: Clock) -> None:
    await http.close()
    await clock.sleep(_TLS_CLOSE_SECONDS)


async def _say_available(client: Client, obj: Json) -> None:
    replicas = obj["spec"].get("replicas", 1)
    fields = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    status = {"observedGeneration": generation_of(obj), **dict.fromkeys(fields, replicas)}
    ref = ObjectRef(kinds.DEPLOYMENT, obj["metadata"]["name"], namespace_of(obj))
    try:
        await client.patch(ref, {"status": status}, subresource="status")
    except ApiError:
        return  # it is gone or was changed again: tried again in the next round
