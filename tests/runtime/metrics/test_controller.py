"""Metrics of passes, series by series."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from myrmidon import Failed
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.fsm.context import Cause
from myrmidon.fsm.engine import Outcome
from myrmidon.runtime.metrics.controller import Observing
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.queue.queue import Turn, Urgency, WorkQueue
from tests.runtime.things import Thing, Things

IT = ObjectRef(Thing.KIND, "it", "default")


class Seen:
    """The metrics of one controller, and how to read them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.observing = Observing(Things, Metrics(self.registry))

    def value(self, name: str, **labels: str) -> float | None:
        """Return one series; labels that are not named are ignored, None if it does not exist."""
        found = [
            sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]
        return sum(found) if found else None


events = st.lists(
    st.tuples(st.integers(1, 3), st.booleans(), st.floats(0, 100, allow_nan=False)), max_size=12
)


@given(events=events)
def test_the_first_success_and_the_first_failure_of_a_generation_are_timed_once(
    events: list[tuple[int, bool, float]],
) -> None:
    """Each from the first event of that generation, whatever the number of passes."""
    seen, now, generation = Seen(), 0.0, 0
    begun, expected = 0.0, {True: [0, 0.0], False: [0, 0.0]}
    done: set[bool] = set()
    for step, success, seconds in events:
        since, now = now, now + seconds
        if generation == 0 or step == 3:  # a new generation now and then
            generation, begun, done = generation + 1, since, set()
        if success not in done:
            done.add(success)
            expected[success][0] += 1
            expected[success][1] += now - begun
        seen.observing.processed(IT, generation, since, now, success=success)

    for success, (count, total) in expected.items():
        name, labels = "achilles_processing_duration_seconds", {"success": str(success).lower()}
        assert (seen.value(f"{name}_count", **labels) or 0) == count
        assert (seen.value(f"{name}_sum", **labels) or 0.0) == pytest.approx(total)


def test_a_forgotten_object_is_timed_again() -> None:
    """An object of the same name and generation may be another object."""
    seen = Seen()
    for _ in range(2):
        seen.observing.processed(IT, 1, 0.0, 1.0, success=True)
        seen.observing.forget(IT)

    assert seen.value("achilles_processing_duration_seconds_count", success="true") == 2


FAILED = Failed("Bad", "no")
FINAL = Failed("Bad", "no", retry=False)


@pytest.mark.parametrize(
    ("outcome", "broken", "result", "errors", "terminal"),
    [
        (None, False, "success", 0, 0),
        (Outcome(ended=True), False, "success", 0, 0),
        (Outcome(after=timedelta(1)), False, "requeue_after", 0, 0),
        (Outcome(after=timedelta(1), backoff=True), False, "requeue_after", 0, 0),
        (Outcome(backoff=True), False, "requeue", 0, 0),
        (Outcome(failure=FAILED, backoff=True), False, "error", 1, 0),
        (Outcome(failure=FINAL), False, "error", 1, 1),
        (None, True, "error", 1, 0),
    ],
)
def test_how_a_pass_ended(
    outcome: Outcome | None, broken: Any, result: str, errors: int, terminal: int
) -> None:
    """Each pass has one result; a failure that is not retried is counted as terminal, too."""
    seen = Seen()
    seen.observing.pass_began(Turn(IT, 0.0, 0.0, Urgency.LIVE), 0.0)
    seen.observing.pass_ended(outcome, 2.0, broken=broken)

    assert seen.value("controller_runtime_reconcile_total") == 1
    assert seen.value("controller_runtime_reconcile_total", result=result) == 1
    assert seen.value("controller_runtime_reconcile_time_seconds_sum") == 2.0
    assert seen.value("workqueue_work_duration_seconds_sum") == 2.0
    assert (seen.value("controller_runtime_reconcile_errors_total") or 0) == errors
    assert (seen.value("controller_runtime_terminal_reconcile_errors_total") or 0) == terminal


@pytest.mark.parametrize(
    ("due_at", "added_at", "waited"), [(5.0, 0.0, 3.0), (0.0, 6.0, 2.0), (9.0, 9.0, 0.0)]
)
def test_waiting_counts_from_when_a_key_was_due(
    due_at: float, added_at: float, waited: float
) -> None:
    """A requested delay does not count as waiting."""
    seen = Seen()
    seen.observing.pass_began(Turn(IT, due_at, added_at, Urgency.LIVE), 8.0)

    assert seen.value("workqueue_queue_duration_seconds_sum") == waited


def test_a_pass_that_failed_unexpectedly() -> None:
    """At its time limit, or by an exception of the framework."""
    seen = Seen()
    seen.observing.pass_broke(timed_out=True)
    assert seen.value("controller_runtime_reconcile_timeouts_total") == 1
    assert not seen.value("controller_runtime_reconcile_panics_total")
    seen.observing.pass_broke(timed_out=False)
    assert seen.value("controller_runtime_reconcile_panics_total") == 1


def test_adds_and_retries() -> None:
    """A key with a delay is a retry, one without is an add."""
    seen = Seen()
    for delayed in (True, False, False):
        seen.observing.added(delayed=delayed)

    assert seen.value("workqueue_retries_total") == 1
    assert seen.value("workqueue_adds_total") == 2


def test_the_queue_at_a_moment() -> None:
    """How many keys are due by urgency, how many workers are busy, and for how long."""
    seen, queue = Seen(), WorkQueue[ObjectRef]()
    for name, urgency in (("a", Urgency.LIVE), ("b", Urgency.LIVE), ("c", Urgency.BACKGROUND)):
        queue.add(ObjectRef(Thing.KIND, name, "default"), now=0.0, urgency=urgency)
    queue.take(1.0)
    queue.take(3.0)
    seen.observing.queue_looked_at(queue, 10.0)

    assert seen.value("workqueue_depth", priority="live") == 0
    assert seen.value("workqueue_depth", priority="background") == 1
    assert seen.value("controller_runtime_active_workers") == 2
    assert seen.value("workqueue_unfinished_work_seconds") == 16.0
    assert seen.value("workqueue_longest_running_processor_seconds") == 9.0
    seen.observing.queue_looked_at(WorkQueue(), 11.0)
    assert seen.value("controller_runtime_active_workers") == 0
    assert seen.value("workqueue_longest_running_processor_seconds") == 0.0


def test_readiness_is_one_of_four_and_suspension_only_where_it_is() -> None:
    """An object that was never suspended has no series for it; one that was has 0."""
    seen = Seen()
    seen.observing.shows(IT, "True", suspended=False)
    assert seen.value("achilles_resource_readiness") == 1
    assert seen.value("achilles_resource_readiness", status="True") == 1
    assert seen.value("achilles_object_suspended") is None

    seen.observing.shows(IT, "True", suspended=True)
    assert seen.value("achilles_object_suspended") == 1
    seen.observing.shows(IT, "False", suspended=False)
    assert not seen.value("achilles_object_suspended")
    assert seen.value("achilles_resource_readiness", status="True") == 0
    assert seen.value("achilles_resource_readiness", status="False") == 1

    seen.observing.forget(IT)
    assert seen.value("achilles_resource_readiness") is None
    seen.observing.shows(IT, "False", suspended=False)
    assert seen.value("achilles_resource_readiness", status="False") == 1


def test_causes_states_writes_and_events() -> None:
    """Each with its labels."""
    seen = Seen()
    seen.observing.triggered(IT, Cause("child", "update", ObjectRef(Thing.KIND, "x", "default")))
    seen.observing.triggered(IT, Cause("timer"))
    seen.observing.state_ran("first", 0.5)
    for _ in range(2):
        seen.observing.wrote("Secret", "create", "changed")
    seen.observing.recorded_event(
        {"metadata": {"name": "it", "namespace": "default"}}, "Normal", "Made"
    )

    assert seen.value("achilles_trigger", event="update", type="child", reqName="it") == 1
    assert seen.value("achilles_trigger", event="generic", type="timer", kind="Thing") == 1
    assert seen.value("achilles_state_duration_seconds_sum", state="first") == 0.5
    assert seen.value("myrmidon_writes_total", kind="Secret", outcome="changed") == 2
    assert seen.value("achilles_event", objName="it", reason="Made", eventType="Normal") == 1
