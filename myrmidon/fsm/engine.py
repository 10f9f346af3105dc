"""Walk: decides, step by step, what one pass over an object does.

A pass runs states, writes their outputs, and adds or removes the finalizer.  All of that needs the
network; deciding what comes next does not.  So a ``Walk`` only decides: ``walk.action`` says what
to do now, the driver (``runtime.reconcile.passes``) does it and passes the answer to
``walk.report``, which returns the next action.  That goes on until the action is Skip or Finish.

    action              is answered by
    ------------------  -------------------------------------------------------------
    Skip(reason)        no answer: the pass is over and nothing may be written
    EnsureFinalizer     Acted() when the server has confirmed it, else Wait or Failed
    Enter(state)        the state's result: Done, Wait or Failed
    Write(state)        Acted() when its outputs are written, else Wait or Failed
    ReleaseFinalizer    Acted() when the server has confirmed it, else Wait or Failed
    Finish(outcome)     no answer: the pass is over, and its status is computed from the outcome

These rules hold for every pass, and this file alone enforces them:

1. Every pass starts at the initial state, or at the finalizer start if the object is being deleted.
2. If the graph has a finalizer start, the finalizer is on the object before the first state runs.
   So it is with the policy ``orphan``.  With ``observe`` it is not added; with either of the two a
   deletion runs no states (``fsm.declaration.policies``).
3. A state's outputs are written before the next state runs, and only if the state returned Done or
   a Wait with ``keep_outputs``.
4. The finalizer is removed only after the finalizer graph has reached an end and no state of the
   pass asked for a recheck.
5. A state that goes to an undeclared next state fails before any of its outputs are written.
6. A Wait, a Failed or a pause ends the walk; inside a fork it ends the branch, and the other
   branches are walked (``fsm.forks`` decides which state comes next).

A walk does no I/O and reads no clock, so a test can drive it with a list of answers.  It does not
handle timeouts: a driver that has to stop early calls ``abandon``.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from myrmidon.api.objects.conditions import ConditionValue
from myrmidon.fsm.declaration.policies import Policy
from myrmidon.fsm.machine.forks import Course
from myrmidon.fsm.machine.graph import Graph
from myrmidon.fsm.machine.next_pass import (
    NOTHING_ASKED,
    Attempt,
    Schedule,
    after_failure,
    after_wait,
    with_schedule,
)
from myrmidon.fsm.machine.results import Done, Failed, Result, Wait, value_of
from myrmidon.fsm.machine.states import State, checked_result

# ------------------------------------------------------------------------------- actions


@dataclass(frozen=True, slots=True)
class Skip:
    """End the pass: neither the object, nor its status, nor its children may be written."""

    reason: Literal["suspended", "deleting", "released"]


@dataclass(frozen=True, slots=True)
class EnsureFinalizer:
    """Add the controller's finalizer to the object."""


@dataclass(frozen=True, slots=True)
class Enter:
    """Run the state's method."""

    state: State


@dataclass(frozen=True, slots=True)
class Write:
    """Write the outputs of the state that ran last."""

    state: State


@dataclass(frozen=True, slots=True)
class ReleaseFinalizer:
    """Delete the children that the garbage collector will not, then remove our finalizer."""


class Visit(NamedTuple):
    """A state that this pass ran, and the value that its condition gets."""

    state: State
    value: ConditionValue
    failed: bool = False
    branch: str = ""  # the branch of a fork that the state is in


class Outcome(NamedTuple):
    """The result of a pass: what ran, how it ended, and when to run again."""

    visits: tuple[Visit, ...] = ()
    ended: bool = False  # the walk reached a state without a next state
    released: bool = False  # the finalizer was removed, so the object may be gone
    failure: Failed | None = None
    after: timedelta | None = None  # requeue after this time
    backoff: bool = False  # requeue with a growing delay
    again: Schedule | None = None  # a pass at this time, although nothing is left to do
    others: tuple[Failed, ...] = ()  # failures after the first, of other branches of a fork
    attempt: Attempt | None = None  # of a failure that is or was retried; the runtime sets it

    @property
    def failures(self) -> tuple[Failed, ...]:
        """Every failure, in the order in which they happened."""
        return () if self.failure is None else (self.failure, *self.others)

    @property
    def is_terminal(self) -> bool:
        """Whether the pass failed and is not retried before the object changes."""
        return self.failure is not None and not self.backoff and self.after is None

    @property
    def unsettled(self) -> bool:
        """Whether the pass failed or is not finished.  A schedule (``again``) does not count."""
        return self.failure is not None or self.after is not None or self.backoff


@dataclass(frozen=True, slots=True)
class Finish:
    """End the pass and write the status that follows from the outcome."""

    outcome: Outcome


Action: TypeAlias = Skip | EnsureFinalizer | Enter | Write | ReleaseFinalizer | Finish

# ------------------------------------------------------------------------------- reports


@dataclass(frozen=True, slots=True)
class Acted:
    """The report that the action succeeded."""


Report: TypeAlias = Acted | Result

ACTED = Acted()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DONE = Done()
_enter, _write = lru_cache(1024)(Enter), lru_cache(1024)(Write)  # equal in every pass, so shared
_STOPS = (
    Wait,
    Failed,
)  # a tuple, because isinstance() with ``Wait | Failed`` builds the union each time


class Walk:
    """The decisions of one pass, from its first action to ``Skip`` or ``Finish``."""

    _course: Course | None = None  # only in a graph with forks

    def __init__(
        self,
        controller: str,
        graph: Graph,
        *,
        finalizer: str,
        finalizers: Collection[str] = (),
        deleting: bool = False,
        suspended: bool = False,
        policy: Policy = "manage",
        now: datetime = _EPOCH,
    ) -> None:
        """``now`` is when the pass began: ``again`` counts from it."""
        self._controller, self._graph, self._deleting = controller, graph, deleting
        self._policy, self._now = policy, now
        self._result: Result = _DONE
        self._visits: list[Visit] = []
        self._ended = False
        self._ending = NOTHING_ASKED
        if graph.forks:
            self._course = Course(graph.forks)
        self.action: Action = self._first(finalizer in finalizers, suspended)

    def report(self, report: object) -> Action:
        """Take the answer to the last action; return the next one."""
        match self.action:
            case Enter(state):
                self.action = self._entered(
                    state, checked_result(self._controller, state, report, self._deleting)
                )
            case Write(state):
                self.action = self._written(state, report)
            case EnsureFinalizer():
                self.action = self._acted(report, then=self._start())
            case ReleaseFinalizer():
                self.action = self._acted(report, then=Finish(self._outcome(released=True)))
            case _:  # Skip or Finish
                raise AssertionError(f"reported {report!r} after {self.action!r}")
        return self.action

    def abandon(self, failure: Failed) -> Finish:
        """End the walk at its current action, because the driver cannot continue."""
        match self.action:
            case Enter(state) | Write(state):
                self._stop_at(state, failure)
            case _:
                pass
        finish = self._finish(failure)
        self.action = finish
        return finish

    # ------------------------------------------------------------------------ decisions

    def _first(self, has_finalizer: bool, suspended: bool) -> Action:
        if self._deleting and not has_finalizer:
            return Skip("released" if self._graph.finalizer else "deleting")
        if suspended:
            return Skip("suspended")
        manages = self._policy == "manage"
        if self._deleting and (self._graph.finalizer is None or not manages):
            return ReleaseFinalizer()  # set because of children without owner references
        if not has_finalizer and (self._graph.finalizer if manages else self._policy == "orphan"):
            return EnsureFinalizer()
        return self._start()

    def _start(self) -> Enter:
        return _enter(self._graph.start(deleting=self._deleting))

    def _entered(self, state: State, result: Result) -> Action:
        self._result = result
        if isinstance(result, Done) or (isinstance(result, Wait) and result.keep_outputs):
            return _write(state)
        return self._stopped(state, result)

    def _written(self, state: State, report: object) -> Action:
        if not isinstance(report, Acted):
            assert isinstance(report, _STOPS), f"{report!r} is not an answer to Write"
            return self._stopped(state, report)
        result = self._result
        if not isinstance(result, Done):
            return self._stopped(state, result)
        course = self._course
        if course is None:
            self._visits.append(Visit(state, value_of(result)))
        else:
            self._visits.append(Visit(state, value_of(result), False, course.branch))
        if result.pause is not None:
            return self._halted(result.pause)
        if result.recheck is not None:
            self._ending = after_wait(self._ending, result.recheck)
        if result.again is not None:
            self._ending = with_schedule(self._ending, result.again, self._now, state.name)
        if course is not None:
            return self._go_on(course.after(state, result.goto))
        if state.then:
            return _enter(self._graph.states[result.goto or state.then[0]])
        return self._arrived()

    def _stopped(self, state: State, result: Wait | Failed) -> Action:
        self._stop_at(state, result)
        return self._halted(result)

    def _halted(self, result: Wait | Failed) -> Action:
        """End the walk, or only the branch: then go on with the next one."""
        if self._course is None:
            return self._finish(result)
        self._take(result)
        return self._go_on(self._course.after_stop())

    def _go_on(self, following: str | None) -> Action:
        assert self._course is not None
        if following is not None:
            return _enter(self._graph.states[following])
        return Finish(self._outcome()) if self._course.stopped else self._arrived()

    def _stop_at(self, state: State, result: Wait | Failed) -> None:
        """Note a state that waits or failed, with the branch that it is in."""
        value = ConditionValue("False", result.reason, result.message)
        branch = "" if self._course is None else self._course.branch
        self._visits.append(Visit(state, value, isinstance(result, Failed), branch))

    def _arrived(self) -> Action:
        self._ended = True
        outcome = self._outcome()
        if self._deleting and not outcome.unsettled:
            return ReleaseFinalizer()
        return Finish(outcome)

    def _acted(self, report: object, then: Action) -> Action:
        """Return ``then`` if the finalizer was added or removed; otherwise finish the pass."""
        if isinstance(report, _STOPS):
            return self._finish(report)
        assert isinstance(report, Acted), f"{report!r} is not an answer to {self.action!r}"
        return then

    # ------------------------------------------------------------------------ the outcome

    def _finish(self, result: Wait | Failed) -> Finish:
        self._take(result)
        return Finish(self._outcome())

    def _take(self, result: Wait | Failed) -> None:
        """Take note of what ended the walk or a branch."""
        if isinstance(result, Wait):
            self._ending = after_wait(self._ending, result)
        else:
            in_branch = self._course is not None and self._course.branch != ""
            self._ending = after_failure(self._ending, result, in_branch=in_branch)

    def _outcome(self, *, released: bool = False) -> Outcome:
        return Outcome(tuple(self._visits), self._ended, released, *self._ending)


def unfinished(outcome: Outcome, report: Wait | Failed) -> Outcome:
    """Return the outcome of a pass whose walk finished, but whose later work did not succeed.

    That work is the framework's own: deleting children, pruning, building or writing the status.
    """
    after = report.after if isinstance(report, Wait) else None
    if isinstance(report, Failed) and not report.retry:
        return Outcome(visits=outcome.visits, failure=report, again=outcome.again)
    return Outcome(
        visits=outcome.visits,
        ended=False,
        failure=report if isinstance(report, Failed) else outcome.failure,
        after=after if outcome.after is None else outcome.after,
        backoff=outcome.backoff or after is None,
        again=outcome.again,
        others=outcome.failures if isinstance(report, Failed) else outcome.others,
        attempt=outcome.attempt,
    )
