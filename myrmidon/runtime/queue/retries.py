"""Retries: judges the failures of a controller's objects and counts them.

A pass asks it about its outcome before the status is written, because the status says when the next
attempt follows, or that none does.  The worker then requeues the object by the same delay.  The
decisions are in ``fsm.retry_limits``; this class remembers the series and the backoff per object.
"""

from collections.abc import Callable

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.fsm.engine import Outcome
from myrmidon.fsm.machine.next_pass import Attempt
from myrmidon.fsm.metadata.reconcile_request import Revision
from myrmidon.fsm.status.retry_limits import (
    RetryLimits,
    Series,
    continued,
    given_up,
    is_exhausted,
    reason_to_give_up,
)
from myrmidon.runtime.queue.backoff import Backoff


class Retries:
    """The failures in a row of each object, and the delay before its next attempt."""

    def __init__(
        self,
        backoff: Backoff[ObjectRef],
        limits: RetryLimits,
        monotonic: Callable[[], float],
        gave_up: Callable[[ObjectRef, str], None] = lambda _ref, _said: None,
    ) -> None:
        """``gave_up`` is called once for each series whose retries end, with the reason."""
        self.backoff = backoff
        self._limits, self._monotonic, self._gave_up = limits, monotonic, gave_up
        self._series: dict[ObjectRef, Series] = {}

    def judged(self, ref: ObjectRef, outcome: Outcome, revision: Revision) -> Outcome:
        """Return the outcome with its ``attempt``; without retries if the limit is reached."""
        if outcome.failure is None or not outcome.backoff:
            if self._series:
                self._series.pop(ref, None)
            return outcome
        now = self._monotonic()
        series = self._series[ref] = continued(self._series.get(ref), revision, now)
        if not is_exhausted(series, self._limits, now):
            delay = self.backoff.failed(ref, revision)
            return outcome._replace(attempt=Attempt(series.failures, delay))
        said = f"{reason_to_give_up(series, self._limits)}; {_way_on(ref)}"
        if not series.is_over:
            self._series[ref] = series._replace(is_over=True)
            self._gave_up(ref, said)
        return given_up(outcome, said)._replace(attempt=Attempt(series.failures, None, said))

    def forget(self, ref: ObjectRef) -> None:
        """Drop what is remembered about an object that is gone."""
        self._series.pop(ref, None)


def _way_on(ref: ObjectRef) -> str:
    """Return what a person can do after the retries of an object were given up."""
    kind = f"{ref.kind.plural}.{ref.kind.group}".rstrip(".")
    where = f" -n {ref.namespace}" if ref.namespace else ""
    return f"change the object, or run `myrmidon reconcile {kind} {ref.name}{where}`, to try again"
