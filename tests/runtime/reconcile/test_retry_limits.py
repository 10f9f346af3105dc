"""Retry limits and reported attempts from end to end."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from myrmidon import Done, Failed, Result, Wait
from myrmidon.testing import Harness
from tests.runtime.reconcile.test_reconcile_request import Scripted, request
from tests.runtime.things import Thing, Things, thing

HOUR = timedelta(hours=1)
GAVE_UP = (
    "full; gave up after 4 attempts; change the object, or run "
    "`myrmidon reconcile things.test.myrmidon.dev it -n default`, to try again"
)


def status(cluster: Harness) -> Any:
    """Return the status of the object."""
    return cluster.require(Thing, "it").raw["status"]


def metric(cluster: Harness) -> float:
    """Return how often retries were given up."""
    (found,) = cluster.manager.metrics.retries_given_up.collect()
    return sum(one.value for one in found.samples if one.name.endswith("_total"))


def test_retries_are_given_up_and_a_change_or_a_token_starts_them_again() -> None:
    """Four attempts each; the condition keeps its reason and says how to go on; then no writes."""
    first = Scripted(Failed("NoDisk", "full"))
    with Harness(Things(first, max_attempts=4)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert len(first.at) == 4
        condition = cluster.condition(Thing, "it", "First")
        assert condition is not None
        assert (condition.reason, condition.message) == ("NoDisk", GAVE_UP)
        ready = cluster.condition(Thing, "it")
        assert ready is not None
        assert ready.message.startswith("First is False (NoDisk); gave up after 4 attempts; ")
        assert metric(cluster) == 1
        cluster.at_rest()
        assert metric(cluster) == 1
        passes = len(first.at)
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        assert len(first.at) == passes + 4
        request(cluster, "now")
        cluster.settle()
        assert len(first.at) == passes + 8
        assert metric(cluster) == 3
        first.result = Done()
        request(cluster, "later")
        cluster.settle()
        assert cluster.ready(Thing, "it")


@pytest.mark.law("G3")
def test_retries_end_after_a_time() -> None:
    """The attempt after which the time is over is the last one."""
    first = Scripted(Failed("NoDisk", "full"))
    with Harness(Things(first, retry_for=HOUR)) as cluster:
        cluster.apply(thing())
        cluster.settle(within=3 * HOUR)
        ready = cluster.condition(Thing, "it", "First")

    assert ready is not None
    assert "gave up after 1:00:00" in ready.message
    assert 3600 <= first.at[-1] - first.at[0] < 3600 + 300


@pytest.mark.law("G3")
@pytest.mark.parametrize("result", [Wait("Slow"), Wait("Slow", after=timedelta(seconds=1))])
def test_waiting_is_not_failing(result: Result) -> None:
    """A Wait continues as long as it takes."""
    first = Scripted(result)
    with Harness(Things(first, max_attempts=2)) as cluster:
        cluster.apply(thing())
        cluster.advance(HOUR)
        assert metric(cluster) == 0
    assert len(first.at) > 5


def test_attempts_are_reported_while_it_fails_and_only_then() -> None:
    """The number and the time of the next attempt; writing them causes no pass.

    Success removes them.
    """
    first = Scripted(Failed("NoDisk", "full"))
    with Harness(Things(first, report_attempts=True)) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=30))
        assert status(cluster)["attempts"] == len(first.at)
        assert 4 <= len(first.at) <= 6, "the status writes do not shorten the backoff"
        promised = datetime.fromisoformat(status(cluster)["nextAttempt"]).timestamp()
        before = len(first.at)
        cluster.advance(HOUR / 60)
        assert 0 <= first.at[before] - promised < 1
        first.result = Done()
        cluster.settle()
        assert "attempts" not in status(cluster)
        assert "nextAttempt" not in status(cluster)
        cluster.at_rest()


@pytest.mark.law("G3")
def test_attempts_of_an_object_that_was_given_up() -> None:
    """The number stays, there is no next attempt, and nothing is written."""
    first = Scripted(Failed("NoDisk", "full"))
    with Harness(Things(first, report_attempts=True, max_attempts=3, kstatus=True)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert status(cluster)["attempts"] == 3
        assert "nextAttempt" not in status(cluster)
        stalled = cluster.condition(Thing, "it", "Stalled")
        assert stalled is not None
        assert stalled.status == "True"
        cluster.at_rest()


def test_a_failure_that_is_not_retried_reports_no_attempts() -> None:
    """No attempt is counted."""
    first = Scripted(Failed("Bad", "x", retry=False))
    with Harness(Things(first, report_attempts=True, max_attempts=3)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert "attempts" not in status(cluster)
        assert metric(cluster) == 0
