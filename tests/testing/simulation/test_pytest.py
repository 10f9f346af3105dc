"""Scenarios as tests of pytest: collected, explored, stored and replayed."""

from pathlib import Path

import orjson
import pytest

from myrmidon.testing.simulation import artefact_of, explore, replay
from tests.museum.e01_half_pair import BothSecrets, HalfPair
from tests.museum.kit import creation

pytest_plugins = ["pytester"]

GOOD = """
from myrmidon.testing import scenario
from tests.testing.simulation.things import Things, thing

@scenario(budget="0.2s")
async def test_things(sim):
    sim.controller(Things)
    await sim.user.create(thing())
    await sim.settle()

@scenario
async def helper(sim):
    raise AssertionError("not a test")
"""

BAD = """
from myrmidon.testing import scenario
from tests.museum.e01_half_pair import HalfPair
from tests.museum.kit import creation

test_pair = scenario(creation(HalfPair))
"""


def test_a_scenario_is_a_test(pytester: pytest.Pytester) -> None:
    """It is collected by its name and explored with its budget."""
    pytester.makepyfile(GOOD)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_failing_scenario_tells_its_story_and_can_be_replayed(pytester: pytest.Pytester) -> None:
    """The report is the story; the artefact replays it."""
    path = pytester.makepyfile(BAD)
    failed = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--sim-report", "out")
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["*Secret default/ssl-internal is missing*", "*FAULT*"])
    stored = sorted(Path("out").glob("*.json"))
    assert stored
    assert orjson.loads(stored[0].read_bytes())["scenario"].endswith("::test_pair")
    again = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", path, f"--sim-replay={stored[0]}"
    )
    again.assert_outcomes(failed=1)


def test_an_artefact_replays_the_same_trace() -> None:
    """And the correction passes under the same plan."""
    failure = explore(creation(HalfPair), budget="ci", stop_at=1).failures[0]
    stored = orjson.loads(orjson.dumps(artefact_of(failure)))
    again = replay(creation(HalfPair), stored)
    assert again.trace_hash == stored["traceHash"]
    assert failure.signature in [one.signature for one in again.failures]
    replay(creation(BothSecrets), stored).check()


def test_shrinking_finds_the_one_fault_that_matters() -> None:
    """A plan of many faults is reduced to a single one."""
    from myrmidon.testing.simulation import Plan, actions, triggers  # noqa: PLC0415
    from myrmidon.testing.simulation.references import References  # noqa: PLC0415
    from myrmidon.testing.simulation.scenarios import as_scenario  # noqa: PLC0415
    from myrmidon.testing.simulation.shrinking import shrunk  # noqa: PLC0415

    references = References(as_scenario(creation(HalfPair)))
    plan = Plan.of(
        (triggers.event("Secret", 1), actions.watch("dup")),
        (triggers.write(1), actions.slow(0.5)),
        (triggers.write(1), actions.crash("after", down=30.0)),
        (triggers.time(50.0), actions.clock(10.0)),
    )
    failure = references.run(plan, jitter=0.02).failures[0]
    best = shrunk(references, failure)
    assert best.result is not None
    assert len(best.result.plan) == 1
    assert best.result.jitter == 0.0
