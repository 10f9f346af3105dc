"""Observing: records the metrics of one controller: its passes, states, writes and queue."""

from typing import Any

from myrmidon.api.objects.accessors import Json, ref_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.values.texts import event_reason
from myrmidon.fsm.context import Cause
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.engine import Outcome
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.queue.queue import Turn, Urgency, WorkQueue


class Observing:
    """Records the metrics of one controller.

    Series are looked up once and gauges are set only when they change, so that counting a pass over
    a converged object does not cost more than the pass.
    """

    def __init__(self, controller: type[Controller[Any]], metrics: Metrics) -> None:
        self.metrics = metrics
        self._name, self._kind = controller.name, controller.kind()
        self.state_timers = {
            state: metrics.state_seconds.labels(*self._kind[:3], state).observe
            for state in controller.graph.states
        }
        """For each state what takes the seconds of one run."""
        self._results = {
            result: metrics.reconcile_total.labels(controller.name, result)
            for result in ("success", "error", "requeue", "requeue_after")
        }
        self._pass_seconds = metrics.reconcile_seconds.labels(controller.name)
        self._active = metrics.workers_active.labels(controller.name)
        self._adds = metrics.queue_adds.labels(controller.name, controller.name)
        self._retries = metrics.queue_retries.labels(controller.name, controller.name)
        self._queued_seconds = metrics.queue_seconds.labels(controller.name, controller.name)
        self._work_seconds = metrics.work_seconds.labels(controller.name, controller.name)
        self._writes: dict[tuple[str, str, str], Any] = {}
        self._shown: dict[ObjectRef, tuple[str, bool]] = {}
        self._begun: dict[ObjectRef, tuple[int, float, frozenset[bool]]] = {}
        metrics.start_controller(controller.name, controller.options.workers)
        for kind in controller.managed_kinds:  # so that rates work from the start
            metrics.drift_corrections.labels(controller.name, kind.kind)

    @property
    def passes(self) -> int:
        """How many passes have ended."""
        return int(sum(result.count for result in self._results.values()))

    @property
    def errors(self) -> int:
        """How many passes have failed."""
        return int(self.metrics.reconcile_errors.labels(self._name).count)

    def state_ran(self, state: str, seconds: float) -> None:
        """Record how long one run of a state took."""
        self.state_timers[state](seconds)

    def wrote(self, kind: str, verb: str, outcome: str) -> None:
        """Count an output by the outcome of its write."""
        key = (kind, verb, outcome)
        counter = self._writes.get(key)
        if counter is None:
            counter = self._writes[key] = self.metrics.writes.labels(*key)
        counter.inc()

    def corrected(self, kind: str, seconds: float) -> None:
        """Count a write that corrected drift, of an output that was as declared for ``seconds``."""
        self.metrics.drift_corrections.labels(self._name, kind).inc()
        self.metrics.drift_seconds.labels(self._name, kind).observe(seconds)

    def triggered(self, ref: ObjectRef, cause: Cause) -> None:
        """Count a watch event, or another cause, that triggered a pass."""
        source = cause.ref.kind if cause.ref else ref.kind
        self.metrics.triggered(source, ref, cause.event, cause.relation, self._name)

    def added(self, *, delayed: bool) -> None:
        """Count a key that was added to the queue."""
        (self._retries if delayed else self._adds).inc()

    def pass_began(self, turn: Turn[ObjectRef], now: float) -> None:
        """Record that a worker took a key, and how long the key was due."""
        self._queued_seconds.observe(max(now - max(turn.due_at, turn.added_at), 0.0))

    def pass_ended(self, outcome: Outcome | None, seconds: float, *, broken: bool = False) -> None:
        """Record the end of a pass: its duration and result."""
        self._pass_seconds.observe(seconds)
        self._work_seconds.observe(seconds)
        self._results["error" if broken else result_of(outcome)].inc()
        if broken or (outcome is not None and outcome.failure is not None):
            self.metrics.reconcile_errors.labels(self._name).inc()
            if outcome is not None and outcome.failure is not None and not outcome.failure.retry:
                self.metrics.terminal_errors.labels(self._name).inc()

    def pass_broke(self, *, timed_out: bool) -> None:
        """Count a pass that ended with an exception, or with ``timed_out`` at its time limit."""
        counter = self.metrics.timeouts if timed_out else self.metrics.panics
        counter.labels(self._name).inc()

    def gave_up(self) -> None:
        """Count an object whose retries were given up."""
        self.metrics.retries_given_up.labels(self._name).inc()

    def queue_looked_at(self, queue: WorkQueue[ObjectRef], now: float) -> None:
        """Set the gauges of the queue and of the busy workers, for a scrape."""
        self._active.set(len(queue.working))
        ages = [now - since for since in queue.working.values()]
        self.metrics.unfinished_seconds.labels(self._name, self._name).set(sum(ages))
        self.metrics.longest_seconds.labels(self._name, self._name).set(max(ages, default=0.0))
        for urgency in Urgency:
            depth = self.metrics.queue_depth.labels(self._name, self._name, urgency.name.lower())
            depth.set(queue.depth(urgency))

    def processed(
        self, ref: ObjectRef, generation: int, since: float, now: float, *, success: bool
    ) -> None:
        """Record the time from a generation's first event to its first success or failure."""
        known = self._begun.get(ref)
        if known is None or known[0] != generation:
            known = (generation, since, frozenset())
        if success not in known[2]:
            self.metrics.processing_seconds.labels(*self._kind[:3], str(success).lower()).observe(
                max(now - known[1], 0.0)
            )
            known = (generation, known[1], known[2] | {success})
        self._begun[ref] = known

    def shows(self, ref: ObjectRef, status: str, *, suspended: bool) -> None:
        """Set the gauges of an object: the status of Ready, and whether it is suspended."""
        if self._shown.get(ref) == (status, suspended):
            return
        if suspended or self._shown.get(ref, ("", False))[1]:
            self.metrics.suspension_of(ref, suspended)
        self.metrics.readiness_of(ref, status)
        self._shown[ref] = (status, suspended)

    def is_ready(self, ref: ObjectRef) -> bool:
        """Whether the gauge of the object shows that its last pass left it Ready."""
        return self._shown.get(ref, ("", False))[0] == "True"

    def recorded_event(self, obj: Json, event_type: str, reason: str) -> None:
        """Count a Kubernetes Event.  Labels are cleaned: one bad value would break /metrics."""
        shown = event_reason(event_type), event_reason(reason)
        self.metrics.recorded(ref_of(self._kind, obj), *shown, self._name)

    def forget(self, ref: ObjectRef) -> None:
        """Remove the series of an object that is gone."""
        self._begun.pop(ref, None)
        self._shown.pop(ref, None)
        self.metrics.forget(ref)


def result_of(outcome: Outcome | None) -> str:
    """Return the result of a pass in the words of controller-runtime."""
    if outcome is None:
        return "success"
    if outcome.failure is not None:
        return "error"
    if outcome.after is not None:
        return "requeue_after"
    return "requeue" if outcome.backoff else "success"
