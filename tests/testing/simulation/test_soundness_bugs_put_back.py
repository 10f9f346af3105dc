"""Four bugs that the framework once had, put back on purpose: the shipped scenarios find each of them.

Each bug is a patch that removes one safeguard.  The scenario is one of ``shipped``, which mentions neither
properties nor faults, and the plan is one of those that ``explore`` tries for any scenario; the tests check
that.  Without the bug the same plan finds nothing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from myrmidon.fsm.children import readiness
from myrmidon.runtime.leader.election import Election
from myrmidon.runtime.queue.queue import Turn
from myrmidon.runtime.reconcile import pruning
from myrmidon.runtime.reconcile.worker import WorkerPool
from myrmidon.testing import Plan
from myrmidon.testing.simulation import actions as a
from myrmidon.testing.simulation import triggers as t
from myrmidon.testing.simulation.enumeration import depth_one
from myrmidon.testing.simulation.references import References
from tests.testing.simulation.shipped import SHIPPED


class Bug(NamedTuple):
    """A bug, how it is put back, and what finds it."""

    law: str
    put_back: Callable[[pytest.MonkeyPatch], None]
    scenario: str
    plan: Plan
    oracles: frozenset[str]


def _prune_only_what_is_recorded(patch: pytest.MonkeyPatch) -> None:
    """Let a crash between a create and the status write leave a child that no status records."""

    async def blind(*_: Any) -> None: ...

    patch.setattr(pruning, "find_unrecorded", blind)
    patch.setattr(pruning, "settle_unsure", blind)


def _count_fresh_children_as_ready(patch: pytest.MonkeyPatch) -> None:
    """Count a custom child without a status as ready, so that its parent goes on too early."""
    reported = readiness._reported
    patch.setattr(readiness, "_reported", lambda obj: readiness.is_silent(obj) or reported(obj))


def _set_no_alarm(patch: pytest.MonkeyPatch) -> None:
    """Let a worker that takes a key leave the alarm for the next key to the others, who sleep."""

    def take(self: WorkerPool) -> Turn[Any] | None:
        turn = self.queue.take(now := self.clock.monotonic())
        wake_at = self.queue.wake_at()
        if turn is None and wake_at is not None:
            self.wakeup.ring_within(wake_at - now)
        return turn

    patch.setattr(WorkerPool, "take", take)


def _lead_although_another_does(patch: pytest.MonkeyPatch) -> None:
    """Lead until the own time is over, although the Lease was read and names another replica."""
    patch.setattr(Election, "_stop_if_lost", lambda _self: None)


SMALLER = a.user("edit", "Shelf/a", {"spec": {"size": 1}})
BUGS = {
    "a prune that leaks": Bug(
        "A13",
        _prune_only_what_is_recorded,
        "shelves",
        Plan.of((t.write(3), SMALLER), (t.write(3), a.crash("after", down=60.0))),
        frozenset({"O1", "O8"}),
    ),
    "fresh children count as ready": Bug(
        "C9", _count_fresh_children_as_ready, "nested", Plan(), frozenset({"O8"})
    ),
    "a lost wakeup": Bug(
        "Q10",
        _set_no_alarm,
        "several",
        Plan.of((t.write(1), a.slow(1.2, lasts=60.0)), (t.write(1), a.refuse(401, lasts=60.0))),
        frozenset({"O11"}),
    ),
    "a leader that knows of another": Bug(
        "Q11",
        _lead_although_another_does,
        "pair",
        Plan.of((t.write(1), a.slow(1.2, lasts=20.0)), (t.write(1), a.lease("steal"))),
        frozenset({"O12"}),
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_that_is_put_back_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A13, C9, Q10, Q11: by the oracles, under a plan that every exploration tries."""
    bug = BUGS[name]
    bug.put_back(monkeypatch)
    references = References(SHIPPED[bug.scenario])
    found = references.failures or references.run(bug.plan).failures
    assert bug.oracles & {one.oracle for one in found}


@pytest.mark.parametrize("name", BUGS)
def test_without_the_bug_the_same_plan_finds_nothing(name: str) -> None:
    """And the plan is not made by hand: it is one of the plans of depth one."""
    bug = BUGS[name]
    references = References(SHIPPED[bug.scenario])
    assert not references.failures
    if bug.plan:
        assert bug.plan in list(depth_one(references.facts))
        assert references.run(bug.plan).check().all_fired


def test_an_object_is_not_forgotten_while_its_kind_is_not_served() -> None:
    """A server says 404 of an object that exists, if it does not serve the kind for a moment."""
    plan = Plan.of((t.write(1), a.crd("absent", "Thing")))
    assert References(SHIPPED["several"]).run(plan).check().all_fired
