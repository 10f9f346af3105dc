"""Applicator: sends the requests that make outputs true.  ``sets.planning`` decides which.

It handles what only the sender of a request can see.  The object is read from the server, and the
decision is made again on that read, when

- another client wrote first (a conflict, or the object of a patch is gone);
- the answer to an earlier write was lost, so its outcome is unknown (``io.writes.own_writes``);
- the object exists and names no parent: only the server's copy has ``managedFields``, which tell a
  child of ours that lost its owner reference from another party's object (``sets.ownership.adoption``);
- a field is no longer declared, and ``managedFields`` say whether it may be removed
  (``sets.ownership.undeclared``).

A child that existed and is gone was deleted by another client.  Before it is created again, its parent
is read from the server (``confirm``): the garbage collector deletes the children of a parent that is
gone, and the watch of the parent may be late.  A child that is deleted each time is created ever more
rarely (``io.writes.stall_guard``).
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json, is_controlled_by, version_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Request, Verb
from myrmidon.errors import (
    ApiError,
    ConflictError,
    InvalidError,
    ManagersUnknownError,
    MyrmidonError,
    NotAdoptedError,
    NotFoundError,
)
from myrmidon.io.client import Client
from myrmidon.io.http.warning_headers import Warnings
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.writes.bounded_memory import RecentMemory
from myrmidon.io.writes.cached_objects import CachedObjects, cached_object, cached_uid
from myrmidon.io.writes.drift import DriftMemory
from myrmidon.io.writes.output_task import (
    Confirm,
    OpenOutput,
    OutputTask,
    Written,
    has_failed,
    is_worth_another_look,
    question_of,
    tasks_of,
    waves,
    wish_of,
)
from myrmidon.io.writes.own_writes import OwnWrites
from myrmidon.io.writes.replacing import make_way
from myrmidon.io.writes.sent_writes import FindSink, failure_of
from myrmidon.io.writes.stall_guard import StallGuard, Wish
from myrmidon.sets.outputs.outputs import Apply, Output
from myrmidon.sets.ownership.owner_references import Parent
from myrmidon.sets.planning import plan

__all__ = ["Applicator", "Written"]

_ATTEMPTS_MAX = 3  # when other clients write first; after that the pass fails and backs off


class Applicator:
    """Writes the outputs of a state concurrently, at most ``writes_max`` of them at a time.

    ``corrected`` is called for each write that corrected drift, with the author of the pass, the
    object and the seconds for which it had been as declared (``io.writes.drift``).  ``sink`` returns
    where a write that was sent is noted.
    """

    def __init__(
        self,
        client: Client,
        cached: CachedObjects,
        own_writes: OwnWrites[Any],
        *,
        writes_max: int = 8,
        manager: str = "",
        clock: Clock | None = None,
        corrected: Callable[[str, ObjectRef, float], None] | None = None,
        sink: FindSink | None = None,
    ) -> None:
        self._client, self._cached, self._own_writes = client, cached, own_writes
        self._manager, self._writes_max = manager, writes_max
        self._clock = clock = clock or LoopClock()
        self._guard, self._drift = StallGuard(clock), DriftMemory(clock, cached.size)
        self._corrected, self._sink = corrected, sink
        # Per output: (hash of the output, resourceVersion that writing it produced).
        self._settled = RecentMemory[Wish, tuple[int, str]](cached.size)
        # Per output: (its hash, hash of the cached object) for which nothing was to send.
        self._held = RecentMemory[Wish, tuple[int, int]](cached.size)
        self.warnings = Warnings()
        """The warnings of the API server, until a pass takes them."""

    def first_open(
        self, outputs: Sequence[Output], parent: Parent, *, creating: bool
    ) -> OpenOutput | None:
        """Return the first output about which ``write`` has to decide; None if it would send nothing.

        An earlier decision about the same data shows that, as in a pass over a converged object.  While
        an output is stalled the result is never None, because ``write`` counts these passes.
        """
        stalled = self._guard.wishes
        for number, output in enumerate(outputs):
            question, wish = question_of(output, parent, creating), wish_of(output)
            if stalled or not self._holds(wish, question):
                return OpenOutput(number, question, wish)
        return None

    async def write(
        self,
        outputs: Sequence[Output],
        parent: Parent,
        *,
        creating: bool = True,
        by: str = "",
        first: OpenOutput | None = None,
        confirm: Confirm | None = None,
    ) -> list[Written]:
        """Make every output true; one that fails does not stop the others.

        Outputs are independent of each other, except that Namespaces and CustomResourceDefinitions are
        written first: if one of these fails, the other outputs are not written.  Patches are
        written last.  ``first`` is the answer of ``first_open``, if the caller has it: then that
        output is not looked up again.  ``confirm`` is awaited before a child that has vanished is
        created again.
        """
        if first is not None and len(outputs) == 1:  # as in most states
            _, question, wish = first
            task = OutputTask(outputs[0], parent, creating, by, question, wish, True, confirm)
            if not self._is_over(task):
                await self._write(task)
            return [] if task.written is None else [task.written]
        tasks = tasks_of(outputs, parent, creating, by, first, confirm=confirm)
        for wave, needed in waves(tasks):
            await self._wave(wave)
            if needed and any(map(has_failed, wave)):
                break
        return [task.written for task in tasks if task.written is not None]

    async def send(
        self,
        request: Request,
        *,
        by: str = "",
        task: OutputTask | None = None,
        author: str = "",
        before: Json | None = None,
    ) -> Json:
        """Send one write to one object and record its answer in the caches; return the answer.

        A write without a field manager gets that of this applicator.  ``by`` is the author of the pass,
        ``task`` the output that is written; without one, ``author`` is that of the write, if a state
        asked for it, and ``before`` the object, if the caller has it.
        """
        sink = self._sink
        if sink is not None and task is not None:
            before, author = task.current, task.output.author
        elif sink is not None and before is None:
            before = cached_object(self._cached, request.ref)
        if self._manager and request.verb is not Verb.DELETE and not request.names_manager:
            request = request._replace(query=(*request.query, ("fieldManager", self._manager)))
        texts: list[str] = []
        try:
            answer = await self._client.send(request, warnings=texts)
        except (MyrmidonError, asyncio.CancelledError) as error:
            said, unknown = failure_of(error)
            if unknown:
                self._mark_unknown(request.ref)
            if sink is not None:
                sink().append((by, author, request, before, None, said, unknown))
            raise
        if sink is not None:
            sink().append((by, author, request, before, answer, "", False))
        if texts and by:
            self.warnings.hear(by, request.ref, texts)
        if request.subresource and answer.get("kind") != request.ref.kind.kind:
            await self._read_after(request.ref, answer, by)
        else:
            self._record(request, answer, by, task)
        return answer

    def _record(self, request: Request, answer: Json, by: str, task: OutputTask | None) -> None:
        """Show the answer to a write in the caches."""
        ref = request.ref
        if request.verb is Verb.DELETE:
            self._guard.after_delete(ref)
            if answer.get("kind") == "Status":
                uid = str((answer.get("details") or {}).get("uid") or "")
                self._own_writes.record_delete(ref, uid=uid, by=by)
                return
        child_at = None if task is None else task.found_child(answer)
        self._own_writes.record_write(ref.kind, answer, by=by, ref=ref, child_at=child_at)

    def _mark_unknown(self, ref: ObjectRef) -> None:
        self._own_writes.mark_unknown(ref)
        self._drift.forget(ref)

    async def _read_after(self, ref: ObjectRef, answer: Json, by: str) -> None:
        """Read the object after a write to a subresource that is a kind of its own, such as Scale."""
        if by:
            self._own_writes.expect(by, ref, version_of(answer))
        try:
            await self.read(ref)
        except MyrmidonError:  # the write succeeded; a later pass reads the object
            self._own_writes.mark_unknown(ref)

    def is_unknown(self, ref: ObjectRef) -> bool:
        """Whether a write to the object got no clear answer, and no answer was recorded since."""
        return self._own_writes.is_unknown(ref)

    async def read(self, ref: ObjectRef) -> Json | None:
        """Read the object from the server and record the answer in the caches; None if there is none."""
        uid = cached_uid(self._cached, ref)
        obj: Json | None = None
        with suppress(NotFoundError):
            obj = await self._client.get(ref)
        self._own_writes.record_read(ref, obj, uid=uid)
        return obj

    def stalled(self) -> int:
        """Return how many outputs are stalled: changed back after each write."""
        return self._guard.stalled()

    # -------------------------------------------------------------------------- inside

    async def _wave(self, tasks: Sequence[OutputTask]) -> None:
        """Decide about all, then send what remains; a converged set costs no task and no request."""
        pending = [task for task in tasks if not self._is_over(task)]
        if len(pending) == 1:
            await self._write(pending[0])
        elif pending:
            await self._write_together(pending)

    def _holds(self, wish: Wish, question: int) -> bool:
        """Whether nothing was to be sent for the same output and the same cached object before.

        The decision depends on these two alone, so it is not repeated.
        """
        known = self._held.get(wish)
        if known is None or known[0] != question:
            return False
        ref = wish[0]
        return known[1] == self._cached.stamp(ref) and not self._own_writes.is_unknown(ref)

    def _is_over(self, task: OutputTask) -> bool:
        """Whether nothing is to be sent, judged by the cached object: it holds, or must be left alone."""
        ref = task.output.ref
        try:
            if self._own_writes.is_unknown(ref):
                return False
            if task.is_open or not self._holds(task.wish, task.question):
                current = self._cached.get(ref)
                stamp = 0 if current is None else self._cached.stamp(ref)
                self._decide(task, current)
                if task.request is not None:
                    task.child_at = stamp if current is None or task.is_child else None
                    if current is None or not self._guard.delayed:
                        return False
                    return self._is_stalled(task, current)
                self._note_held(task, stamp)
            task.written = self._skipped(task)
        except (NotAdoptedError, ManagersUnknownError):
            task.needs_read = True
            return False
        except MyrmidonError as error:
            task.written = Written(task.output, "failed", error=error)
        return True

    def _decide(self, task: OutputTask, current: Json | None) -> None:
        parent = task.parent
        child = current is not None and is_controlled_by(current, parent.uid)
        task.current, task.is_child, task.child_at = current, child, None
        task.request = plan(task.output, current, parent, creating=task.creating, is_child=child)
        if task.request is None:
            self._settled.pop(task.wish)
        elif current and task.is_settled(current, self._settled.get(task.wish)):
            # This output was written, and the server stored it differently (a webhook or a schema
            # changed it).  Sending it again would change nothing, in every pass.
            task.request = None

    async def _write_together(self, tasks: Sequence[OutputTask]) -> None:
        """Write all, at most ``writes_max`` at a time."""
        waiting = iter(tasks)

        async def work() -> None:
            for task in waiting:
                await self._write(task)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._writes_max, len(tasks))):
                group.create_task(work())

    async def _write(self, task: OutputTask) -> None:
        try:
            task.written = await self._attempt(task)
        except MyrmidonError as error:
            task.written = Written(task.output, "failed", error=error)

    async def _attempt(self, task: OutputTask) -> Written:
        output, created = task.output, self._guard.created
        error: ApiError | None = None
        for _ in range(_ATTEMPTS_MAX):
            if task.needs_read or error is not None or self._own_writes.is_unknown(output.ref):
                await self._decide_on_read(task)
            if task.request is None:
                return self._skipped(task)
            if task.current is None and (self._held.get(task.wish) or output.ref in created):
                await self._before_create(task)
            try:
                answer = await self.send(task.request, by=task.by, task=task)
            except (ConflictError, NotFoundError) as refused:
                if not is_worth_another_look(task, refused):
                    raise
                error = refused
            except InvalidError as refused:
                if not is_worth_another_look(task, refused):
                    remove = partial(self.send, by=task.by, task=task)
                    await make_way(task, refused, trial=self._client.send, removal=remove)
                error = refused  # either way, decide again on a fresh read
            else:
                return self._wrote(task, task.request, answer)
        assert error is not None
        raise error

    def _wrote(self, task: OutputTask, request: Request, answer: Json) -> Written:
        output, current, question = task.output, task.current, task.question
        left = version_of(answer)
        is_apply = type(output) is Apply
        self._settled.put(task.wish, (question, left) if is_apply else task.settled_on(answer))
        if current is not None and left == version_of(current):
            return Written(output, "noop", request.verb)
        now = self._clock.monotonic()
        seconds = self._drift.wrote(task.wish, question, now)
        if seconds is not None and self._corrected is not None:
            self._corrected(task.by, output.ref, seconds)
        before, error = current or task.replaced, None
        if current is None and is_apply:
            error = self._guard.after_create(output.ref, task.parent.uid, question, now)
        if before is not None and request.verb is not Verb.DELETE:
            error = error or self._guard.after_write(
                task.wish, question, output, before, request=request, answer=answer, now=now
            )
        adopted = current is not None and task.adopts
        return Written(output, "changed", request.verb, error, adopted)

    def _skipped(self, task: OutputTask) -> Written:
        if not self._guard.wishes:
            return Written(task.output, "skipped")
        error = self._guard.without_write(task.wish, task.question, task.output, task.current)
        return Written(task.output, "skipped", error=error)

    def _is_stalled(self, task: OutputTask, current: Json) -> bool:
        """Whether a write must wait; the first time, a live read shows which manager reverts it."""
        stalled = self._guard.before_write(task.wish, task.question, task.output, current)
        if stalled is None:
            return False
        task.needs_read = stalled.others is None
        task.written = None if task.needs_read else Written(task.output, "failed", error=stalled)
        return not task.needs_read

    async def _before_create(self, task: OutputTask) -> None:
        """Raise an error if a child that another client deleted has to wait, or has no parent any more."""
        ref, uid, question = task.output.ref, task.parent.uid, task.question
        held = self._held.get(task.wish)
        existed = held is not None and held[0] == question
        is_child = type(task.output) is Apply and task.replaced is None
        if not is_child or not (existed or self._guard.was_created(ref, uid)):
            return
        stalled = self._guard.before_create(ref, uid, question)
        if stalled is not None:
            raise stalled
        if task.confirm is not None:
            await task.confirm()

    async def _decide_on_read(self, task: OutputTask) -> None:
        ref = task.output.ref
        fresh = await self.read(ref)
        if fresh is not None:  # a client may have cleared the list: then no manager is recorded
            fresh["metadata"].setdefault("managedFields", [])
        self._decide(task, fresh)
        if task.request is None and not self._own_writes.is_unknown(ref):
            # Otherwise each pass would read again when the cached copy lacks managedFields.
            self._note_held(task, self._cached.stamp(ref))
        if task.request is not None and fresh is not None:
            stalled = self._guard.before_write(task.wish, task.question, task.output, fresh)
            if stalled is not None:
                raise stalled

    def _note_held(self, task: OutputTask, stamp: int) -> None:
        """Remember that nothing was to be sent for the output and the cached object."""
        self._held.put(task.wish, (task.question, stamp))
        self._drift.held(task.wish, task.question)
