"""StallGuard: keeps an applicator from writing the same difference for ever.

If another client reverts an output or deletes its object each time, the controller must not write it
in a loop.  ``sets.contested_fields`` and ``sets.vanished_children`` decide when an output is stalled;
this module adds the clock and the error for the user.  The error about fields names the other field
managers, which only ``metadata.managedFields`` of a live read shows.  Once found, the names are kept
as long as the stall lasts, so that the condition does not change with every attempt.
"""

from typing import TypeAlias

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json, metadata
from myrmidon.api.objects.managed_fields import managers_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Request, Verb
from myrmidon.errors import DeletedAgainError, StalledError
from myrmidon.sets.outputs.outputs import Output, manager_of
from myrmidon.sets.stalls.contested_fields import ContestedFields, Stalls, field_text
from myrmidon.sets.stalls.vanished_children import Vanishing

Wish: TypeAlias = tuple[ObjectRef, str]  # an object, and the state that has an output for it

_FIELDS_TOLD_MAX = 5


class StallGuard:
    """Detects stalled outputs.  The applicator calls it before and after each write of an output.

    ``question`` is a hash of what is declared; reversals count only while it stays the same.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stalls: Stalls[Wish] = Stalls()
        self.wishes = self._stalls.stalled
        """The stalled outputs; while it is empty, ``without_write`` need not be called."""
        self._children: Vanishing[ObjectRef] = Vanishing(self.wishes)
        self.created = self._children.series
        """The children that this process created; an object that is not among them has not vanished."""
        self.delayed = self._stalls.delayed
        """The outputs that are written slowly; while it is empty, so need not ``before_write``."""

    def before_write(
        self, wish: Wish, question: int, output: Output, current: Json
    ) -> StalledError | None:
        """Return the error to report instead of writing, None if the write may be sent."""
        stall = self._stalls.check(wish, question, self._clock.monotonic())
        return stall and self._error(wish, output, current, stall)

    def after_write(
        self,
        wish: Wish,
        question: int,
        output: Output,
        before: Json,
        *,
        request: Request,
        answer: Json,
        now: float,
    ) -> StalledError | None:
        """Record a write that changed an object; return an error if the output is stalled."""
        if self._stalls.begins(wish, question, now):
            return None  # nearly always: the declaration has changed since the last write
        # A JSON patch and a full update do not say field by field what they declare.
        exact = request.verb is not Verb.UPDATE and isinstance(request.body, dict)
        declared = request.body if exact else None
        stall = self._stalls.wrote(wish, question, before, answer, now, declared=declared)
        return stall and self._error(wish, output, before, stall)

    def without_write(
        self, wish: Wish, question: int, output: Output, current: Json | None
    ) -> StalledError | None:
        """Record that the object is as declared; return the error until that has lasted a while."""
        now = self._clock.monotonic()
        seconds = self._children.held(output.ref, now)
        if seconds is not None:
            return DeletedAgainError(str(output.ref), seconds)
        stall = self._stalls.held(wish, question, now)
        return stall and self._error(wish, output, current or {}, stall)

    def was_created(self, ref: ObjectRef, parent: str) -> bool:
        """Whether this process created the object for the parent with this uid, and did not delete it."""
        return self._children.knows(ref, parent)

    def before_create(self, ref: ObjectRef, parent: str, question: int) -> StalledError | None:
        """Return the error to report instead of creating the object again, None if it may be sent."""
        now = self._clock.monotonic()
        seconds = self._children.check(ref, parent, question, now)
        return None if seconds is None else DeletedAgainError(str(ref), seconds)

    def after_create(
        self, ref: ObjectRef, parent: str, question: int, now: float
    ) -> StalledError | None:
        """Record that an object was created; return an error if it had to wait for that."""
        seconds = self._children.created(ref, parent, question, now)
        return None if seconds is None else DeletedAgainError(str(ref), seconds)

    def after_delete(self, ref: ObjectRef) -> None:
        """Record that this process deleted an object, so that it has not vanished."""
        self._children.forget(ref)

    def stalled(self) -> int:
        """Return the number of stalled outputs."""
        now = self._clock.monotonic()
        self._stalls.expire(now)
        self._children.expire(now)
        return len(self.wishes)

    def _error(
        self, wish: Wish, output: Output, current: Json, stall: ContestedFields
    ) -> StalledError:
        ours, others = manager_of(output), stall.others
        if others is None and "managedFields" in metadata(current):
            others = _others(current, stall, ours)
            self._stalls.blame(wish, others)
        fields = ", ".join(map(field_text, stall.fields[:_FIELDS_TOLD_MAX]))
        return StalledError(str(output.ref), fields, ours, others, stall.seconds)


def _others(current: Json, stall: ContestedFields, ours: str) -> str:
    found: dict[str, str] = {}
    for field in stall.fields:
        found |= managers_of(current, field)
    found.pop(ours, None)
    names = ", ".join(f'"{name}" (last at {at})' for name, at in found.items())
    return names or "an admission webhook or another state of this controller"
