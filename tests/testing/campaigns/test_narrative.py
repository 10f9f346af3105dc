"""What a failure tells: the steps of the run, what the controller believed, and the timeline."""

import re
from html.parser import HTMLParser

import pytest

from myrmidon.testing.campaigns.failure_text import failures_text
from myrmidon.testing.campaigns.narrative import lanes_of, narrated
from myrmidon.testing.campaigns.plan_words import fault_words
from myrmidon.testing.campaigns.timeline import timeline_page
from myrmidon.testing.simulation import actions, simulate, triggers
from myrmidon.testing.simulation.actions import KINDS, Action
from myrmidon.testing.simulation.plan import Plan, PlannedFault
from myrmidon.testing.simulation.result import SimulationFailure, SimulationResult
from tests.museum.e01_half_pair import HalfPair
from tests.museum.e18_lying_ready import LyingReady
from tests.museum.kit import creation, editing


def failing() -> SimulationFailure:
    """Return the failure of a crash between two creates."""
    result = simulate(creation(HalfPair), plan=Plan.of((triggers.write(1), actions.crash("after"))))
    failure = result.failures[0]
    failure.result = result
    return failure


def stale() -> SimulationResult:
    """Return a run in which the user edits while the controller cannot see it."""
    plan = Plan.of(
        (triggers.event("Thing", 2), actions.hold("Thing", 45.0)),
        (triggers.event("Thing", 2), actions.user("edit", "Thing/a", {"spec": {"size": 7}})),
        (triggers.event("Thing", 2), actions.watch("dup")),
    )
    return simulate(editing({"size": 1}, {"size": 2})(LyingReady), plan=plan, compare=False)


def test_the_steps_of_a_run() -> None:
    """User, controller, server, watch and fault, in the order in which they happened."""
    result = failing().result
    assert result is not None
    steps = narrated(result)
    assert lanes_of(steps)[:4] == ["user", "controller-0", "server", "watch of controller-0"]
    created = next(step for step in steps if step.text.startswith("sent: create Secret ssl"))
    assert created.did.startswith("the server stored version")
    assert created.is_error
    assert [step.text for step in steps if step.lane == "user"] == ["created Thing/a"]
    assert [step.at for step in steps] == sorted(step.at for step in steps)


def test_a_controller_that_acts_on_an_old_view_is_told_so() -> None:
    """The step names the version that the controller knew, and the one that the server had."""
    believed = [line for step in narrated(stale()) for line in step.believed]
    assert any(
        re.fullmatch(
            r"it believed in Thing a of version \d+ \(generation \d\); "
            r"the server had version \d+ \(generation \d\)",
            line,
        )
        for line in believed
    )


def test_a_run_without_staleness_has_no_old_beliefs() -> None:
    """Nothing is told where the controller knew everything."""
    result = simulate(creation(HalfPair))
    assert [step.believed for step in narrated(result) if step.believed] == []


def test_one_run_is_told_once() -> None:
    """Further failures of the same run only say what is wrong."""
    failure = failing()
    text = failures_text([failure, failure], ["first command", "second command"])
    assert text.count("FAILURE") == 2
    assert text.count("What happened") == 1
    assert text.endswith("Replay it\n  second command")


class _Links(HTMLParser):
    """Collects tags, and attributes that would load or run anything."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append(tag)
        self.loads += [name for name, _ in attrs if name in ("src", "href") or name[:2] == "on"]


def test_the_timeline_is_one_file_for_light_and_dark() -> None:
    """It loads nothing, runs no script, and escapes what comes from objects."""
    failure = failing()
    failure.message = "<script>alert(1)</script>"
    text = timeline_page(failure, "myrmidon simulate a --replay b.json")
    parser = _Links()
    parser.feed(text)
    assert "svg" in parser.tags
    assert "script" not in parser.tags
    assert parser.loads == []
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert 'class="lane down"' in text, "the process is down for a while"
    for lane in ("user", "controller-0", "server", "controller-0 sees"):
        assert f">{lane}</text>" in text
    assert "FAULT crash(after" in text


@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_has_words(kind: str) -> None:
    """A plan is readable without its grammar."""
    for how in KINDS[kind] or ("",):
        words = fault_words(PlannedFault(triggers.write(2), Action(kind, how, "Pod")))
        assert words.startswith("at the second write of the controllers, ")
        assert "(" not in words.replace("(410)", "")
