"""PassRecord: one finished pass over one object, as the recorder keeps it.

Recording happens in every pass, reading only when a person looks.  So a record keeps references to
values that the pass has made anyway (the visits of its outcome, the causes of its turn), and texts
are made from them on request.  It never keeps a ``Failed``: its exception would keep the frames of
the state alive.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.values.texts import condition_message
from myrmidon.fsm.context import Cause
from myrmidon.fsm.engine import Outcome, Visit
from myrmidon.runtime.observability.snapshot import Step, Wrote
from myrmidon.runtime.observability.under_way import WriteNote

_RECORD_BYTES, _VISIT_BYTES, _CAUSE_BYTES, _WRITE_BYTES = 700, 130, 120, 500


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
        "at",
        "bytes",
        "causes",
        "controller",
        "failure",
        "is_quiet",
        "next_pass",
        "notes",
        "number",
        "ref",
        "released",
        "repeats",
        "seconds",
        "skipped",
        "spared",
        "state_seconds",
        "visits",
    )

    def __init__(
        self,
        controller: str,
        ref: ObjectRef,
        *,
        at: datetime,
        seconds: float,
        causes: Sequence[Cause],
        outcome: Outcome | None,
        state_seconds: Sequence[float] = (),
        writes: Sequence[WriteNote] = (),
        failure: str = "",
    ) -> None:
        """``failure`` is the text of an exception that ended the pass without an outcome."""
        self.controller, self.ref, self.at, self.seconds = controller, ref, at, seconds
        self.causes: Sequence[Cause] = causes
        self.notes, self.state_seconds = tuple(writes), tuple(state_seconds)
        self.number = self.repeats = 0
        self.spared, self.skipped = False, outcome is None and not failure
        self.failure, size = failure, _RECORD_BYTES + _CAUSE_BYTES * len(causes)
        self.visits: tuple[Visit, ...] = ()
        self.next_pass, self.released = _UNKNOWN, False
        if outcome is not None:
            self.visits, self.released = outcome.visits, outcome.released
            if outcome.failure is not None:
                self.failure = f"{outcome.failure.reason}: {outcome.failure.message}"
            if outcome.again is not None or outcome.unsettled:
                self.next_pass = next_pass_of(outcome)
        self.is_quiet = not (writes or self.failure or self.skipped or self.released)
        for visit in self.visits:
            size += _VISIT_BYTES + len(visit.value.message)
        for note in writes:
            size += _WRITE_BYTES + len(note[4]) + len(note[7]) + len(note[8])
        self.bytes = size + len(self.failure)
        """About how much memory the record holds; rather too much than too little."""

    @property
    def writes(self) -> tuple[Wrote, ...]:
        """The writes of the pass, in the order of their answers."""
        return tuple(Wrote(*note) for note in self.notes)

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
    if outcome.again is not None and not outcome.unsettled:
        return NextPass(at=outcome.again.at, state=outcome.again.state)
    attempt = outcome.attempt
    if attempt is not None and attempt.delay is not None:
        return NextPass(attempt.delay, backoff=True)
    seconds = outcome.after.total_seconds() if outcome.after is not None else None
    return NextPass(seconds, backoff=outcome.backoff)
