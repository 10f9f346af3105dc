"""Harness: a controller and an API server in one process, in virtual time, step by step.

    cluster = Harness(WebApps())
    cluster.apply(WebApp(name="shop", spec=WebAppSpec(image="shop:1")))
    cluster.settle()
    assert cluster.ready(WebApp, "shop")
    assert cluster.writes_during(timedelta(days=1)) == []

Nothing sleeps and nothing is random: the same test gives the same requests in the same order.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeAlias

from myrmidon.api import kinds
from myrmidon.api.conditions import READY, Condition, find
from myrmidon.api.objects import Json, namespace_of
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.api.requests import Patch, Request, Verb
from myrmidon.api.resource import Resource
from myrmidon.apiserver.actors import cluster_actors
from myrmidon.apiserver.local import LocalTransport
from myrmidon.apiserver.seams import CountingSeams
from myrmidon.apiserver.server import ApiServer
from myrmidon.errors import MyrmidonError, NotFoundError
from myrmidon.fsm.controller import Controller, kind_of
from myrmidon.generate import crd
from myrmidon.io.client import Client
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.sets.manifests import manifest_of
from myrmidon.testing.clock import EPOCH, VirtualClock, VirtualTimeLoop
from myrmidon.testing.faults import Faults, FaultyTransport
from myrmidon.testing.recording import Exchange, RecordingTransport

NAMESPACE = "default"
_TURNS_MAX = (
    100_000  # of the event loop within one moment; a storm of a thousand objects needs 20,000
)
Exchanges: TypeAlias = list[Exchange]
Objects: TypeAlias = list[Json]


class NotSettledError(AssertionError):
    """The controllers did not come to rest in the time that they were given."""


class Harness:
    """One or more controllers against an embedded API server.  A context manager, or ``close`` it."""

    def __init__(
        self,
        *controllers: Controller[Any],
        manifests: Iterable[Any] = (),
        actors: Iterable[Any] | None = None,
        options: ManagerOptions | None = None,
        namespace: str = NAMESPACE,
        faults: Faults | None = None,
    ) -> None:
        self._controllers, self.namespace, self._faults = controllers, namespace, faults
        self._options = options or ManagerOptions(seed=0)
        self.loop = VirtualTimeLoop()
        self.clock = VirtualClock(self.loop)
        self.server = ApiServer(
            seams=_ClockedSeams(self.clock),
            actors=cluster_actors() if actors is None else actors,
        )
        for controller in controllers:
            if controller.kind().group:
                _created(self.server.create(crd(controller.resource)))
        for manifest in manifests:
            _created(self.server.create(manifest_of(manifest)))
        self.transport = RecordingTransport(LocalTransport(self.server))
        self._user = Client(LocalTransport(self.server), clock=self.clock)
        self.manager = self._manager()
        self._task = self.loop.create_task(self.manager.run())

    # ------------------------------------------------------------------------- the user

    def apply(self, obj: Any) -> Json:
        """Create an object, or merge what it says into the one that is there, as its user would."""
        manifest = manifest_of(obj)
        ref = self._ref_of(manifest)
        if ref.namespace:
            manifest["metadata"]["namespace"] = ref.namespace
        there = self._read(ref)
        request = Request(Verb.PATCH if there else Verb.CREATE, ref, manifest)
        answer: Json = self._wait(self._user.send(request))
        return answer

    def patch(self, kind: Any, name: str, changes: Json, *, subresource: str = "") -> Json:
        """Merge changes into an object."""
        ref = self._ref(kind, name, None)
        request = Request(Verb.PATCH, ref, changes, subresource, Patch.MERGE)
        answer: Json = self._wait(self._user.send(request))
        return answer

    def delete(self, kind: Any, name: str, namespace: str | None = None) -> None:
        """Delete an object."""
        self._wait(self._user.delete(self._ref(kind, name, namespace)))

    def get(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        """An object as the server has it, None where there is none; typed for a Resource class."""
        obj = self._read(self._ref(kind, name, namespace))
        if obj is None or not isinstance(kind, type) or not issubclass(kind, Resource):
            return obj
        return kind.from_json(obj)

    def list(self, kind: Any, namespace: str | None = None) -> Objects:
        """Every object of a kind."""
        found = kind_of(kind)
        assert found is not None, f"{kind!r} is no kind"
        where = self.namespace if namespace is None else namespace
        objects: Objects = self._wait(self._user.list(found, where if found.namespaced else ""))
        return objects

    def condition(self, kind: Any, name: str, condition_type: str = READY) -> Condition | None:
        """A condition of an object, if both are there."""
        obj = self._read(self._ref(kind, name, None))
        return None if obj is None else find(obj, condition_type)

    def ready(self, kind: Any, name: str) -> bool:
        """Whether an object is Ready for the generation that it has."""
        obj = self._read(self._ref(kind, name, None))
        condition = None if obj is None else find(obj, READY)
        return (
            obj is not None
            and condition is not None
            and condition.status == "True"
            and condition.observed_generation == obj["metadata"].get("generation", 0)
        )

    # -------------------------------------------------------------------------- the time

    def settle(self, within: timedelta = timedelta(minutes=30)) -> None:
        """Let time pass until nobody has anything left to do, or the controllers crash."""
        ends_at = self.loop.time() + within.total_seconds()
        while True:
            self._quiesce()
            due_at = self._due_at()
            if due_at is None or self._line.is_dead:
                return
            if due_at > ends_at:
                raise NotSettledError(self._unsettled(within))
            self._sleep(due_at - self.loop.time())

    def eventually(
        self, holds: Callable[[], Any], within: timedelta = timedelta(minutes=30)
    ) -> None:
        """Let time pass until something holds."""
        ends_at = self.loop.time() + within.total_seconds()
        self._quiesce()
        while not holds():
            if self.loop.time() >= ends_at:
                raise NotSettledError(
                    f"{self._unsettled(within)}\nand what was waited for does not hold"
                )
            self._sleep(1.0)
            self._quiesce()

    def advance(self, duration: timedelta) -> None:
        """Let time pass, whatever happens meanwhile."""
        self._sleep(duration.total_seconds())
        self._quiesce()

    def writes_during(self, duration: timedelta) -> Exchanges:
        """What the controllers write while time passes; nothing, if they are at rest."""
        before = len(self.transport.writes())
        self.advance(duration)
        return self.transport.writes()[before:]

    @property
    def writes(self) -> Exchanges:
        """All that the controllers have written so far."""
        return self.transport.writes()

    # ----------------------------------------------------------------------- the process

    def crash(self) -> None:
        """From now on nothing that the process of the controllers sends reaches the server.

        May be called while a request is under way, by ``faults``: that request is the first to be
        lost, or with ``Lose`` the last that the server hears.
        """
        self._line.die()

    @property
    def crashed(self) -> bool:
        """Whether the process of the controllers is cut off by ``crash``."""
        return self._line.is_dead

    def restart(self) -> None:
        """Kill the process of the controllers and start another, which knows nothing."""
        self._line.die()
        self._kill()
        self.manager = self._manager()
        self._task = self.loop.create_task(self.manager.run())

    def close(self) -> None:
        """End everything."""
        if not self.loop.is_closed():
            self._kill()
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # ---------------------------------------------------------------------------- inside

    def _manager(self) -> Manager:
        self._line = FaultyTransport(
            self.transport, self._faults or (lambda _request: None), clock=self.clock
        )
        manager = Manager(self._options, transport=self._line, clock=self.clock)
        for controller in self._controllers:
            manager.add(controller)
        return manager

    def _kill(self) -> None:
        self._task.cancel()
        self.loop.run_until_complete(_ended(self._task))

    def _wait(self, asked: Any) -> Any:
        return self.loop.run_until_complete(asked)

    def _sleep(self, seconds: float) -> None:
        self._wait(self.clock.sleep(max(seconds, 0.0)))

    def _quiesce(self) -> None:
        """Run everything that can run without time passing."""
        self._wait(_quiesced(self.loop))
        due = self.server.due()
        if due is not None and due <= self.clock.now():
            self.server.settle()
            self._wait(_quiesced(self.loop))
        if self._task.done():
            self._task.result()  # raises what ended it
            raise MyrmidonError("the manager has stopped")

    def _due_at(self) -> float | None:
        """When somebody next has something to do; resyncs do not count.

        A key that is in work is owed its next turn when that work is over, however long ago it was
        due.
        """
        times = [
            turn.due_at
            for loop in self.manager.loops
            for turn in loop.shift.queue.owed()
            if turn.key not in loop.shift.queue.working
            and any(cause.relation != "resync" for cause in turn.causes)
        ]
        if not self.manager.is_idle:
            times.append(self.loop.next_timer())
        due = self.server.due()
        if due is not None:
            times.append((due - EPOCH).total_seconds())
        return min(times, default=None)

    def _unsettled(self, within: timedelta) -> str:
        lines = [f"not settled after {within} of virtual time; still owed a pass:"]
        for loop in self.manager.loops:
            for turn in loop.shift.queue.owed():
                obj = loop.world.get(turn.key) or {}
                ready = find(obj, READY)
                state = f"{ready.reason}: {ready.message}" if ready else "no Ready condition"
                lines.append(f"  {turn.key}  {state}")
        return "\n".join(lines)

    def _read(self, ref: ObjectRef) -> Json | None:
        try:
            obj: Json = self._wait(self._user.get(ref))
        except NotFoundError:
            return None
        return obj

    def _ref(self, kind: Any, name: str, namespace: str | None) -> ObjectRef:
        found = kind_of(kind)
        assert found is not None, f"{kind!r} is no kind"
        where = self.namespace if namespace is None else namespace
        return ObjectRef(found, name, where if found.namespaced else "")

    def _ref_of(self, manifest: Json) -> ObjectRef:
        known = {(kind.api_version, kind.kind): kind for kind in self._known_kinds()}
        kind = known[manifest["apiVersion"], manifest["kind"]]
        where = namespace_of(manifest) or self.namespace
        return ObjectRef(kind, manifest["metadata"]["name"], where if kind.namespaced else "")

    def _known_kinds(self) -> Iterable[Kind]:
        yield from kinds.ALL
        for controller in self._controllers:
            yield controller.kind()
            yield from (*controller.managed_kinds, *controller.read_kinds)


class _ClockedSeams(CountingSeams):
    """Deterministic identifiers, and the time of the harness."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def now(self) -> Any:
        return self._clock.now()


async def _quiesced(loop: asyncio.AbstractEventLoop) -> None:
    """Give way until nobody else is ready to run."""
    turns = 0
    await asyncio.sleep(0)  # noqa: TID251 - gives way, waits for nothing
    while loop._ready:  # type: ignore[attr-defined]  # noqa: SLF001 - the only way to ask
        turns += 1
        if turns > _TURNS_MAX:
            names = ", ".join(sorted(task.get_name() for task in asyncio.all_tasks(loop)))
            raise NotSettledError(f"somebody runs in circles and lets no time pass: {names}")
        await asyncio.sleep(0)  # noqa: TID251


async def _ended(task: "asyncio.Task[None]") -> None:
    """Wait for a cancelled task, whatever it ends with."""
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()


def _created(problem: str) -> None:
    if problem:
        raise MyrmidonError(f"the embedded server refused a manifest: {problem}")
