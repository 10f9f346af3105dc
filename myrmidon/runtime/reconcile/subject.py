"""Subject: the object that a pass reconciles, updated by each write of the pass.

The parts of a pass (states, finalizer, status, children, pruning) all read the object, and some of
them write it.  They share one ``Subject``, so that each works on the answer to the last write and
not on the copy that the pass began with.
"""

from myrmidon.api.objects.accessors import Json, is_deleting, uid_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Request
from myrmidon.errors import MyrmidonError
from myrmidon.fsm.declaration.policies import Policy
from myrmidon.fsm.machine.results import Wait
from myrmidon.io.writes.own_writes import author
from myrmidon.patch.json_patch import apply_json_patch
from myrmidon.patch.merge_patch import merge
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.reconcile.pass_dependencies import PassDependencies
from myrmidon.runtime.reconcile.write_errors import CONFLICT
from myrmidon.runtime.views.children import Managed
from myrmidon.sets.outputs.outputs import Edit, Output
from myrmidon.sets.ownership.owner_references import Parent

_COUNTED = ("resourceVersion", "managedFields")
ATTEMPTS_MAX = 5
"""Attempts of one write that other writers overtake, before the whole pass is repeated instead."""


class GoneError(MyrmidonError):
    """The object was deleted during its own pass, so nothing is left to do.

    It may still have finalizers; then the watch event of its deletion causes the next pass.
    """


class Subject:
    """The object of a pass, its children, and the methods to read and write it."""

    __slots__ = ("by", "deps", "log", "managed", "moved", "obj", "parent", "policy", "ref")

    def __init__(self, deps: PassDependencies, ref: ObjectRef, obj: Json, log: Logger) -> None:
        self.deps, self.ref, self.log = deps, ref, log
        self.by = author(deps.controller.name, ref)
        """The author of the writes of this pass: their watch events do not trigger it again."""
        self.obj = obj
        """The object, as the last read or write of the pass returned it."""
        self.moved = False
        """True if the answer to a write shows a change of another writer that no state saw."""
        self.parent = Parent(ref, uid_of(obj))
        self.policy: Policy = "manage"
        """What may be done for the object."""
        self.managed = Managed(deps.controller.managed_kinds, ref, deps.home.records)

    def children(self) -> list[ObjectRef]:
        """Return the cached objects that name this one as their parent, except itself."""
        return [ref for ref in self.deps.objects.children(self.parent.uid) if ref != self.ref]

    def event(self, kind: str, reason: str, message: str) -> None:
        """Record a Kubernetes Event about the object."""
        self.deps.record_event(self.obj, kind, reason, message)

    async def send(self, request: Request) -> None:
        """Write to the object and keep the answer as its new state.

        A JSON patch carries no resourceVersion, so the answer may contain a change of another
        writer.  Its watch event does not trigger a pass, because it is older than our own write;
        ``moved`` is set, so that the object gets one all the same.
        """
        answer = await self.deps.applicator.send(request, by=self.by, before=self.obj)
        if request.patch is Patch.JSON:
            expected = _content(apply_json_patch(self.obj, request.body))
            self.moved = self.moved or expected != _content(answer)
        self.obj = answer

    def take_own_edit(self, output: Output) -> None:
        """Keep the object as it is after ``out.label_self`` or ``out.annotate_self``.

        The request carries no resourceVersion, so the answer may contain a change of another
        writer, as in ``send``.
        """
        fresh = self.deps.objects.get(self.ref)
        if not isinstance(output, Edit) or fresh is None or uid_of(fresh) != self.parent.uid:
            return
        expected = _content(merge(self.obj, output.body))
        self.moved = self.moved or expected != _content(fresh)
        self.obj = fresh

    async def refresh(self) -> None:
        """Read the object live, after a conflict; raise ``GoneError`` if it is gone.

        An object of the same name with another uid is another object, with a pass of its own.
        """
        fresh = await self.deps.applicator.read(self.ref)
        if fresh is None or uid_of(fresh) != self.parent.uid:
            raise GoneError(str(self.ref))
        self.obj = fresh

    async def confirm(self) -> None:
        """Read the object live; raise ``GoneError`` if it is gone or being deleted.

        The read is recorded in the caches like a watch event, so a change causes another pass.
        """
        await self.refresh()
        if is_deleting(self.obj):
            raise GoneError(str(self.ref))

    def overtaken(self) -> Wait:
        """Return the result of a pass that was overtaken too often: it is retried with backoff."""
        return Wait(
            CONFLICT, f"{self.ref} was changed by another writer; it is read again and retried"
        )


def _content(obj: Json) -> Json:
    """Return the object without empty metadata, and without what the server changes on every write."""
    meta = {key: value for key, value in obj["metadata"].items() if value and key not in _COUNTED}
    return {**obj, "metadata": meta}
