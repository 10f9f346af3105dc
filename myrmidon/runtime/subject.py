"""Subject: the object that a pass reconciles, as the server has it.

The parts of a pass (states, finalizer, status, children, pruning) each read the object and some of
them write it.  They share one ``Subject``, so that each of them works on the answer to the last
write and not on the copy that the pass began with.
"""

from myrmidon.api.objects import Json, uid_of
from myrmidon.api.refs import ObjectRef
from myrmidon.errors import MyrmidonError
from myrmidon.fsm.results import Failed, Wait
from myrmidon.runtime.crew import Crew
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.managing import Managed
from myrmidon.runtime.refusals import CONFLICT, refusal
from myrmidon.runtime.triggers import author
from myrmidon.sets.ownership import Parent


class GoneError(MyrmidonError):
    """The object disappeared during its own pass, so there is nothing left to do."""


class Subject:
    """One object, what it manages, and what a pass needs to read and to write it."""

    __slots__ = ("by", "crew", "log", "managed", "obj", "parent", "ref")

    def __init__(self, crew: Crew, ref: ObjectRef, obj: Json, log: Logger) -> None:
        self.crew, self.ref, self.log = crew, ref, log
        self.by = author(crew.controller.name, ref)
        """How the pass signs its writes, so that their watch events do not wake it again."""
        self.obj = obj
        """The object with the answers to the pass's own writes."""
        self.parent = Parent(ref, uid_of(obj))
        self.managed = Managed(crew.controller.managed_kinds)

    def event(self, kind: str, reason: str, message: str) -> None:
        """Record a Kubernetes Event about the object."""
        self.crew.record_event(self.obj, kind, reason, message)

    async def read_again(self) -> Wait | Failed:
        """Read the object live after a conflict and return the result that repeats the pass on it."""
        try:
            await self.crew.applicator.read(self.ref)
        except MyrmidonError as error:
            return refusal(self.ref, error)
        return Wait(
            CONFLICT, f"{self.ref} was changed by another writer; it is read again and retried"
        )
