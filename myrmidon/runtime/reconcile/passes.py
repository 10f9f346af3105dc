"""Pass: takes one object through the states of its controller.

``fsm.engine.Walk`` decides what happens next and does no I/O; a pass carries out each action and
reports the result back:

    Enter               run a state
    Write               write the outputs of the state
    EnsureFinalizer     add our finalizer, before a state may create what needs it
    ReleaseFinalizer    delete the children without an owner reference, then remove our finalizer
    Finish              prune, then write the status
    Skip                do nothing: the object is suspended, or its deletion does not concern us

A pass keeps no progress of its own: one that is interrupted anywhere is repeated from the start, so
every action must be safe to repeat.  If a pass changed objects that an earlier state had read, or
another writer changed the object meanwhile, the pass says so (``overtaken``, ``moved``) and the
reconciler requeues the object.

Where the parts are:

    the loop over actions, running states, writing their outputs     here
    adding and removing our finalizer                                ``finalizer_edits``
    the status write                                                 ``status_writer``
    children without an owner reference                              ``tracked_children``
    deleting children that are no longer emitted                     ``pruning``
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from myrmidon.api.conditions import STALLED, status_of
from myrmidon.api.objects import Json, finalizers_of, generation_of, is_deleting
from myrmidon.api.refs import ObjectRef
from myrmidon.api.resource import Resource
from myrmidon.errors import (
    OutputError,
    RemoteUnavailableError,
    SelfOutputError,
    StalledError,
    StatusError,
    UnreadableObjectError,
    UnwatchedNamespaceError,
)
from myrmidon.fsm.context import Cause
from myrmidon.fsm.engine import (
    ACTED,
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
    unfinished,
)
from myrmidon.fsm.results import Failed, failure_of
from myrmidon.fsm.states import State
from myrmidon.fsm.status import own_fields, status_after
from myrmidon.fsm.suspension import SUSPEND, is_suspended
from myrmidon.io.applicator import Written
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.reconcile.blocked_deletion import BLOCKED, remedy
from myrmidon.runtime.reconcile.context import Declared, PassContext
from myrmidon.runtime.reconcile.dependencies import PassDependencies
from myrmidon.runtime.reconcile.finalizer_edits import ensure_finalizer, release_finalizer
from myrmidon.runtime.reconcile.former_conditions import former_conditions, undeclared_conditions
from myrmidon.runtime.reconcile.pruning import settle_unsure, tidy
from myrmidon.runtime.reconcile.run_state import run_state
from myrmidon.runtime.reconcile.status_writer import write_status
from myrmidon.runtime.reconcile.subject import Subject
from myrmidon.runtime.reconcile.tracked_children import delete_children, record_children
from myrmidon.runtime.reconcile.write_errors import refusal
from myrmidon.runtime.refused_outputs import REFUSALS, is_blocked
from myrmidon.sets.output_set import Apply, Delete, Output, OutputSet
from myrmidon.sets.ownership import is_tracked


class Pass:
    """One pass over one object, from the first action to the status write."""

    def __init__(
        self,
        deps: PassDependencies,
        ref: ObjectRef,
        obj: Json,
        causes: Sequence[Cause],
        log: Logger,
    ) -> None:
        self._deps, self._ref, self._causes, self._log = deps, ref, tuple(causes), log
        controller = self._controller = deps.controller
        self._now = deps.clock.now()
        self._subject = Subject(deps, ref, obj, log)
        self._generation = generation_of(obj)  # of the spec that states see
        self._declared: Declared | None = None  # for the first state with a context
        self._walk = Walk(
            type(controller).__name__,
            controller.graph,
            finalizer=controller.finalizer(),
            finalizers=finalizers_of(obj),
            deleting=is_deleting(obj),
            suspended=is_suspended(obj),
        )
        # If no state runs, the object need not be valid for its model: it can still be deleted.
        runs = not isinstance(self._walk.action, Skip | ReleaseFinalizer)
        self._typed: Resource[Any, Any] | None = (
            controller.resource.from_json(obj) if runs else None
        )
        self.wrote: list[str] = []
        """The writes of this pass, for the log."""
        self.overtaken = False
        """True if the pass changed a kind that an earlier state had read, or if an object that was
        in the way of an output is gone: the pass decided on stale data, so the object gets another."""
        self._out: OutputSet

    @property
    def obj(self) -> Json:
        """The object, including the writes of this pass to it."""
        return self._subject.obj

    @property
    def moved(self) -> bool:
        """Whether another writer made a change to the object that no state of this pass saw."""
        return self._subject.moved

    async def run(self) -> Outcome | None:
        """Carry out all actions; return the outcome, None if the pass was skipped."""
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
        """End an interrupted pass and write the failure to the status."""
        return await self._finish(self._walk.abandon(failure).outcome)

    # -------------------------------------------------------------------------- actions

    def _skip(self, reason: str) -> None:
        self._log.debug("nothing to do", reason=reason)
        if reason == "suspended" and is_deleting(self.obj):
            self._subject.event(
                "Normal", "Suspended", f"the deletion waits until the label {SUSPEND} is removed"
            )

    async def _ensure_finalizer(self) -> Report:
        report = await ensure_finalizer(self._subject)
        if isinstance(report, Acted):
            self._typed = self._controller.resource.from_json(self.obj)
            self._generation = generation_of(self.obj)
            self._subject.moved = False  # states see the object with that change
        return report

    async def _enter(self, state: State) -> Report:
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
            call = partial(call, self._context(state))
        ran = self._deps.observing.state_ran
        return await run_state(state, call, self._deps.clock, self._log, ran)

    async def _write(self, state: State) -> Report:
        outputs = list(self._out)
        if not outputs:
            return ACTED
        objects, tracked = self._deps.objects, list[ObjectRef]()
        for output in outputs:
            ref = output.ref
            if ref == self._ref or not (objects.covers_all or objects.covers(ref)):
                misplaced = self._misplaced(output, state)
                if misplaced is not None:
                    return refusal(ref, misplaced)
            if isinstance(output, Apply) and is_tracked(output):
                tracked.append(ref)
        obstacle = await record_children(self._subject, tracked) if tracked else None
        return obstacle or await self._flush(outputs, state.name)

    def _misplaced(self, output: Output, state: State) -> OutputError | None:
        """Return the error of an output that must not be written; checked before any is written."""
        ref, name = output.ref, type(self._controller).__name__
        if ref == self._ref and isinstance(output, Apply):
            return SelfOutputError(name, state.name, str(ref))
        if self._deps.objects.covers(ref):
            return None
        watched = self._deps.objects.namespaces
        return UnwatchedNamespaceError(name, state.name, str(ref), ref.namespace, watched)

    async def _release_finalizer(self) -> Report:
        report = await delete_children(self._subject, self._flush)
        return await release_finalizer(self._subject) if isinstance(report, Acted) else report

    async def _finish(self, outcome: Outcome) -> Outcome:
        if outcome.released:
            return outcome
        if outcome.ended:
            try:
                outcome = await tidy(self._subject, outcome, self._flush)
            except (UnreadableObjectError, RemoteUnavailableError) as error:
                outcome = unfinished(outcome, failure_of(error))
        outcome, changed = self._own_fields(outcome)
        hint = ""
        if outcome.failure is not None and is_deleting(self.obj):
            hint = remedy(self._ref)
            self._subject.event("Warning", BLOCKED, f"{outcome.failure.message}; {hint}")
        self.overtaken = self.overtaken or bool(changed)
        strange = undeclared_conditions(self._subject)
        former = await former_conditions(self._subject, strange) if strange else ()

        def status(obj: Json) -> Json:
            return status_after(
                outcome,
                self._controller.graph,
                obj,
                now=self._now,
                managed=self._subject.managed.by_now(obj),
                own_fields=changed,
                ready=self._controller.options.ready_condition,
                generation=self._generation,
                hint=hint,
                former=former,
            )

        return await write_status(self._subject, status, outcome)

    def _own_fields(self, outcome: Outcome) -> tuple[Outcome, Json]:
        """Return the status fields that states changed; a failed outcome if they are not JSON."""
        if self._typed is None:
            return outcome, {}
        try:
            return outcome, own_fields(self._typed)
        except StatusError as error:
            return unfinished(outcome, Failed(error.reason, error, retry=False)), {}

    # -------------------------------------------------------------------------- outputs

    async def _flush(self, outputs: Sequence[Apply | Delete], state: str) -> Report:
        """Write the outputs; return the first refusal, or ``ACTED`` if there was none."""
        creating = not is_deleting(self._subject.obj)
        try:
            written = await self._deps.applicator.write(
                outputs, self._subject.parent, creating=creating, by=self._subject.by
            )
        except asyncio.CancelledError:
            for output in outputs:
                self._note_unsure(output)
            raise
        report: Report = ACTED
        for one in written:
            self._note(one, state)
            if one.error is not None and report is ACTED:
                report = refusal(one.output.ref, one.error)
                if isinstance(one.error, StalledError) and status_of(self.obj, STALLED) != "True":
                    self._subject.event("Warning", STALLED, str(one.error))
        return report

    def _note(self, written: Written, state: str) -> None:
        output, outcome, verb, error, adopted = written
        ref, applied = output.ref, isinstance(output, Apply)
        said = verb or ("apply" if applied else "delete")
        self._deps.observing.wrote(ref.kind.kind, said, outcome)
        if error is None and applied:
            self._subject.managed.applied[ref] = None
            if verb is None:
                return  # nothing was sent
        if outcome == "changed" and self._declared is not None and ref.kind in self._declared.read:
            self.overtaken = True
        if verb is not None:
            self.wrote.append(f"{verb} {ref}")
            self._log.debug("wrote", output=ref, state=state, outcome=outcome)
        if adopted:
            self._subject.event(
                "Normal", "Adopted", f"{ref} existed before and is managed from now on"
            )
        if error is not None:
            self._note_unsure(output)
            if isinstance(error, REFUSALS):
                self._note_refused(output)
        elif not applied and self._deps.objects.get(ref) is None:
            self._subject.managed.gone[ref] = None

    def _note_refused(self, output: Output) -> None:
        """Wait for the object in the way; look again at once if it has gone away meanwhile."""
        self._deps.refused.note(self._ref, output.ref)
        current = self._deps.objects.get(output.ref)
        if not is_blocked(current, output, self._subject.parent):
            self.overtaken = True

    def _note_unsure(self, output: Output) -> None:
        """Remember an output that may exist, because its write got no clear answer."""
        if isinstance(output, Apply) and self._deps.applicator.is_unknown(output.ref):
            self._deps.unsure.setdefault(self._ref, {})[output.ref] = None

    # --------------------------------------------------------------------------- others

    def _context(self, state: State) -> PassContext:
        if self._declared is None:
            self._declared = Declared(type(self._controller), self._ref.namespace)
        self._declared.state = state.name
        return PassContext(
            self._declared,
            self._deps.objects,
            self._deps.client,
            now=self._now,
            log=self._log.having(state=state.name),
            cause=self._causes,
            record=self._subject.event,
            managed=self._children,
        )

    async def _children(self) -> list[ObjectRef]:
        """Return the managed objects; during a deletion also children that no status records."""
        managed = self._subject.managed.by_now(self.obj)
        if not is_deleting(self.obj):
            return list(managed)
        await settle_unsure(self._subject)
        return list(dict.fromkeys((*managed, *self._subject.children())))
