"""The table of results: the effect of each on conditions, outputs and the next pass."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.conditions import ConditionValue
from myrmidon.fsm import Done, Failed, Result, Wait
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, config_map, thing

MINUTE = timedelta(minutes=1)


class Counting:
    """A state that applies a child, counts its runs and returns what the test says."""

    def __init__(self, result: Callable[[], Result]) -> None:
        self.result, self.at = result, list[float]()

    def __call__(self, it: Thing, out: OutputSet, ctx: Context) -> Result:
        """Run."""
        self.at.append(ctx.now.timestamp())
        out.apply(config_map(f"{it.name}-first"))
        return self.result()


def broken() -> Result:
    """Raise an unexpected exception."""
    raise RuntimeError("the disk is full")  # line 35


class Row:
    """One row of the table, as seen from outside."""

    def __init__(self, result: Callable[[], Result]) -> None:
        act = Counting(result)
        with Harness(Things(act)) as cluster:
            cluster.apply(thing())
            cluster.advance(timedelta(0))
            obj = cluster.require(Thing, "it").raw
            conditions = obj["status"]["conditions"]
            self.conditions = {each["type"]: _said(each) for each in conditions}
            self.applied = cluster.get(kinds.CONFIG_MAP, "it-first") is not None
            cluster.advance(timedelta(hours=1))
            self.gaps = [round(b - a, 2) for a, b in zip(act.at, act.at[1:], strict=False)]
            self.writes = len(cluster.writes)


def _said(condition: Any) -> tuple[str, str, str]:
    return condition["status"], condition["reason"], condition["message"]


def test_done() -> None:
    """The state holds: its outputs are applied, the walk goes on, and no pass is scheduled."""
    row = Row(Done)

    assert row.conditions == {
        "First": ("True", "Done", ""),
        "Second": ("True", "Done", ""),
        "Ready": ("True", "Ready", ""),
    }
    assert row.applied
    assert row.gaps == []
    assert row.writes == 2


def test_done_with_a_condition() -> None:
    """The walk goes on with the given condition; Ready names it."""
    row = Row(lambda: Done(condition=ConditionValue("Unknown", "Asking", "no answer yet")))

    assert row.conditions["First"] == ("Unknown", "Asking", "no answer yet")
    assert row.conditions["Second"] == ("True", "Done", "")
    assert row.conditions["Ready"] == ("False", "Asking", "First is Unknown (Asking)")
    assert row.applied
    assert row.gaps == []


def test_done_with_recheck() -> None:
    """The walk goes on to its end, Ready stays False, and another pass is scheduled."""
    row = Row(lambda: Done(recheck=Wait("Warming", "not warm", after=10 * MINUTE)))

    assert row.conditions["First"] == ("False", "Warming", "not warm")
    assert row.conditions["Second"] == ("True", "Done", "")
    assert row.conditions["Ready"][:2] == ("False", "Warming")
    assert row.applied
    assert row.gaps == [600.0] * 6
    assert row.writes == 2


def test_done_with_pause() -> None:
    """The outputs are applied, the walk stops, and another pass is scheduled."""
    row = Row(lambda: Done(pause=Wait("Settling", "", after=20 * MINUTE)))

    assert row.conditions == {
        "First": ("True", "Done", ""),
        "Ready": ("False", "InProgress", "the walk has not reached an end"),
    }
    assert row.applied
    assert row.gaps == [1200.0] * 3


def test_wait() -> None:
    """The outputs are dropped, the walk stops, and another pass is scheduled."""
    row = Row(lambda: Wait("Asked", "for a token", after=30 * MINUTE))

    assert row.conditions == {
        "First": ("False", "Asked", "for a token"),
        "Ready": ("False", "Asked", "First is False (Asked)"),
    }
    assert not row.applied
    assert row.gaps == [1800.0] * 2
    assert row.writes == 1


def test_wait_that_keeps_its_outputs() -> None:
    """The walk stops, but the outputs so far are applied."""
    row = Row(lambda: Wait("RollingOut", after=MINUTE, keep_outputs=True))

    assert row.conditions["First"] == ("False", "RollingOut", "")
    assert "Second" not in row.conditions
    assert row.applied
    assert row.writes == 2


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (lambda: Wait("Asked"), ("False", "Asked", "")),
        (lambda: Failed("NoDisk", "it is full"), ("False", "NoDisk", "it is full")),
        (broken, ("False", "InternalError", "RuntimeError: the disk is full (test_results.py:35)")),
    ],
    ids=["wait", "failed", "raised"],
)
def test_backoff(result: Callable[[], Result], said: tuple[str, str, str]) -> None:
    """Without a time of its own the delay doubles, with jitter, up to the longest."""
    row = Row(result)

    assert row.conditions["First"] == said
    assert not row.applied
    assert row.gaps[:4] != sorted({1.0, 2.0, 4.0, 8.0}), "jitter spreads them"
    for gap, longest in zip(row.gaps, (1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300), strict=False):
        assert 0.75 * longest - 0.01 <= gap <= longest + 0.01
    assert row.writes == 1, "the same failure is not written again"


def test_failed_without_retry() -> None:
    """There is no other pass until the object changes."""
    act = Counting(lambda: Failed("NoSuchImage", "shop:0", retry=False))
    with Harness(Things(act)) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(hours=2))
        assert len(act.at) == 1
        assert not cluster.ready(Thing, "it")

        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()

        assert len(act.at) == 2
        condition = cluster.condition(Thing, "it", "First")
        assert condition is not None
        assert condition.observed_generation == 2


DROPPED = "outputs were dropped because the state returned Wait"


@pytest.fixture
def dropping(caplog: pytest.LogCaptureFixture) -> Callable[[Result], list[dict[str, Any]]]:
    """Return the warnings of two objects whose first state applies a child and returns this."""

    def run(result: Result) -> list[dict[str, Any]]:
        with Harness(Things(Counting(lambda: result))) as cluster:
            cluster.apply(thing("a"))
            cluster.apply(thing("b"))
            cluster.advance(timedelta(hours=1))
        return [vars(one)["facts"] for one in caplog.records if one.message == DROPPED]

    return run


def test_a_wait_that_drops_its_outputs_is_warned_about_once(
    dropping: Callable[[Result], list[dict[str, Any]]],
) -> None:
    """Per state, however many objects and passes: the outputs and what to write instead."""
    (facts,) = dropping(Wait("Asked", "for a token", after=MINUTE))

    assert facts["state"] == "first"
    assert facts["outputs"] == "ConfigMap default/a-first"
    assert "keep_outputs=True" in facts["fix"]
    assert "keep_outputs=False" in facts["fix"]


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(Wait("Asked", keep_outputs=True), id="kept"),
        pytest.param(Wait("Asked", keep_outputs=False), id="dropped on purpose"),
        pytest.param(Failed("NoDisk", "it is full"), id="failed"),
        pytest.param(Done(pause=Wait("Settling")), id="paused"),
        pytest.param(Done(recheck=Wait("Warming")), id="rechecked"),
    ],
)
def test_results_that_say_what_becomes_of_outputs_are_not_warned_about(
    dropping: Callable[[Result], list[dict[str, Any]]], result: Result
) -> None:
    """They are written, or the state says that they are not."""
    assert dropping(result) == []


def test_a_wait_without_outputs_is_not_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    """There is nothing to drop."""
    with Harness(Things(lambda *_: Wait("Asked"))) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(hours=1))

    assert caplog.records == []


def test_a_deletion_that_is_dropped_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    """Deletions by selector, and of the object itself, are outputs, too."""

    def act(it: Thing, out: OutputSet, ctx: Context) -> Result:
        out.delete_all(kinds.CONFIG_MAP, selector="a=b")
        out.delete_self()
        return Wait("Asked")

    with Harness(Things(act)) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(hours=1))

    (record,) = caplog.records
    assert vars(record)["facts"]["outputs"] == "delete_all of ConfigMap, delete_self"
