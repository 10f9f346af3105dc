"""The verdicts of the soak: growth, faults without effect, and the text."""

from dataclasses import replace
from itertools import islice, pairwise

import pytest

from tests.soak.plan import FAULTS, acts, strikes
from tests.soak.report import Report, Sample, growth, never_fired

MIB = 1 << 20


def life(**grows: float) -> list[Sample]:
    """Build measurements of a process in which some figures grow by so much each time."""

    def at(number: int) -> Sample:
        base = {"rss": 60.0 * MIB, "descriptors": 20.0, "tasks": 30.0}
        figures = {name: value + number * grows.get(name, 0.0) for name, value in base.items()}
        return Sample(age=number * 3.0, passes=0.0, works=1.0, **figures)

    return [at(number) for number in range(100)]


@pytest.mark.parametrize(
    ("grows", "said"),
    [
        ({"rss": 0.5 * MIB}, "memory grew"),
        ({"descriptors": 1.0}, "descriptors grew"),
        ({"tasks": 1.0}, "tasks grew"),
    ],
    ids=["memory", "descriptors", "tasks"],
)
def test_growth_is_found(grows: dict[str, float], said: str) -> None:
    """One figure at a time."""
    (line,) = growth("it", life(**grows))
    assert said in line


def test_workers_of_a_new_leader_are_not_growth() -> None:
    """A standby that began to lead has more tasks, but their number stays the same."""
    standby = [replace(one, works=0.0, tasks=10.0) for one in life()[:50]]
    assert growth("it", [*standby, *life()[50:]]) == []
    assert len(growth("it", [*standby, *life(tasks=2.0)[50:]])) == 1


def test_flat_and_short_lives_report_nothing() -> None:
    """A process that lived for seconds proves nothing."""
    assert growth("it", life()) == []
    assert growth("it", life(rss=50.0 * MIB)[:20]) == []
    assert growth("it", []) == []


def test_fault_without_effect_is_named() -> None:
    """Every kind must have had an effect."""
    assert never_fired({"cut": 2}, ["stall", "cut"]) == ["stall: had an effect 0 times"]


def test_plan_is_that_of_its_seed_and_has_every_fault_first() -> None:
    """Two runs with one seed do the same; the first round has each kind once."""
    plan = strikes(3, 300.0)
    assert plan == strikes(3, 300.0)
    assert plan != strikes(4, 300.0)
    assert {strike.fault for strike in plan[: len(FAULTS)]} == set(FAULTS)
    assert all(one.at < two.at for one, two in pairwise(plan))
    kinds = ("Team", "Call")
    first = list(islice(acts(3, kinds, 10), 50))
    assert first == list(islice(acts(3, kinds, 10), 50))
    assert [act.verb for act in first[:10]] == ["create"] * 10


def test_text_tells_the_seed_the_verdicts_and_the_evidence() -> None:
    """At most ten pieces of evidence for each failure."""
    report = Report(7, 10.0)
    report.fact("writes", 3)
    report.verdict("quiet", [])
    report.verdict("one writer", [f"line {number}" for number in range(20)])
    text = report.text()
    assert "seed 7" in text
    assert "quiet       holds" in text
    assert "FAILED: one writer (20)" in text
    assert "line 9" in text
    assert "line 10" not in text
    assert list(report.failures) == ["one writer"]
