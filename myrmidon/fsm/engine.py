"""Walk: one pass through a machine, as a conversation of values.

The walk hands out an action, whoever drives it acts and reports, and the walk hands out the next:

    action              is answered by
    ------------------  -------------------------------------------------------------
    Skip(reason)        nothing: the pass is over and nothing may be written
    EnsureFinalizer     Acted() when the server has confirmed it, else Wait or Failed
    Enter(state)        the state's result: Done, Wait or Failed
    Write(state)        Acted() when its outputs are written, else Wait or Failed
    ReleaseFinalizer    Acted() when the server has confirmed it, else Wait or Failed
    Finish(outcome)     nothing: the status is written from the outcome

Rules, all of them here:

1. Every pass starts at the initial state, or at the finalizer start if the object is being deleted.
2. The finalizer is in place before the first state is entered.
3. A state's outputs are written before the next state is entered, and only if it was Done or kept
   them on purpose.
4. The finalizer is released only when the finalizer graph has come to an end with nothing to
   recheck.
5. An undeclared edge stops the walk before anything of that state is written.

The walk does no I/O and keeps no clock; a test drives it with a list.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from myrmidon.api.conditions import ConditionValue
from myrmidon.errors import StateResultError, UndeclaredEdgeError
from myrmidon.fsm.graph import Graph
from myrmidon.fsm.results import Done, Failed, Result, Wait
from myrmidon.fsm.states import State

# ------------------------------------------------------------------------------- actions


@dataclass(frozen=True, slots=True)
class Skip:
    """Nothing is to be done and nothing may be written."""

    reason: Literal["suspended", "deleting", "released"]


@dataclass(frozen=True, slots=True)
class EnsureFinalizer:
    """Put our finalizer on the object."""


@dataclass(frozen=True, slots=True)
class Enter:
    """Run the state's method."""

    state: State


@dataclass(frozen=True, slots=True)
class Write:
    """Write the outputs of the state that was entered last."""

    state: State


@dataclass(frozen=True, slots=True)
class ReleaseFinalizer:
    """Delete the children that nobody else would, then take our finalizer off: the object may go."""


class Visit(NamedTuple):
    """A state that this pass ran, and what its condition says now."""

    state: State
    value: ConditionValue
    failed: bool = False


class Outcome(NamedTuple):
    """How a pass went."""

    visits: tuple[Visit, ...] = ()
    ended: bool = False  # the walk reached an end of the graph
    released: bool = False  # the finalizer is gone, and so may the object be
    failure: Failed | None = None
    after: timedelta | None = None  # look again after this time
    backoff: bool = False  # look again after a growing delay

    @property
    def unsettled(self) -> bool:
        """Whether something failed or is to be looked at again."""
        return self.failure is not None or self.after is not None or self.backoff


@dataclass(frozen=True, slots=True)
class Finish:
    """The walk is over."""

    outcome: Outcome


Action: TypeAlias = Skip | EnsureFinalizer | Enter | Write | ReleaseFinalizer | Finish

# ------------------------------------------------------------------------------- reports


@dataclass(frozen=True, slots=True)
class Acted:
    """What was asked for is done."""


Report: TypeAlias = Acted | Result

ACTED = Acted()
_TRUE = ConditionValue("True", "Done")
_DONE = Done()
_enter, _write = lru_cache(1024)(Enter), lru_cache(1024)(Write)  # every pass takes the same ones
# Tuples made once: a union is made anew for each question, and a walk asks many.
_RESULTS, _STOPS = (Done, Wait, Failed), (Wait, Failed)


class Walk:
    """The path of one pass, from its first action to ``Skip`` or ``Finish``."""

    def __init__(
        self,
        controller: str,
        graph: Graph,
        *,
        finalizer: str,
        finalizers: Collection[str] = (),
        deleting: bool = False,
        suspended: bool = False,
    ) -> None:
        self._controller, self._graph, self._deleting = controller, graph, deleting
        self._result: Result = _DONE
        self._visits: list[Visit] = []
        self._ended = False
        self._failure: Failed | None = None
        self._after: timedelta | None = None
        self._backoff = False
        self.action: Action = self._first(finalizer in finalizers, suspended)

    def report(self, report: object) -> Action:
        """Take the answer to the last action; return the next one."""
        match self.action:
            case Enter(state):
                self.action = self._entered(state, self._checked(state, report))
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
        """End the walk where it stands: whoever drives it cannot go on."""
        match self.action:
            case Enter(state) | Write(state):
                finish = self._stopped(state, failure)
            case _:
                finish = self._finish(failure)
        self.action = finish
        return finish

    # ------------------------------------------------------------------------ decisions

    def _first(self, has_finalizer: bool, suspended: bool) -> Action:
        if self._deleting and not has_finalizer:
            return Skip("released" if self._graph.finalizer else "deleting")
        if suspended:
            return Skip("suspended")
        if self._deleting and self._graph.finalizer is None:
            return ReleaseFinalizer()  # it was there for the children that only we can delete
        if self._graph.finalizer and not has_finalizer:
            return EnsureFinalizer()
        return self._start()

    def _start(self) -> Enter:
        return _enter(self._graph.start(deleting=self._deleting))

    def _checked(self, state: State, report: object) -> Result:
        """The result, or the failure that stands for one that nobody could follow."""
        if not isinstance(report, _RESULTS):
            wrong = StateResultError(self._controller, state.name, report)
            return Failed(wrong.reason, wrong, retry=False)
        if isinstance(report, Done) and report.pause is None and self._strays(state, report):
            stray = UndeclaredEdgeError(self._controller, state.name, report.goto, state.then)
            return Failed(stray.reason, stray, retry=False)
        return report

    @staticmethod
    def _strays(state: State, result: Done) -> bool:
        if result.goto is None:
            return len(state.then) > 1
        return result.goto not in state.then

    def _entered(self, state: State, result: Result) -> Action:
        self._result = result
        if isinstance(result, Done) or (isinstance(result, Wait) and result.keep_outputs):
            return _write(state)
        return self._stopped(state, result)

    def _written(self, state: State, report: object) -> Action:
        if not isinstance(report, Acted):
            assert isinstance(report, _STOPS), f"{report!r} answers no Write"
            return self._stopped(state, report)
        result = self._result
        if not isinstance(result, Done):
            return self._stopped(state, result)
        self._visits.append(Visit(state, _value_of(result)))
        if result.pause is not None:
            return self._finish(result.pause)
        if result.recheck is not None:
            self._look_again(result.recheck)
        if state.then:
            return _enter(self._graph.states[result.goto or state.then[0]])
        return self._arrived()

    def _stopped(self, state: State, result: Wait | Failed) -> Finish:
        value = ConditionValue("False", result.reason, result.message)
        self._visits.append(Visit(state, value, failed=isinstance(result, Failed)))
        return self._finish(result)

    def _arrived(self) -> Action:
        self._ended = True
        outcome = self._outcome()
        if self._deleting and not outcome.unsettled:
            return ReleaseFinalizer()
        return Finish(outcome)

    def _acted(self, report: object, then: Action) -> Action:
        """Go on after an act of the framework's own, or finish where it did not succeed."""
        if isinstance(report, _STOPS):
            return self._finish(report)
        assert isinstance(report, Acted), f"{report!r} answers no {self.action!r}"
        return then

    # ------------------------------------------------------------------------ the record

    def _finish(self, result: Wait | Failed) -> Finish:
        if isinstance(result, Wait):
            self._look_again(result)
        else:
            self._failure, self._backoff = result, result.retry
            if not result.retry:
                # Not even for a recheck that an earlier state asked for: it would end here again.
                self._after = None
        return Finish(self._outcome())

    def _look_again(self, wait: Wait) -> None:
        """The soonest of all requests counts."""
        if wait.after is None:
            self._backoff = True
        elif self._after is None or wait.after < self._after:
            self._after = wait.after

    def _outcome(self, *, released: bool = False) -> Outcome:
        return Outcome(
            tuple(self._visits), self._ended, released, self._failure, self._after, self._backoff
        )


def unfinished(outcome: Outcome, report: Wait | Failed) -> Outcome:
    """Return the outcome of a walk after whose last state the framework's own work failed."""
    after = report.after if isinstance(report, Wait) else None
    if isinstance(report, Failed) and not report.retry:
        return Outcome(visits=outcome.visits, failure=report)
    return Outcome(
        visits=outcome.visits,
        ended=False,
        failure=report if isinstance(report, Failed) else outcome.failure,
        after=after if outcome.after is None else outcome.after,
        backoff=outcome.backoff or after is None,
    )


def _value_of(result: Done) -> ConditionValue:
    """What a state's condition says when it is done."""
    if result.condition is not None:
        return result.condition
    if result.recheck is not None:
        return ConditionValue("False", result.recheck.reason, result.recheck.message)
    return _TRUE
