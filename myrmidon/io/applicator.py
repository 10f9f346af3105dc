"""Applicator: makes outputs true.  It decides nothing; ``sets.planning`` does.

What is left here is what only the sender can see: somebody was faster, the cache was behind, the
answer got lost.  Then the object is read from the server and the decision is made again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

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
from myrmidon.sets.output_set import Apply, Delete, Output
from myrmidon.sets.ownership import Parent
from myrmidon.sets.planning import fingerprint, plan, plan_recreate

_ATTEMPTS_MAX = 3  # against other writers; a fight is left to the backoff of the whole pass
_FIRST = (kinds.NAMESPACE, kinds.CUSTOM_RESOURCE_DEFINITION)  # others live in them


class Known(Protocol):
    """What is known about objects without asking, and what an answer adds to it."""

    def get(self, ref: ObjectRef) -> Json | None: ...  # noqa: D102
    def is_unknown(self, ref: ObjectRef) -> bool: ...  # noqa: D102
    def mark_unknown(self, ref: ObjectRef) -> None: ...  # noqa: D102
    def record_write(self, kind: Kind, obj: Json, *, by: str) -> None: ...  # noqa: D102
    def record_delete(self, ref: ObjectRef, *, uid: str, by: str) -> None: ...  # noqa: D102
    def clear_unknown(self, ref: ObjectRef) -> None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one output."""

    ref: ObjectRef
    outcome: Literal["changed", "noop", "skipped", "failed"]
    verb: Verb | None = None
    error: MyrmidonError | None = None


class Applicator:
    """Writes outputs concurrently, at most ``writes_max`` at a time."""

    def __init__(self, client: Client, known: Known, *, writes_max: int = 8) -> None:
        self._client, self._known = client, known
        self._slots = asyncio.Semaphore(writes_max)
        self._settled: dict[ObjectRef, tuple[str, str]] = {}  # what was sent, what it left

    async def write(
        self, outputs: Iterable[Output], parent: Parent, *, creating: bool = True, by: str = ""
    ) -> list[Written]:
        """Make every output true; one that fails does not stop the others.

        Outputs are independent of each other, but for what others live in: that goes first.
        """
        written: list[Written] = []
        all_outputs = list(outputs)
        for wave in (
            [output for output in all_outputs if output.ref.kind in _FIRST],
            [output for output in all_outputs if output.ref.kind not in _FIRST],
        ):
            written += await self._wave(wave, parent, creating=creating, by=by)
            if any(one.error is not None for one in written):
                break
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

    def forget(self, ref: ObjectRef) -> None:
        """An object is gone: remember nothing about it."""
        self._settled.pop(ref, None)

    # -------------------------------------------------------------------------- inside

    async def _wave(
        self, outputs: Sequence[Output], parent: Parent, *, creating: bool, by: str
    ) -> list[Written]:
        """Decide all, then send what is left to send; a converged set costs no task and no request."""
        written: dict[ObjectRef, Written] = {}
        pending: list[Output] = []
        for output in outputs:
            if self._known.is_unknown(output.ref):
                pending.append(output)
                continue
            try:
                holds = self._request(output, self._known.get(output.ref), parent, creating) is None
            except MyrmidonError as error:
                written[output.ref] = Written(output.ref, "failed", error=error)
                continue
            if holds:
                written[output.ref] = Written(output.ref, "skipped")
            else:
                pending.append(output)
        await _together(
            [self._into(written, output, parent, creating=creating, by=by) for output in pending]
        )
        return [written[output.ref] for output in outputs]

    def _into(
        self,
        written: dict[ObjectRef, Written],
        output: Output,
        parent: Parent,
        *,
        creating: bool,
        by: str,
    ) -> Callable[[], Awaitable[None]]:
        async def write() -> None:
            async with self._slots:
                try:
                    written[output.ref] = await self._write(output, parent, creating, by)
                except MyrmidonError as error:
                    written[output.ref] = Written(output.ref, "failed", error=error)

        return write

    def _request(
        self, output: Output, current: Json | None, parent: Parent, creating: bool
    ) -> Request | None:
        request = plan(output, current, parent, creating=creating)
        if request is None or current is None:
            return request
        # The server has already refused to store it any closer to what was declared.
        tried = (fingerprint({"body": request.body}), version_of(current))
        return None if self._settled.get(output.ref) == tried else request

    async def _write(self, output: Output, parent: Parent, creating: bool, by: str) -> Written:
        error: ApiError | None = None
        for _ in range(_ATTEMPTS_MAX):
            current = await self._current(output.ref, fresh=error is not None)
            request = self._request(output, current, parent, creating)
            if request is None:
                return Written(output.ref, "skipped")
            try:
                answer = await self.send(request, by=by)
            except (ConflictError, NotFoundError) as refused:
                if not _is_worth_another_look(output, refused):
                    raise
                error = refused
            except InvalidError as refused:
                await self._make_way(output, current, refused, by)
                error = refused
            else:
                self._settle(output, answer, parent, creating=creating)
                same = current is not None and version_of(answer) == version_of(current)
                return Written(output.ref, "noop" if same else "changed", request.verb)
        assert error is not None
        raise error

    async def _current(self, ref: ObjectRef, *, fresh: bool) -> Json | None:
        if fresh or self._known.is_unknown(ref):
            return await self.read(ref)
        return self._known.get(ref)

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

    def _settle(self, output: Output, answer: Json, parent: Parent, *, creating: bool) -> None:
        """Remember a write that the server took and did not store as it was sent.

        A webhook or a schema changed it; sending the same again would change nothing, for ever.
        """
        self._settled.pop(output.ref, None)
        if isinstance(output, Delete) or not uid_of(answer):
            return
        again = plan(output, answer, parent, creating=creating)
        if again is not None:
            self._settled[output.ref] = (fingerprint({"body": again.body}), version_of(answer))


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


async def _together(acts: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Run all at once; one alone needs no task."""
    if len(acts) == 1:
        await acts[0]()
    elif acts:
        async with asyncio.TaskGroup() as group:
            for act in acts:
                group.create_task(_awaited(act))


async def _awaited(act: Callable[[], Awaitable[None]]) -> None:
    await act()
