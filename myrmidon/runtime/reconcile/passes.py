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

    the loop over actions, running states                            here
    writing the outputs of states                                    ``output_writer``
    adding and removing our finalizer                                ``finalizer_edits``
    the status write                                                 ``status_writer``
    children without an owner reference                              ``tracked_children``
    children that no status records                                  ``unrecorded_children``
    deleting children that are no longer emitted                     ``pruning``
    deleting children by selector                                    ``selected_deletes``
    the policies observe and orphan                                  ``policies``
    resources outside the cluster                                    ``external``
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from myrmidon.api.objects.accessors import Json, finalizers_of, is_deleting
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.typed.resource import Resource
from myrmidon.api.typed.status import LAST_HANDLED
from myrmidon.errors import (
    ForeignStatusError,
    RemoteUnavailableError,
    StatusError,
    UnreadableObjectError,
)
from myrmidon.fsm.context import Cause
from myrmidon.fsm.declaration.policies import policy_of
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
from myrmidon.fsm.external.resource import External
from myrmidon.fsm.machine.results import Done, Failed, failure_of
from myrmidon.fsm.machine.states import State
from myrmidon.fsm.metadata.reconcile_request import revision_of
from myrmidon.fsm.metadata.suspension import SUSPEND, is_suspended
from myrmidon.fsm.status.retry_limits import attempt_fields
from myrmidon.fsm.status.status import own_fields, reference, status_after
from myrmidon.io.writes.output_task import Written
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.reconcile.blocked_deletion import BLOCKED, remedy
from myrmidon.runtime.reconcile.context import Declared, PassContext
from myrmidon.runtime.reconcile.external import (
    ensure_external,
    remove_external,
    unremoved_externals,
)
from myrmidon.runtime.reconcile.finalizer_edits import ensure_finalizer, release_finalizer
from myrmidon.runtime.reconcile.former_conditions import (
    former_conditions,
    undeclared_conditions,
)
from myrmidon.runtime.reconcile.output_writer import OutputWriter
from myrmidon.runtime.reconcile.own_deletion import delete_own
from myrmidon.runtime.reconcile.pass_dependencies import PassDependencies
from myrmidon.runtime.reconcile.policies import release_children
from myrmidon.runtime.reconcile.pruning import tidy
from myrmidon.runtime.reconcile.status_writer import write_status
from myrmidon.runtime.reconcile.subject import Subject
from myrmidon.runtime.reconcile.tracked_children import delete_children
from myrmidon.runtime.reconcile.unrecorded_children import find_unrecorded, settle_unsure
from myrmidon.sets.outputs.output_set import OutputSet

_WITHOUT_STATES = (Skip, ReleaseFinalizer)  # the first actions of passes that run no state


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
        self._subject.policy = policy_of(obj, controller.options.policy)
        self._revision = revision_of(obj)  # of the object that states see
        self._declared: Declared | None = None  # for the first state with a context
        self._walk = Walk(
            type(controller).__name__,
            controller.graph,
            finalizer=controller.finalizer(),
            finalizers=finalizers_of(obj),
            deleting=is_deleting(obj),
            suspended=is_suspended(obj),
            policy=self._subject.policy,
            now=self._now,
        )
        # If no state runs, the object need not be valid for its model: it can still be deleted.
        runs = not isinstance(self._walk.action, _WITHOUT_STATES)
        self._typed: Any = deps.read_object(obj) if runs else None
        self._outputs = OutputWriter(self._subject)
        self._out: OutputSet

    @property
    def obj(self) -> Json:
        """The object, including the writes of this pass to it."""
        return self._subject.obj

    @property
    def wrote(self) -> list[Written]:
        """The outputs for which this pass sent a request."""
        return self._outputs.wrote

    @property
    def overtaken(self) -> bool:
        """Whether the pass decided on data that it has changed itself, so that another must follow."""
        return self._outputs.overtaken

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
                    report = await self._outputs.write(self._out, state.name)
                    if self._out.self_deletion is not None and isinstance(report, Acted):
                        report = await delete_own(
                            self._subject, self._out.self_deletion, state.name
                        )
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

    def end(self, *, complete: bool) -> None:
        """Take note of what the states have read; to be called when no state runs any more."""
        if self._declared is not None:
            self._declared.end(complete=complete)
        elif complete and self._deps.readers.is_used:
            self._deps.readers.forget(self._ref)

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
            self._typed = self._deps.read_object(self.obj)
            self._revision = revision_of(self.obj)
            self._subject.moved = False  # states see the object with that change
        return report

    async def _enter(self, state: State) -> Report:
        deps, ref = self._deps, self._ref
        self._out = OutputSet(
            namespace=ref.namespace,
            own=ref,
            defaults=deps.output_defaults(ref) if deps.sets_defaults else None,
            by=deps.declarers[state.name],
        )
        method = getattr(self._controller, state.name)
        call = partial(method, self._typed, self._out)
        if state.takes_context:
            call = partial(call, self._context(state))
        result = await deps.run_state(state, call, deps.clock, self._log, deps.state_ran)
        if not isinstance(result, Done):
            deps.dropped.note(self._log, state.name, result, self._out)
        return result

    async def _release_finalizer(self) -> Report:
        left = unremoved_externals(self._subject)
        if left is not None:
            return left
        report: Report = ACTED
        if self._subject.policy == "orphan":
            report = await release_children(self._subject, self._outputs.flush)
        elif self._subject.policy == "manage":
            report = await delete_children(self._subject, self._outputs.flush)
        return await release_finalizer(self._subject) if isinstance(report, Acted) else report

    async def _finish(self, outcome: Outcome) -> Outcome:
        if outcome.released:
            return outcome
        if outcome.ended:
            try:
                outcome = await tidy(self._subject, outcome, self._outputs.flush)
            except (UnreadableObjectError, RemoteUnavailableError) as error:
                outcome = unfinished(outcome, failure_of(error))
        outcome, changed = self._own_fields(outcome)
        outcome = self._deps.retries.judged(self._ref, outcome, self._revision)
        hint = outcome.attempt.said if outcome.attempt is not None else ""
        if outcome.failure is not None and is_deleting(self.obj):
            hint = "; ".join(filter(None, (hint, remedy(self._ref))))
            failed = "; ".join(failure.message for failure in outcome.failures)
            self._subject.event("Warning", BLOCKED, f"{failed}; {hint}")
        self._outputs.overtaken = self._outputs.overtaken or bool(changed)
        home, options = self._deps.home, self._controller.options
        token = self._revision[1]
        if token:
            changed = {**changed, LAST_HANDLED: token}
        if options.report_attempts:
            fields = attempt_fields(outcome.attempt, self._deps.clock.now(), outcome.after)
            changed = {**changed, **fields}
        if home.conditions is None:
            if outcome.failure is not None and not hint:
                self._subject.event("Warning", outcome.failure.reason, outcome.failure.message)
        else:
            strange = undeclared_conditions(self._subject)
            former = await former_conditions(self._subject, strange) if strange else ()
            make = partial(self._status, outcome, changed, hint, former)
            outcome = await write_status(self._subject, home.conditions, make, outcome)
        if not home.records_all and self._subject.managed.recorded(self.obj):
            outcome = await write_status(self._subject, home.records, self._record, outcome)
        return outcome

    def _status(
        self, outcome: Outcome, changed: Json, hint: str, former: tuple[str, ...], obj: Json
    ) -> Json:
        """Return the status that the object should have after this pass."""
        home, controller = self._deps.home, self._controller
        status = status_after(
            outcome,
            controller.graph,
            obj if home.is_plain else home.seen(obj),
            now=self._now,
            managed=self._subject.managed.to_record(obj) if home.records_all else (),
            own_fields=changed,
            ready=controller.options.ready_condition,
            generation=self._revision[0],
            hint=hint,
            former=former,
            kstatus=controller.options.kstatus,
        )
        return status if home.is_plain else home.fitting(status, self._deps.own_conditions)

    def _record(self, obj: Json) -> Json:
        """Return the record of tracked children that the object should have after this pass."""
        left = self._subject.managed.still_recorded(obj)
        return {"resourceRefs": [reference(ref) for ref in left]}

    def _own_fields(self, outcome: Outcome) -> tuple[Outcome, Json]:
        """Return the status fields that states changed; a failed outcome if they are not JSON."""
        if not isinstance(self._typed, Resource):
            return outcome, {}
        try:
            changed = own_fields(self._typed)
        except StatusError as error:
            return unfinished(outcome, Failed(error.reason, error, retry=False)), {}
        if changed and self._deps.home.where != "status":
            foreign = ForeignStatusError(type(self._controller).__name__, str(self._ref.kind))
            return unfinished(outcome, Failed(foreign.reason, foreign, retry=False)), {}
        return outcome, changed

    # --------------------------------------------------------------------------- others

    def _context(self, state: State) -> PassContext:
        if self._declared is None:
            self._declared = Declared(
                type(self._controller), self._ref, self._deps.readers, self._outputs.read
            )
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
            external=partial(self._settle_external, state.name),
            planning=self._deps.planning,
        )

    async def _settle_external(self, state: str, external: External[Any, Any], wanted: bool) -> Any:
        act = ensure_external if wanted else remove_external
        return await act(self._subject, external, self._typed, state)

    async def _children(self) -> Sequence[ObjectRef]:
        """Return the managed objects, among them children that no status records (A13)."""
        await settle_unsure(self._subject)
        await find_unrecorded(self._subject)
        return self._subject.managed.by_now(self.obj)
