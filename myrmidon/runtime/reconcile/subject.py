"""Subject: the object that a pass reconciles, as the server has it.

The parts of a pass (states, finalizer, status, children, pruning) each read the object and some of
them write it.  They share one ``Subject``, so that each of them works on the answer to the last
write and not on the copy that the pass began with.
"""

from myrmidon.api.objects import Json, uid_of
from myrmidon.api.refs import ObjectRef
from myrmidon.api.requests import Patch, Request
from myrmidon.errors import MyrmidonError
from myrmidon.fsm.results import Wait
from myrmidon.io.own_writes import author
from myrmidon.patch.json_patch import apply_json_patch
from myrmidon.runtime.children import Managed
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.reconcile.dependencies import PassDependencies
from myrmidon.runtime.reconcile.write_errors import CONFLICT
from myrmidon.sets.ownership import Parent

_COUNTED = ("resourceVersion", "managedFields")
ATTEMPTS_MAX = 5
"""Tries of one write to the object against other writers, before the pass is repeated instead."""


class GoneError(MyrmidonError):
    """The object disappeared during its own pass, so there is nothing left to do."""


class Subject:
    """One object, what it manages, and what a pass needs to read and to write it."""

    __slots__ = ("by", "deps", "log", "managed", "moved", "obj", "parent", "ref")

    def __init__(self, deps: PassDependencies, ref: ObjectRef, obj: Json, log: Logger) -> None:
        self.deps, self.ref, self.log = deps, ref, log
        self.by = author(deps.controller.name, ref)
        """How the pass signs its writes, so that their watch events do not wake it again."""
        self.obj = obj
        """The object with the answers to the pass's own writes."""
        self.moved = False
        """True if the answer to an own write shows a change of another party that no state saw."""
        self.parent = Parent(ref, uid_of(obj))
        self.managed = Managed(deps.controller.managed_kinds, ref)

    def children(self) -> list[ObjectRef]:
        """The cached objects that name this one as their parent; never the object itself."""
        return [ref for ref in self.deps.objects.children(self.parent.uid) if ref != self.ref]

    def event(self, kind: str, reason: str, message: str) -> None:
        """LeaseRecord a Kubernetes Event about the object."""
        self.deps.record_event(self.obj, kind, reason, message)

    async def send(self, request: Request) -> None:
        """Write to the object, and go on with the answer.

        A JSON patch carries no resourceVersion: the answer may show another party's change that the
        watch event will not tell of, because it is older than our own write.  Then the object needs
        another pass.
        """
        answer = await self.deps.applicator.send(request, by=self.by)
        if request.patch is Patch.JSON:
            expected = _content(apply_json_patch(self.obj, request.body))
            self.moved = self.moved or expected != _content(answer)
        self.obj = answer

    async def refresh(self) -> None:
        """Read the object live, after another writer was faster; raise ``GoneError`` if it is gone.

        A namesake that was created since is another object, with a pass of its own.
        """
        fresh = await self.deps.applicator.read(self.ref)
        if fresh is None or uid_of(fresh) != self.parent.uid:
            raise GoneError(str(self.ref))
        self.obj = fresh

    def overtaken(self) -> Wait:
        """The result of a pass that lost against other writers too often: it is repeated."""
        return Wait(
            CONFLICT, f"{self.ref} was changed by another writer; it is read again and retried"
        )


def _content(obj: Json) -> Json:
    """An object without what the server counts up on each write."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _COUNTED}
    return {**obj, "metadata": meta}
