"""Reconciler: reads the object of a key, runs a pass over it, and reports the outcome.

1. Read the object from the cache.  If the last write to it got no clear answer, the cache may be
   behind, so it is read from the server.
2. Run a ``Pass`` within ``pass_timeout``.
3.  If the object is not valid for its model, write that to its status (``_quarantine``).  If it
   cannot even be decoded, record an Event (``_report_unreadable``).  Other objects are not
   affected.
4. Log the result, update the metrics, and requeue the object if the pass decided on old data.

What must hold: every failure ends in an ``Outcome`` or an exception that the worker turns into a
retry with backoff.  Which key is reconciled when is not decided here but in the queue.
"""

from collections.abc import Callable, Iterator
from itertools import repeat

from myrmidon.api.objects.accessors import Json, generation_of, is_deleting, uid_of
from myrmidon.api.objects.conditions import READY, status_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Request, Verb
from myrmidon.api.typed.status import LAST_HANDLED
from myrmidon.errors import (
    ApiError,
    ConflictError,
    MyrmidonError,
    RemoteUnavailableError,
    TransportError,
    UnfitObjectError,
    UnreadableObjectError,
)
from myrmidon.fsm.engine import Outcome
from myrmidon.fsm.machine.raised import UnexpectedError
from myrmidon.fsm.machine.results import Failed, Wait, failure_of
from myrmidon.fsm.metadata.reconcile_request import token_of
from myrmidon.fsm.metadata.suspension import is_suspended
from myrmidon.fsm.status.status import ready_of, status_after
from myrmidon.io.timers.deadlines import Deadlines
from myrmidon.io.writes.own_writes import author
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.queue.queue import Turn
from myrmidon.runtime.reconcile.blocked_deletion import remedy
from myrmidon.runtime.reconcile.own_deletion import SelfDeletedError
from myrmidon.runtime.reconcile.pass_dependencies import PassDependencies
from myrmidon.runtime.reconcile.passes import Pass
from myrmidon.runtime.reconcile.status_writer import write_status
from myrmidon.runtime.reconcile.subject import GoneError, Subject
from myrmidon.runtime.reconcile.write_errors import refusal
from myrmidon.sets.outputs.manifests import manifest_of
from myrmidon.sets.outputs.requests import write_query


class Reconciler:
    """Runs the passes of one controller.  ``again`` requeues an object at once."""

    def __init__(
        self, deps: PassDependencies, log: Logger, again: Callable[[ObjectRef], None]
    ) -> None:
        self._deps, self._again = deps, again
        self._log = log.having(controller=deps.controller.name)
        self._passes, self._deadlines = 0, Deadlines()
        self._overtook: set[ObjectRef] = set()  # objects whose last pass was ``overtaken``

    async def reconcile(self, turn: Turn[ObjectRef]) -> Outcome | None:
        """Run one pass over one object; return None if the object is gone or was skipped."""
        self._passes += 1
        log = self._log.having(object=turn.key.key, reconcile_id=self._passes)
        try:
            obj = await self._read(turn.key)
            if obj is None:
                return await self._absent(turn, log)
        except UnreadableObjectError as error:
            return self._report_unreadable(turn.key, error, log)
        except (ApiError, TransportError) as error:
            return self._unavailable(turn, error, log)
        log.debug("pass begins", cause=turn.causes, collapsed=turn.collapsed)
        generation = generation_of(obj)
        self._deps.refused.drop(turn.key)
        try:
            single = Pass(self._deps, turn.key, obj, turn.causes, log)
            outcome = await self._in_time(single)
            outcome, obj = self._overtaken(turn, single, outcome), single.obj
            if single.wrote and log.tells_changes:
                log.info("pass wrote", wrote=list(map(str, single.wrote)))
        except UnfitObjectError as error:
            outcome, obj = await self._quarantine(turn.key, obj, error, log)
        except SelfDeletedError:
            log.info("deleted itself")
            self._again(turn.key)
            return None
        except GoneError:
            return self._disappeared(turn, obj)
        finally:
            if self._deps.applicator.warnings.heard:
                self._tell_warnings(turn.key, obj, log)
        self._report(turn, generation, outcome, log)
        self._set_gauges(turn, obj, outcome)  # last: forgets the object if it was released
        return outcome

    def _overtaken(
        self, turn: Turn[ObjectRef], single: Pass, outcome: Outcome | None
    ) -> Outcome | None:
        """Requeue the object if this pass decided on old data.

        If every pass changes what it reads, this would never end; so from the second time in a row
        the object is requeued with backoff.
        """
        if single.moved and outcome is not None and not outcome.released:
            self._again(turn.key)
        if outcome is None or outcome.released or not single.overtaken:
            self._overtook.discard(turn.key)
            return outcome
        if turn.key in self._overtook:
            return outcome._replace(backoff=True)
        self._overtook.add(turn.key)
        self._again(turn.key)
        return outcome

    async def _in_time(self, single: Pass) -> Outcome | None:
        """Run a pass; end it with a failure when ``pass_timeout`` is over."""
        limit = self._deps.controller.options.pass_timeout
        complete = False
        try:
            with self._deadlines.within(limit.total_seconds()):
                outcome = await single.run()
        except TimeoutError:
            self._deps.observing.pass_broke(timed_out=True)
            return await single.give_up(Failed("PassTimeout", f"the pass took longer than {limit}"))
        except (UnreadableObjectError, RemoteUnavailableError) as error:  # a child, read by us
            return await single.give_up(failure_of(error))
        else:
            complete = True
            return outcome
        finally:
            single.end(complete=complete)

    async def _read(self, ref: ObjectRef) -> Json | None:
        """Return the cached object; if the last write got no clear answer, read it live."""
        if self._deps.applicator.is_unknown(ref):
            return await self._deps.applicator.read(ref)
        return self._deps.objects.get(ref)

    def forget(self, key: ObjectRef) -> None:
        """Drop everything that is remembered about an object that is gone or no longer handled."""
        self._deps.forget(key)
        self._overtook.discard(key)

    def _disappeared(self, turn: Turn[ObjectRef], obj: Json) -> Outcome | None:
        """Return None, or a retry while the cache has the object of which the server says 404.

        Usually its watch event is under way.  But a server that does not serve the kind for a moment
        says 404, too: the object then does not change, so no event would cause another pass.
        """
        cached = self._deps.objects.get(turn.key)
        is_there = cached is not None and uid_of(cached) == uid_of(obj)
        return Outcome(backoff=True) if is_there else None

    async def _absent(self, turn: Turn[ObjectRef], log: Logger) -> Outcome | None:
        self.forget(turn.key)
        related = any(cause.relation == "relative" for cause in turn.causes)
        if not (self._deps.controller.options.create_if_not_found and related):
            return None
        wanted = self._deps.controller.create(turn.key.namespace, turn.key.name)
        try:
            query = write_query(self._deps.controller.name)
            request = Request(Verb.CREATE, turn.key, manifest_of(wanted), query=query)
            await self._deps.applicator.send(request)
        except ConflictError:
            return None  # it was created meanwhile: its watch event triggers the pass
        log.info("created", why=", ".join(map(str, turn.causes)))
        return None

    def _unavailable(self, turn: Turn[ObjectRef], error: MyrmidonError, log: Logger) -> Outcome:
        """Return a failure to be retried; it is only logged, because the object was not read."""
        said = refusal(turn.key, error)
        log.warning("pass failed", reason=said.reason, error=said.message, retry=True)
        after = said.after if isinstance(said, Wait) else None
        return Outcome(failure=Failed(said.reason, said.message), after=after, backoff=True)

    def _report_unreadable(
        self, ref: ObjectRef, error: UnreadableObjectError, log: Logger
    ) -> Outcome:
        """Record an Event about an object that cannot be decoded; do nothing until it changes.

        An Event, because writing its status could lose the conditions of other writers.
        """
        failure = failure_of(error)
        log.warning("pass failed", reason=failure.reason, error=failure.message, retry=False)
        meta = {"name": ref.name, "namespace": ref.namespace, "uid": error.uid}
        named: Json = {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "metadata": meta}
        self._deps.record_event(named, "Warning", failure.reason, failure.message)
        return Outcome(failure=failure)

    async def _quarantine(
        self, ref: ObjectRef, obj: Json, error: UnfitObjectError, log: Logger
    ) -> tuple[Outcome, Json]:
        """Write to the status which fields are not valid for the model; other objects go on."""
        self._deps.readers.forget(ref)  # no state ran, so nothing was read
        failed = Outcome(failure=Failed("InvalidObject", "; ".join(error.problems), retry=False))
        controller, now = self._deps.controller, self._deps.clock.now()
        hint, token = "", token_of(obj)
        if is_deleting(obj):
            hint = remedy(ref)
            said = f"its finalizer cannot run, because {error}; {hint}"
            self._deps.record_event(obj, "Warning", "InvalidObject", said)

        home, subject = self._deps.home, Subject(self._deps, ref, obj, log)
        if home.conditions is None:
            subject.event("Warning", "InvalidObject", str(error))
            return failed, obj

        def status(obj: Json) -> Json:
            options = controller.options
            made = status_after(
                failed,
                controller.graph,
                home.seen(obj),
                now=now,
                own_fields={LAST_HANDLED: token} if token else None,
                ready=options.ready_condition,
                hint=hint,
                kstatus=options.kstatus,
            )
            made.pop("resourceRefs", None)  # the recorded children stay
            return home.fitting(made, self._deps.own_conditions)

        outcome = await write_status(subject, home.conditions, status, failed)
        if subject.moved:
            self._again(ref)  # another writer changed it: it may be valid now
        return outcome, subject.obj

    def _tell_warnings(self, ref: ObjectRef, obj: Json, log: Logger) -> None:
        """Log the warnings of the API server during the pass, and record them as Events."""
        by = author(self._deps.controller.name, ref)
        for about, text in self._deps.applicator.warnings.take(by):
            log.warning("the API server warns", output=about, warning=text)
            self._deps.record_event(obj, "Warning", "ApiWarning", f"{about}: {text}")

    def _set_gauges(self, turn: Turn[ObjectRef], obj: Json, outcome: Outcome | None) -> None:
        """Set the metrics of the object's state; drop them if the object was released."""
        if outcome is not None and outcome.released:
            self._deps.forget(turn.key)
            return
        home = self._deps.home
        if is_deleting(obj):
            status = "Deleted"
        elif home.conditions is None:
            status = ready_of(outcome).status if outcome is not None else "Unknown"
        else:
            status = status_of(obj if home.is_plain else home.seen(obj), READY)
        self._deps.observing.shows(turn.key, status, suspended=is_suspended(obj))

    def _report(
        self, turn: Turn[ObjectRef], generation: int, outcome: Outcome | None, log: Logger
    ) -> None:
        """Count the result of the pass, and log its failure."""
        if outcome is None:
            return
        failed = outcome.failure is not None
        if failed or outcome.ended:
            now = self._deps.clock.monotonic()
            self._deps.observing.processed(
                turn.key, generation, turn.added_at, now, success=not failed
            )
        errors = self._deps.errors
        if not failed:
            errors.forget(turn.key)
            return
        if any(_raised(failure) is not None for failure in outcome.failures):
            self._deps.observing.pass_broke(timed_out=False)
        for failure, state in zip(outcome.failures, _failed_states(outcome), strict=False):
            raised = _raised(failure)
            facts = {
                "state": state,
                "reason": failure.reason,
                "error": failure.message,
                "retry": failure.retry,
            }
            if raised is not None and errors.report(turn.key, state, raised) == 0:
                log.crash("pass failed", raised, **facts)
            else:
                log.warning("pass failed", **facts)


def _failed_states(outcome: Outcome) -> Iterator[str]:
    """Return the states of the failures, in their order, then the last state that ran."""
    yield from (visit.state.name for visit in outcome.visits if visit.failed)
    yield from repeat(outcome.visits[-1].state.name if outcome.visits else "")


def _raised(failure: Failed) -> BaseException | None:
    """Return the exception that a state raised; None for failures that need no traceback."""
    return failure.error.__cause__ if isinstance(failure.error, UnexpectedError) else None
