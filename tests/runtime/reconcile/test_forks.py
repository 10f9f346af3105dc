"""Forks from end to end, and several refused outputs of one state."""

from datetime import timedelta
from typing import Any

import pytest

from myrmidon import (
    Context,
    Controller,
    Done,
    Failed,
    Fork,
    ManagerOptions,
    OutputSet,
    Result,
    Wait,
    kinds,
    state,
)
from myrmidon.runtime.observability.snapshot import path_text
from myrmidon.runtime.reconcile.write_errors import refusals
from myrmidon.testing import Harness
from myrmidon.testing.faults.transport import Status
from tests.runtime.things import Thing, Things, config_map, thing

MINUTE = timedelta(minutes=1)


class Forked(Controller[Thing]):
    """Two branches and a join; each state applies a ConfigMap and returns what the test says."""

    manages = (kinds.CONFIG_MAP,)

    def __init__(self, **answers: Any) -> None:
        self.answers, self.ran = answers, list[str]()

    def _said(self, name: str, out: OutputSet) -> Result:
        self.ran.append(name)
        out.apply(config_map(name))
        answer: Result = self.answers.get(name, Done())
        return answer

    @state(initial=True, then=Fork("database", "cache"))
    def configured(self, _it: Thing, out: OutputSet) -> Result:
        """It is configured."""
        return self._said("configured", out)

    @state(then="served")
    def database(self, _it: Thing, out: OutputSet) -> Result:
        """The database runs."""
        return self._said("database", out)

    @state(then="served")
    def cache(self, _it: Thing, out: OutputSet) -> Result:
        """The cache runs."""
        return self._said("cache", out)

    @state()
    def served(self, _it: Thing, out: OutputSet) -> Result:
        """It serves."""
        return self._said("served", out)

    @state(finalizer=True, then=Fork("emptied", "closed"))
    def drained(self, _it: Thing, _out: OutputSet) -> Result:
        """It takes no more requests."""
        return Done()

    @state()
    def emptied(self, _it: Thing, _out: OutputSet) -> Result:
        """The database is empty."""
        answer: Result = self.answers.get("emptied", Done())
        return answer

    @state()
    def closed(self, _it: Thing, _out: OutputSet) -> Result:
        """The cache is closed."""
        self.ran.append("closed")
        return Done()


@pytest.mark.law("G1")
def test_branches_converge_in_one_pass_and_rest() -> None:
    """Every state runs once; a converged object writes nothing."""
    controller = Forked()
    with Harness(controller) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert controller.ran[:4] == ["configured", "database", "cache", "served"]
        assert cluster.ready(Thing, "it")
        cluster.at_rest()


def test_a_waiting_branch_does_not_delay_the_other() -> None:
    """The other's outputs are written, Ready names the waiting one, and the join waits for both."""
    controller = Forked(database=Wait("Starting", after=MINUTE))
    options = ManagerOptions(seed=0, trace=True)
    with Harness(controller, options=options) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(0))
        assert cluster.get(kinds.CONFIG_MAP, "cache") is not None
        assert cluster.get(kinds.CONFIG_MAP, "served") is None
        ready = cluster.condition(Thing, "it")
        assert ready is not None
        assert ready.message == "database: Database is False (Starting)"
        cache = cluster.condition(Thing, "it", "Cache")
        assert cache is not None
        assert cache.status == "True"
        (one,) = cluster.manager.snapshot().objects
        assert path_text(one.path) == "configured → database ‖ cache"
        controller.answers.clear()
        cluster.settle()
        assert cluster.ready(Thing, "it")
        (one,) = cluster.manager.snapshot().objects
        assert path_text(one.path) == "configured → database ‖ cache → served"


def test_both_failing_branches_are_named() -> None:
    """Both the conditions and Ready name them."""
    controller = Forked(database=Failed("NoDisk", "full"), cache=Failed("NoMemory", "full"))
    with Harness(controller) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(0))
        ready = cluster.condition(Thing, "it")

    assert ready is not None
    assert ready.message == (
        "database: Database is False (NoDisk); cache: Cache is False (NoMemory)"
    )


@pytest.mark.law("G1")
def test_the_object_is_gone_when_every_branch_of_its_finalizer_ended() -> None:
    """The second branch is cleaned up while the first waits."""
    controller = Forked(emptied=Wait("Emptying", after=MINUTE))
    with Harness(controller) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.advance(10 * MINUTE)
        assert "closed" in controller.ran
        assert cluster.get(Thing, "it") is not None
        controller.answers.clear()
        cluster.settle()
        assert cluster.get(Thing, "it") is None


def two_outputs(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply two children."""
    out.apply(config_map("one"))
    out.apply(config_map("two"))
    out.apply(config_map("three"))
    return Done()


def test_every_refused_output_of_a_state_is_named() -> None:
    """Not only the first one, so that the user can fix all of them at once."""

    def faults(request: Any) -> Any:
        refused = request.method == "POST" and request.path.endswith("/configmaps")
        if refused and b'"three"' not in request.body:
            return Status(403)
        return None

    with Harness(Things(two_outputs), faults=faults) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=1))
        first = cluster.condition(Thing, "it", "First")
        assert cluster.get(kinds.CONFIG_MAP, "three") is not None

    assert first is not None
    assert first.reason == "Forbidden"
    lines = [line.partition(":")[0] for line in first.message.splitlines()]
    assert lines == ["ConfigMap default/one", "  fix", "ConfigMap default/two", "  fix"]


def test_one_result_for_several_refusals() -> None:
    """A failure has precedence, and is retried if that may help; the earliest Wait counts."""
    wait, soon, late = (
        Wait("Busy", "w"),
        Wait("A", "a", after=MINUTE),
        Wait("B", "b", after=2 * MINUTE),
    )
    bad, broken = Failed("Bad", "x", retry=False), Failed("Broken", "y")

    assert refusals([bad]) is bad
    assert refusals([wait, bad]) == Failed("Bad", "x\nw", retry=True)
    assert refusals([bad, bad]) == Failed("Bad", "x", retry=False)
    assert refusals([broken, bad]) == Failed("Broken", "y\nx", retry=True)
    assert refusals([late, soon]) == Wait("B", "b\na", after=MINUTE)
    assert refusals([late, wait]) == Wait("B", "b\nw")
    many = refusals([Failed("Bad", f"x{number}", retry=False) for number in range(12)])
    assert many.message.splitlines()[-1] == "and 2 more outputs were refused"
    assert len(many.message.splitlines()) == 11
