"""Applicator: makes outputs true.  It decides nothing; ``sets.planning`` does.

What is left here is what only the sender can see: somebody was faster, the cache was behind, the
answer got lost.  Then the object is read from the server and the decision is made again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeVar

import orjson

from myrmidon.api import kinds
from myrmidon.api.objects import Json, is_deleting, uid_of, version_of
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.api.requests import Request, Verb
from myrmidon.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    InvalidError,
    MyrmidonError,
    NotFoundError,
    TerminatingError,
)
from myrmidon.io.client import Client, is_ambiguous
from myrmidon.patch.covering import covers
from myrmidon.sets.fingerprints import fingerprint
from myrmidon.sets.output_set import Apply, Delete, Output
from myrmidon.sets.ownership import Parent
from myrmidon.sets.planning import plan, plan_recreate

_ATTEMPTS_MAX = 3  # against other writers; a fight is left to the backoff of the whole pass
_REMEMBERED_MAX = 100_000
_FIRST = (kinds.NAMESPACE, kinds.CUSTOM_RESOURCE_DEFINITION)  # others live in them


V = TypeVar("V")


class Known(Protocol):
    """What is known about objects without asking, and what an answer adds to it."""

    def get(self, ref: ObjectRef) -> Json | None: ...  # noqa: D102
    def stamp(self, ref: ObjectRef) -> int: ...  # noqa: D102
    def is_unknown(self, ref: ObjectRef) -> bool: ...  # noqa: D102
    def mark_unknown(self, ref: ObjectRef) -> None: ...  # noqa: D102
    def record_write(self, kind: Kind, obj: Json, *, by: str) -> None: ...  # noqa: D102
    def record_delete(self, ref: ObjectRef, *, uid: str, by: str) -> None: ...  # noqa: D102
    def clear_unknown(self, ref: ObjectRef) -> None: ...  # noqa: D102


class Written(NamedTuple):
    """What became of one output."""

    ref: ObjectRef
    outcome: Literal["changed", "noop", "skipped", "failed"]
    verb: Verb | None = None
    error: MyrmidonError | None = None


class Applicator:
    """Writes the outputs of a state concurrently, at most ``writes_max`` of them at a time."""

    def __init__(self, client: Client, known: Known, *, writes_max: int = 8) -> None:
        self._client, self._known = client, known
        self._writes_max = writes_max
        self._settled: dict[ObjectRef, tuple[str, str]] = {}  # what was sent, what it left
        self._held: dict[ObjectRef, tuple[int, int]] = {}  # what was wanted and there, and was one

    async def write(
        self, outputs: Iterable[Output], parent: Parent, *, creating: bool = True, by: str = ""
    ) -> list[Written]:
        """Make every output true; one that fails does not stop the others.

        Outputs are independent of each other, but for what others live in: that goes first.
        """
        waiting = list(outputs)
        first = [output for output in waiting if output.ref.kind in _FIRST]
        if not first:
            return await self._wave(waiting, parent, creating=creating, by=by)
        written = await self._wave(first, parent, creating=creating, by=by)
        if all(one.error is None for one in written):
            others = [output for output in waiting if output.ref.kind not in _FIRST]
            written += await self._wave(others, parent, creating=creating, by=by)
        return written

    async def send(self, request: Request, *, by: str = "") -> Json:
        """Send one write about one object and make its answer known."""
        try:
            answer = await self._client.send(request)
        except MyrmidonError as error:
            if is_ambiguous(error):
                self._known.mark_unknown(request.ref)
            raise
        except asyncio.CancelledError:
            self._known.mark_unknown(request.ref)  # nobody waited for the answer
            raise
        if request.verb is Verb.DELETE and answer.get("kind") == "Status":
            uid = str((answer.get("details") or {}).get("uid") or "")
            self._known.record_delete(request.ref, uid=uid, by=by)
        else:
            self._known.record_write(request.ref.kind, answer, by=by)
        return answer

    def is_unknown(self, ref: ObjectRef) -> bool:
        """Whether a write to the object got no clear answer, and no read since."""
        return self._known.is_unknown(ref)

    async def read(self, ref: ObjectRef) -> Json | None:
        """Ask the server, and make the answer known."""
        held = self._known.get(ref)
        try:
            obj = await self._client.get(ref)
        except NotFoundError:
            if held is not None:
                self._known.record_delete(ref, uid=uid_of(held), by="")
            self._known.clear_unknown(ref)
            return None
        self._known.record_write(ref.kind, obj, by="")
        self._known.clear_unknown(ref)
        return obj

    # -------------------------------------------------------------------------- inside

    async def _wave(
        self, outputs: Sequence[Output], parent: Parent, *, creating: bool, by: str
    ) -> list[Written]:
        """Decide all, then send what is left to send; a converged set costs no task and no request."""
        written: dict[ObjectRef, Written] = {}
        pending: list[_Task] = []
        for output in outputs:
            task = _Task(output, parent, creating, by)
            try:
                if self._known.is_unknown(output.ref) or not self._holds(task):
                    pending.append(task)
                else:
                    written[output.ref] = Written(output.ref, "skipped")
            except MyrmidonError as error:
                written[output.ref] = Written(output.ref, "failed", error=error)
        await _together([self._into(written, task) for task in pending], self._writes_max)
        return [written[output.ref] for output in outputs]

    def _holds(self, task: "_Task") -> bool:
        """Decide on what is known; the same question about the same object has the same answer."""
        ref = task.output.ref
        digest = task.digest()
        question = None if digest is None else (digest, self._known.stamp(ref))
        if question is not None and self._held.get(ref) == question:
            return True
        self._decide(task, self._known.get(ref))
        if task.request is not None:
            return False
        if question is not None:
            _remember(self._held, ref, question)
        return True

    def _into(
        self, written: dict[ObjectRef, Written], task: "_Task"
    ) -> Callable[[], Awaitable[None]]:
        async def write() -> None:
            ref = task.output.ref
            try:
                written[ref] = await self._write(task)
            except MyrmidonError as error:
                written[ref] = Written(ref, "failed", error=error)

        return write

    def _decide(self, task: "_Task", current: Json | None) -> None:
        task.current = current
        task.request = plan(task.output, current, task.parent, creating=task.creating)
        settled = self._settled.get(task.output.ref)
        if task.request is None or current is None or settled is None:
            return
        if settled == (fingerprint({"body": task.request.body}), version_of(current)):
            task.request = None  # the server has already refused to store it any closer

    async def _write(self, task: "_Task") -> Written:
        output = task.output
        error: ApiError | None = None
        for _ in range(_ATTEMPTS_MAX):
            if error is not None or self._known.is_unknown(output.ref):
                self._decide(task, await self.read(output.ref))
            if task.request is None:
                return Written(output.ref, "skipped")
            try:
                answer = await self.send(task.request, by=task.by)
            except (ConflictError, NotFoundError) as refused:
                if not _is_worth_another_look(output, refused):
                    raise
                error = refused
            except InvalidError as refused:
                await self._make_way(output, task.current, refused, task.by)
                error = refused
            else:
                self._settle(task, answer)
                current = task.current
                same = current is not None and version_of(answer) == version_of(current)
                return Written(output.ref, "noop" if same else "changed", task.request.verb)
        assert error is not None
        raise error

    async def _make_way(
        self, output: Output, current: Json | None, refused: InvalidError, by: str
    ) -> None:
        """Delete an object whose immutable field must change, where that was asked for."""
        removal = None
        if isinstance(output, Apply) and current is not None:
            removal = plan_recreate(output, current, refused)
        if removal is None:
            raise refused
        answer = await self.send(removal, by=by)
        if is_deleting(answer):
            raise TerminatingError(str(output.ref)) from refused

    def _settle(self, task: "_Task", answer: Json) -> None:
        """Remember a write that the server took and did not store as it was sent.

        A webhook or a schema changed it; sending the same again would change nothing, for ever.
        """
        output, ref = task.output, task.output.ref
        self._settled.pop(ref, None)
        if isinstance(output, Delete) or not uid_of(answer):
            return
        assert task.request is not None
        if not output.options.as_update and covers(answer, task.request.body):
            return  # every field is there as it was sent, so there is nothing to ask the plan
        again = plan(output, answer, task.parent, creating=task.creating)
        if again is not None:
            _remember(self._settled, ref, (fingerprint({"body": again.body}), version_of(answer)))


@dataclass(slots=True)
class _Task:
    """One output on its way: whose it is, and what was last decided about it."""

    output: Output
    parent: Parent
    creating: bool
    by: str
    current: Json | None = None
    request: Request | None = None

    def digest(self) -> int | None:
        """A number for the question, another for other questions; None where it has none."""
        output = self.output
        if isinstance(output, Delete):
            return hash((output, self.parent, self.creating))
        if output.options.owner is not None:
            return None
        wanted = orjson.dumps(output.manifest)
        return hash((wanted, output.options, output.author, self.parent, self.creating))


def _is_worth_another_look(output: Output, refused: ApiError) -> bool:
    """Whether a refused write may be decided again on a fresh read.

    A lock that the author asked for is never overridden, and a field of another manager is not
    taken by asking twice.
    """
    if isinstance(output, Delete):
        return True
    if output.options.optimistic_lock:
        return False
    disputed = any(cause.get("reason") == "FieldManagerConflict" for cause in refused.causes)
    if isinstance(refused, NotFoundError):
        # The object of a patch is gone; a create that finds no namespace or no kind stays refused.
        return refused.details.get("name") == output.ref.name
    return isinstance(refused, AlreadyExistsError) or not disputed


def _remember(memory: dict[ObjectRef, V], ref: ObjectRef, value: V) -> None:
    """Keep an answer, and not too many: all of them can be found again."""
    memory[ref] = value
    if len(memory) > _REMEMBERED_MAX:
        del memory[next(iter(memory))]


async def _together(acts: Sequence[Callable[[], Awaitable[None]]], at_once: int) -> None:
    """Run all, at most ``at_once`` at a time; one alone needs no task."""
    if len(acts) <= 1:
        for act in acts:
            await act()
        return
    waiting = iter(acts)

    async def work() -> None:
        for act in waiting:
            await act()

    async with asyncio.TaskGroup() as group:
        for _ in range(min(at_once, len(acts))):
            group.create_task(work())
