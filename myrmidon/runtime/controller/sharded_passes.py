"""ShardedPasses: lets one controller work on the objects of the slices that this process owns.

An object is in the slice of the hash of its uid or of its namespace; cluster-scoped objects have no
namespace, so their uid counts.  An object that is not cached, because it was deleted or does not
exist yet, is in the slice of the hash of its key: exactly one replica may create it
(``create_if_not_found``).

- Objects of other slices get no queue entry (``owns``), and none of them gets a pass: the slice is
  checked again when the pass begins, because the object may have been replaced meanwhile.
- The slice of a pass is set in a context variable for its duration; the fence checks it before each
  write (``shards.fence``).
- When slices come, all their objects are queued.  When they go, their queue entries are dropped,
  passes under way finish or are cancelled, and what is remembered about the objects is forgotten.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.fsm.context import Cause
from myrmidon.fsm.engine import Outcome
from myrmidon.io.timers.pacing import pacer
from myrmidon.runtime.queue.queue import Turn, Urgency
from myrmidon.runtime.reconcile.worker import Reconcile, WorkerPool
from myrmidon.runtime.shards.fence import PASS_SLICE
from myrmidon.runtime.shards.member import CANCEL_SECONDS_MAX
from myrmidon.runtime.shards.slices import slice_of
from myrmidon.runtime.views.cluster_view import ClusterView

_GAINED = Cause("shard")


class Ownership(Protocol):
    """Which slices this process works on."""

    @property
    def by(self) -> str:
        """What is hashed: ``uid`` or ``namespace``."""

    def is_active(self, number: int) -> bool:
        """Whether passes over the objects of a slice may begin."""


class OwnObjects(Protocol):
    """The cached objects of a controller."""

    def uid(self, ref: ObjectRef) -> str:
        """Return the uid of a cached object, "" if it is not cached."""

    def own_keys(self) -> list[ObjectRef]:
        """Return all objects of the controller's kind."""


class ShardedPasses:
    """The objects of one controller in a process that owns some slices."""

    def __init__(self, ownership: Ownership, objects: OwnObjects) -> None:
        self._ownership, self._objects = ownership, objects
        self._running: dict[ObjectRef, tuple[int, asyncio.Task[None]]] = {}
        self._interrupted: set[ObjectRef] = set()
        self._ended = asyncio.Event()  # set whenever a pass ends

    def slice_of(self, ref: ObjectRef) -> int:
        """Return the slice of an object."""
        if self._ownership.by == "namespace" and ref.kind.namespaced:
            return slice_of(ref.namespace)
        return slice_of(self._objects.uid(ref) or ref.key)

    def owns(self, ref: ObjectRef) -> bool:
        """Whether this process works on the object."""
        return self._ownership.is_active(self.slice_of(ref))

    def around(self, reconcile: Reconcile) -> Reconcile:
        """Return a reconcile function that leaves out the objects of other slices."""

        async def sharded(turn: Turn[ObjectRef]) -> Outcome | None:
            number, task = self.slice_of(turn.key), asyncio.current_task()
            if not self._ownership.is_active(number) or task is None:
                return None
            self._running[turn.key] = number, task
            token = PASS_SLICE.set(number)
            try:
                return await reconcile(turn)
            except asyncio.CancelledError:
                if turn.key not in self._interrupted or task.uncancel() > 0:
                    raise  # the worker itself was cancelled
                return None
            finally:
                PASS_SLICE.reset(token)
                self._interrupted.discard(turn.key)
                del self._running[turn.key]
                self._ended.set()

        return sharded

    async def gain(self, slices: frozenset[int], pool: WorkerPool) -> None:
        """Queue all objects of slices that this process owns from now on."""
        pace = pacer()
        for ref in self._objects.own_keys():
            await pace.give_way()
            if self.slice_of(ref) in slices and self.owns(ref):
                pool.add(ref, cause=_GAINED, urgency=Urgency.BACKGROUND)

    async def finish(
        self,
        slices: frozenset[int],
        seconds: float,
        pool: WorkerPool,
        forget: Callable[[ObjectRef], None],
    ) -> None:
        """End the work on slices that this process does not own any more.

        Passes under way may go on for ``seconds``; then they are cancelled.  One that ignores its
        cancellation cannot write: the caller closes the fence next.
        """
        pace = pacer()
        for turn in pool.queue.owed():
            await pace.give_way()
            if not self.owns(turn.key):
                pool.queue.forget(turn.key)
        await self._wait_for_passes(slices, seconds)
        for key, (number, task) in list(self._running.items()):
            if number in slices and key not in self._interrupted:
                self._interrupted.add(key)
                task.cancel()
        await self._wait_for_passes(slices, CANCEL_SECONDS_MAX)
        for ref in self._objects.own_keys():
            await pace.give_way()
            if self.slice_of(ref) in slices and not self.owns(ref):
                pool.queue.forget(ref)
                pool.forget(ref)
                forget(ref)

    async def _wait_for_passes(self, slices: Iterable[int], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while any(number in slices for number, _ in self._running.values()):
                    self._ended.clear()
                    await self._ended.wait()
        except TimeoutError:
            return


def sharded_passes(ownership: Ownership, view: ClusterView) -> ShardedPasses:
    """Return the passes of a controller, and let its view concern the own objects only."""
    passes = ShardedPasses(ownership, view)
    view.restrict(passes.owns)
    return passes
