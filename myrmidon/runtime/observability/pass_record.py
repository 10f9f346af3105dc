"""PassRecord: one finished pass over one object, as the recorder keeps it.

Recording happens in every pass, reading only when a person looks.  So a record keeps references to
values that the pass has made anyway (its outcome, the causes of its turn), and
texts, differences and the time of the next pass are made from them on request.  It never keeps a
``Failed``: its exception would keep the frames of the state alive.

The size of a record is estimated with functions that are written in C (``sum``, ``map``, ``len`` and
getters), because a loop over the states and writes would cost as much as all the rest.
"""

from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.values.texts import condition_message
from myrmidon.fsm.context import Cause
from myrmidon.fsm.engine import Outcome, Visit
from myrmidon.runtime.observability import kept_writes
from myrmidon.runtime.observability.kept_writes import NONE, Bodies, KeptWrites
from myrmidon.runtime.observability.snapshot import Step, Wrote

Key: TypeAlias = tuple[str, ObjectRef]
"""The name of a controller, and one of its objects."""

_RECORD_BYTES, _VISIT_BYTES, _CAUSE_BYTES = 700, 130, 120
_message = attrgetter("value.message")


class NextPass(NamedTuple):
    """When the next pass follows without a watch event: after ``seconds``, or at ``at``."""

    seconds: float | None = None
    at: datetime | None = None
    backoff: bool = False
    state: str = ""
    """The state that asked for it with ``Done(again=...)``."""


_UNKNOWN = NextPass()


class PassRecord:
    """One pass; ``repeats`` more followed with the same result and without a write."""

    __slots__ = (
        "_kept",
        "_next_pass",
        "_outcome",
        "at",
        "bytes",
        "causes",
        "failure",
        "key",
        "number",
        "quiet_visits",
        "repeats",
        "seconds",
        "spared",
        "state_seconds",
    )

    number: int
    """Its number in the stream, which the recorder gives."""

    def __init__(
        self,
        key: Key,
        at: datetime,
        seconds: float,
        causes: Sequence[Cause],
        outcome: Outcome | None,
        *,
        state_seconds: Sequence[float] = (),
        kept: KeptWrites = NONE,
        failure: str = "",
    ) -> None:
        """``failure`` is the text of an exception that ended the pass without an outcome."""
        self.key, self.at, self.seconds, self.causes = key, at, seconds, causes
        self._kept, self.state_seconds = kept, state_seconds
        self.repeats, self.spared, self.failure = 0, False, failure
        self._outcome, size = outcome, _RECORD_BYTES + kept[3] + len(failure)
        self.quiet_visits: tuple[Visit, ...] | None = None
        """The visits of a pass without a write and without a failure; a pass with equal ones repeats it."""
        self._next_pass: NextPass | None = None
        if outcome is not None:
            visits = outcome.visits
            size += _VISIT_BYTES * len(visits) + sum(map(len, map(_message, visits)))
            if outcome.failure is not None:
                self._keep_in_words(outcome)
                size += len(self.failure)
            elif kept is NONE and not outcome.released:
                self.quiet_visits = visits
        self.bytes = size + _CAUSE_BYTES * len(causes)
        """About how much memory the record holds; rather too much than too little."""

    def _keep_in_words(self, outcome: Outcome) -> None:
        """Keep the text of a failure instead of its exception."""
        assert outcome.failure is not None
        self.failure = f"{outcome.failure.reason}: {outcome.failure.message}"
        self._next_pass = next_pass_of(outcome)
        self._outcome = Outcome(outcome.visits, released=outcome.released)

    @property
    def controller(self) -> str:
        """The name of the controller."""
        return self.key[0]

    @property
    def ref(self) -> ObjectRef:
        """The object."""
        return self.key[1]

    @property
    def visits(self) -> tuple[Visit, ...]:
        """The states that the pass ran, with their results."""
        return () if self._outcome is None else self._outcome.visits

    @property
    def skipped(self) -> bool:
        """Whether the pass ran no state: the object is suspended, or gone."""
        return self._outcome is None and not self.failure

    @property
    def released(self) -> bool:
        """Whether the pass removed the finalizer."""
        return self._outcome is not None and self._outcome.released

    @property
    def next_pass(self) -> NextPass:
        """When the next pass follows."""
        if self._next_pass is not None or self._outcome is None:
            return self._next_pass or _UNKNOWN
        return next_pass_of(self._outcome)

    @property
    def writes(self) -> tuple[Wrote, ...]:
        """The writes of the pass, in the order of their answers."""
        return kept_writes.wrotes(self._kept, self.at)

    @property
    def bodies(self) -> list[Bodies]:
        """The objects before and after each write, decoded anew."""
        return kept_writes.bodies(self._kept)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The states that the pass ran, in their order."""
        return tuple(
            Step(
                visit.state.name,
                visit.state.condition,
                visit.value.status,
                visit.value.reason,
                condition_message(visit.value.message),
                visit.branch,
            )
            for visit in self.visits
        )


def next_pass_of(outcome: Outcome) -> NextPass:
    """Return when the next pass follows, as the outcome asks."""
    if not outcome.unsettled:
        again = outcome.again
        return _UNKNOWN if again is None else NextPass(at=again.at, state=again.state)
    attempt = outcome.attempt
    if attempt is not None and attempt.delay is not None:
        return NextPass(attempt.delay, backoff=True)
    seconds = outcome.after.total_seconds() if outcome.after is not None else None
    return NextPass(seconds, backoff=outcome.backoff)
