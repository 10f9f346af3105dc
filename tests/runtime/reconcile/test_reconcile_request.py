"""The reconcile token from end to end, and the conditions for kstatus."""

from datetime import timedelta
from typing import Any

import pytest

from myrmidon import Done, Failed, Result
from myrmidon.fsm.metadata.reconcile_request import REQUESTED_AT
from myrmidon.testing import Harness
from tests.fsm.test_kstatus import kstatus_of
from tests.runtime.things import Thing, Things, thing

HOUR = timedelta(hours=1)


class Scripted:
    """A state that counts its runs and returns what the test says."""

    def __init__(self, result: Result) -> None:
        self.result, self.at = result, list[float]()

    def __call__(self, _it: Thing, _out: Any, ctx: Any) -> Result:
        """Run."""
        self.at.append(ctx.now.timestamp())
        return self.result


def request(cluster: Harness, token: str) -> None:
    """Set the token."""
    cluster.patch(Thing, "it", {"metadata": {"annotations": {REQUESTED_AT: token}}})


def handled(cluster: Harness) -> Any:
    """Return the acknowledged token."""
    return cluster.require(Thing, "it").raw["status"].get("lastHandledReconcileAt")


@pytest.mark.law("G2")
@pytest.mark.parametrize(
    "result",
    [Done(), Failed("Broken", "x"), Failed("Bad", "x", retry=False), Done(again=HOUR)],
    ids=["done", "failed", "terminal", "again"],
)
def test_a_token_causes_a_pass_and_is_acknowledged(result: Result) -> None:
    """At once, whatever the outcome; only once, and without further writes."""
    first = Scripted(result)
    with Harness(Things(first)) as cluster:
        cluster.apply(thing())
        cluster.advance(10 * HOUR / 60)
        assert handled(cluster) is None
        before = len(first.at)
        request(cluster, "now")
        cluster.step()
        assert len(first.at) == before + 1
        assert handled(cluster) == "now"
        writes = len(cluster.writes)
        cluster.step()
        assert len(cluster.writes) == writes


def test_a_token_resets_the_backoff() -> None:
    """A change of the status or of a label does not (Q2)."""
    first = Scripted(Failed("Broken", "x"))
    with Harness(Things(first)) as cluster:
        cluster.apply(thing())
        cluster.advance(2 * HOUR)
        request(cluster, "now")
        cluster.step()
        start = len(first.at)
        cluster.advance(timedelta(seconds=10))
        assert len(first.at) >= start + 2, "after about one, two and four seconds"


@pytest.mark.law("G2")
def test_a_suspended_object_does_not_acknowledge() -> None:
    """No pass ran; it is acknowledged when the suspension is lifted."""
    with Harness(Things()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"metadata": {"labels": {"myrmidon.dev/suspend": "true"}}})
        request(cluster, "now")
        cluster.settle()
        assert handled(cluster) is None
        cluster.patch(Thing, "it", {"metadata": {"labels": {"myrmidon.dev/suspend": None}}})
        cluster.settle()
        assert handled(cluster) == "now"


def test_kstatus_conditions_on_the_server() -> None:
    """InProgress while it is retried, Failed when it is not, Current when it is Ready.

    Then no writes.
    """
    first = Scripted(Failed("Broken", "x"))
    with Harness(Things(first, kstatus=True)) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=5))
        assert kstatus_of(cluster.require(Thing, "it").raw) == "InProgress"
        first.result = Failed("Bad", "x", retry=False)
        cluster.settle()
        assert kstatus_of(cluster.require(Thing, "it").raw) == "Failed"
        first.result = Done()
        request(cluster, "now")
        cluster.settle()
        assert kstatus_of(cluster.require(Thing, "it").raw) == "Current"
        cluster.at_rest()


def test_conditions_of_kstatus_are_removed_when_the_option_is_switched_off() -> None:
    """C12: the first pass after the restart removes Reconciling."""
    controller = Things(Scripted(Failed("Broken", "x")), kstatus=True)
    with Harness(controller) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=5))
        assert cluster.condition(Thing, "it", "Reconciling") is not None
        controller.options = type(controller.options)()  # type: ignore[misc]
        cluster.restart()
        cluster.advance(timedelta(seconds=5))
        assert cluster.condition(Thing, "it", "Reconciling") is None
