"""Pass: one walk over one object, acted out.

The walk decides and this file acts: each action of ``fsm.engine`` has one method here, and none of
them is clever.  A pass that is interrupted anywhere is repeated from the start.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from myrmidon.api.objects import Json, finalizers_of, is_deleting, uid_of, version_of
from myrmidon.api.refs import ObjectRef
from myrmidon.api.resource import Resource, status_patch
from myrmidon.errors import (
    ConflictError,
    InvalidError,
    MyrmidonError,
    NotFoundError,
    PruneRefusedError,
    UnreadableObjectError,
)
from myrmidon.fsm.context import Cause
from myrmidon.fsm.engine import (
    Acted,
    EnsureFinalizer,
    Enter,
    Finish,
    Outcome,
    ReleaseFinalizer,
    Report,
    Skip,
    Walk,
    Write,
)
from myrmidon.fsm.finalizers import add_finalizer, remove_finalizer
from myrmidon.fsm.results import Failed, Wait, failure_of
from myrmidon.fsm.states import State
from myrmidon.fsm.status import reference, status_after, status_request
from myrmidon.fsm.suspension import SUSPEND, is_suspended
from myrmidon.io.applicator import Written
from myrmidon.runtime.context import Declared, PassContext
from myrmidon.runtime.crew import Crew
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.managing import Managed, is_child, is_tracked_child
from myrmidon.runtime.refusals import CONFLICT, refusal
from myrmidon.runtime.running import run_state
from myrmidon.runtime.triggers import author
from myrmidon.sets.fingerprints import fingerprint
from myrmidon.sets.output_set import Apply, Delete, OutputSet
from myrmidon.sets.ownership import Parent, is_tracked
from myrmidon.sets.pruning import prunable


class GoneError(MyrmidonError):
    """The object disappeared during its own pass; there is nothing left to do or to say."""


_ACTED = Acted()


class Pass:
    """The walk of one object through the machine, from its first action to the last."""

    def __init__(
        self, crew: Crew, ref: ObjectRef, obj: Json, causes: Sequence[Cause], log: Logger
    ) -> None:
        self._crew, self._ref, self._causes, self._log = crew, ref, tuple(causes), log
        controller = self._controller = crew.controller
        self._by = author(controller.name, ref)
        self._now = crew.clock.now()
        self.obj = obj
        """The object as the server has it, our own writes of this pass included."""
        self._typed: Resource[Any, Any] = controller.resource.from_json(obj)
        self._parent = Parent(ref, uid_of(obj))
        self._declared = Declared(type(controller), ref.namespace)
        self._managed = Managed(controller.managed_kinds)
        self._walk = Walk(
            type(controller).__name__,
            controller.graph,
            finalizer=controller.finalizer(),
            finalizers=finalizers_of(obj),
            deleting=is_deleting(obj),
            suspended=is_suspended(obj),
        )
        self.wrote: list[str] = []
        """What this pass has sent, for the log."""
        self.overtaken = False
        """Whether this pass wrote what it had read before, so that its beginning may be old."""
        self._out: OutputSet

    async def run(self) -> Outcome | None:
        """Walk to the end; None where nothing was to be done."""
        walk = self._walk
        while True:
            report: Report
            match walk.action:  # the most frequent first
                case Enter(state):
                    report = await self._enter(state)
                case Write(state):
                    report = await self._write(state)
                case Finish(outcome):
                    return await self._finish(outcome)
                case EnsureFinalizer():
                    report = await self._ensure_finalizer()
                case ReleaseFinalizer():
                    report = await self._release_finalizer()
                case Skip(reason):
                    self._skip(reason)
                    return None
            walk.report(report)

    async def give_up(self, failure: Failed) -> Outcome:
        """End a pass that was interrupted, and say so on the object."""
        return await self._finish(self._walk.abandon(failure).outcome)

    # -------------------------------------------------------------------------- actions

    def _skip(self, reason: str) -> None:
        self._log.debug("nothing to do", reason=reason)
        if reason == "suspended" and is_deleting(self.obj):
            self._event(
                "Normal", "Suspended", f"the deletion waits until the label {SUSPEND} is removed"
            )

    async def _ensure_finalizer(self) -> Report:
        request = add_finalizer(self._ref, self.obj, self._controller.finalizer())
        try:
            self.obj = await self._crew.applicator.send(request, by=self._by)
        except NotFoundError as error:
            raise GoneError(str(self._ref)) from error
        except MyrmidonError as error:
            return await self._edit_refused(error)
        self._typed = self._controller.resource.from_json(self.obj)
        return _ACTED

    async def _enter(self, state: State) -> Report:
        self._declared.state = state.name
        self._out = OutputSet(
            self._controller.managed_kinds,
            namespace=self._ref.namespace,
            controller=self._controller.name,
            state=state.name,
            class_name=type(self._controller).__name__,
        )
        method = getattr(self._controller, state.name)
        call = partial(method, self._typed, self._out)
        if state.takes_context:
            call = partial(call, self._context())
        ran = self._crew.observing.state_ran
        return await run_state(state, call, self._crew.clock, self._log, ran)

    async def _write(self, state: State) -> Report:
        outputs = list(self._out)
        if not outputs:
            return _ACTED
        tracked = [one.ref for one in outputs if isinstance(one, Apply) and is_tracked(one)]
        obstacle = await self._record(tracked) if tracked else None
        return obstacle or await self._flush(outputs, state.name)

    async def _release_finalizer(self) -> Report:
        try:
            children = await self._tracked_children()
        except MyrmidonError as error:
            return refusal(self._ref, error)
        if children:
            report = await self._flush([Delete(ref) for ref in children], "finalizer")
            if not isinstance(report, Acted):
                return report
            return Wait(
                "DeletingChildren", f"waiting for {', '.join(map(str, children))} to be gone"
            )
        if self._controller.finalizer() not in finalizers_of(self.obj):
            return _ACTED  # somebody took it off while we worked
        request = remove_finalizer(self._ref, self.obj, self._controller.finalizer())
        try:
            await self._crew.applicator.send(request, by=self._by)
        except NotFoundError:
            return _ACTED
        except MyrmidonError as error:
            return await self._edit_refused(error)
        return _ACTED

    async def _edit_refused(self, error: MyrmidonError) -> Report:
        """An edit of the finalizers failed.  422 without causes means that its test did."""
        overtaken = isinstance(error, InvalidError) and not error.causes
        if overtaken or isinstance(error, ConflictError):
            return await self._read_again()
        return refusal(self._ref, error)

    async def _finish(self, outcome: Outcome) -> Outcome:
        if outcome.released:
            return outcome
        if outcome.ended:
            try:
                outcome = await self._tidy(outcome)
            except UnreadableObjectError as error:
                outcome = _unfinished(outcome, failure_of(error))
        own_fields = status_patch(self._typed)
        self.overtaken = self.overtaken or bool(own_fields)
        status = status_after(
            outcome,
            self._controller.graph,
            self.obj,
            now=self._now,
            managed=self._managed.by_now(self.obj),
            own_fields=own_fields,
            ready=self._controller.options.ready_condition,
        )
        return await self._write_status(status, outcome)

    # -------------------------------------------------------------------------- outputs

    async def _flush(self, outputs: Sequence[Apply | Delete], state: str) -> Report:
        """Write outputs; the first one that failed is the reason for all."""
        creating = not is_deleting(self.obj)
        written = await self._crew.applicator.write(
            outputs, self._parent, creating=creating, by=self._by
        )
        report: Report = _ACTED
        for one in written:
            self._note(one, state)
            if one.error is not None and report is _ACTED:
                report = refusal(one.output.ref, one.error)
        return report

    def _note(self, written: Written, state: str) -> None:
        output, outcome, verb, error = written
        ref, applied = output.ref, isinstance(output, Apply)
        said = verb or ("apply" if applied else "delete")
        self._crew.observing.wrote(ref.kind.kind, said, outcome)
        if outcome == "changed" and ref.kind in self._declared.read:
            self.overtaken = True
        if verb is not None:
            self.wrote.append(f"{verb} {ref}")
            self._log.debug("wrote", output=ref, state=state, outcome=outcome)
        if error is None and applied:
            self._managed.applied[ref] = None
        elif error is None and self._crew.objects.get(ref) is None:
            self._managed.gone[ref] = None

    async def _tidy(self, outcome: Outcome) -> Outcome:
        """After a whole walk: deal with what is on record and was not wanted."""
        unwanted = self._managed.unwanted(self.obj)
        for ref in unwanted:
            if self._crew.applicator.is_unknown(ref):
                try:
                    await self._crew.applicator.read(ref)
                except MyrmidonError as error:
                    return _unfinished(outcome, refusal(ref, error))
        if self._controller.options.prune and not is_deleting(self.obj):
            outcome = await self._prune(outcome)
        # It may have been deleted by somebody else, or by a process that died before it said so.
        absent = (ref for ref in unwanted if self._crew.objects.get(ref) is None)
        self._managed.gone.update(dict.fromkeys(absent))
        return outcome

    async def _prune(self, outcome: Outcome) -> Outcome:
        """Delete what this object managed and no longer emits, if it is still its own."""
        limit = self._controller.options.prune_max
        managed = self._managed
        ours = [ref for ref in managed.recorded(self.obj) if self._has(ref)]
        try:
            surplus = prunable(ours, (*managed.applied, *managed.gone), limit=limit)
        except PruneRefusedError as error:
            self._event("Warning", "PruneRefused", str(error))
            return _unfinished(outcome, Failed("PruneRefused", error))
        report = await self._flush(surplus, "prune")
        return _unfinished(outcome, report) if isinstance(report, Wait | Failed) else outcome

    def _has(self, ref: ObjectRef) -> bool:
        """Whether a recorded child is there and still ours."""
        return bool(ref.kind.plural) and is_child(self._crew.objects.get(ref), self._parent.uid)

    # --------------------------------------------------------------- tracked by labels

    async def _record(self, tracked: Iterable[ObjectRef]) -> Report | None:
        """Write down what the garbage collector will not find, before it exists.

        Were it written down afterwards, a crash in between would leave an object that nobody
        knows.  For the same reason its parent must not go without us: it gets the finalizer.
        """
        new = [ref for ref in tracked if ref not in self._managed.recorded(self.obj)]
        if not new or is_deleting(self.obj):
            return None
        if self._controller.finalizer() not in finalizers_of(self.obj):
            report = await self._finalizer_for_tracked()
            if not isinstance(report, Acted):
                return report
        refs = [reference(ref) for ref in (*self._managed.recorded(self.obj), *new)]
        request = status_request(self._ref, self.obj, {"resourceRefs": refs})
        assert request is not None, "new references are a change"
        try:
            self.obj = await self._crew.applicator.send(request, by=self._by)
        except MyrmidonError as error:
            return refusal(self._ref, error)
        return None

    async def _finalizer_for_tracked(self) -> Report:
        typed = self._typed  # a state may already have changed its status
        report = await self._ensure_finalizer()
        self._typed = typed
        return report

    async def _tracked_children(self) -> list[ObjectRef]:
        """Children that we must delete ourselves, asked of the server where the cache has none."""
        found: list[ObjectRef] = []
        for ref in self._managed.recorded(self.obj):
            if not ref.kind.plural:
                continue
            child = self._crew.objects.get(ref) or await self._crew.applicator.read(ref)
            if is_tracked_child(child, self._parent.uid):
                found.append(ref)
        return found

    # --------------------------------------------------------------------------- status

    async def _write_status(self, status: Json, outcome: Outcome) -> Outcome:
        request = status_request(self._ref, self.obj, status)
        if request is None:
            return outcome
        attempt = (fingerprint(request.body["status"]), version_of(self.obj))
        if self._crew.settled.get(self._ref) == attempt:
            return outcome
        try:
            self.obj = await self._crew.applicator.send(request, by=self._by)
        except NotFoundError as error:
            raise GoneError(str(self._ref)) from error
        except ConflictError:
            # Our copy was old: the newer one comes by watch, and the pass is repeated on it.
            return _unfinished(outcome, await self._read_again())
        except MyrmidonError as error:
            refused = refusal(self._ref, error)
            self._log.warning("status refused", error=str(error))
            self._event("Warning", "StatusRefused", str(error))
            return _unfinished(outcome, refused)
        self._settle(status)
        return outcome

    def _settle(self, status: Json) -> None:
        """Remember a status that the server stored otherwise: a schema may drop what we say."""
        again = status_request(self._ref, self.obj, status)
        if again is None:
            self._crew.settled.pop(self._ref, None)
        else:
            left = (fingerprint(again.body["status"]), version_of(self.obj))
            self._crew.settled[self._ref] = left

    # --------------------------------------------------------------------------- others

    async def _read_again(self) -> Wait | Failed:
        """Somebody changed the object under us: let the next pass see it as it is."""
        try:
            await self._crew.applicator.read(self._ref)
        except MyrmidonError as error:
            return refusal(self._ref, error)
        return Wait(
            CONFLICT, f"{self._ref} was changed by somebody else; it is read again and retried"
        )

    def _context(self) -> PassContext:
        return PassContext(
            self._declared,
            self._crew.objects,
            self._crew.client,
            now=self._now,
            log=self._log.having(state=self._declared.state),
            cause=self._causes,
            record=self._event,
            managed=lambda: self._managed.by_now(self.obj),
        )

    def _event(self, kind: str, reason: str, message: str) -> None:
        self._crew.record_event(self.obj, kind, reason, message)


def _unfinished(outcome: Outcome, report: Wait | Failed) -> Outcome:
    """The outcome of a walk whose own work failed after its last state."""
    after = report.after if isinstance(report, Wait) else None
    retry = not isinstance(report, Failed) or report.retry
    return Outcome(
        visits=outcome.visits,
        ended=False,
        failure=report if isinstance(report, Failed) else outcome.failure,
        after=after if outcome.after is None else outcome.after,
        backoff=outcome.backoff or (after is None and retry),
    )
