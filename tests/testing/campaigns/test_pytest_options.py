"""The options of scenarios in pytest: which faults, how many plans, where failures are stored."""

from pathlib import Path

import pytest

from tests.testing.simulation.things import Things, thing

pytest_plugins = ["pytester"]

PAIR = """
from myrmidon.testing import scenario
from tests.museum.e01_half_pair import HalfPair
from tests.museum.kit import creation

test_pair = scenario(creation(HalfPair))
"""

THINGS = """
from myrmidon.testing import scenario
from tests.testing.simulation.things import Things, thing

@scenario
async def test_things(sim):
    sim.controller(Things)
    await sim.user.create(thing())
    await sim.settle()
"""


def test_a_failure_is_told_and_its_command_replays_it(pytester: pytest.Pytester) -> None:
    """The artefact is in the cache of pytest unless a folder is named; other scenarios are skipped."""
    path = pytester.makepyfile(PAIR + THINGS.replace("test_things", "test_other"))
    failed = pytester.runpytest_inprocess("-k", "pair", "--sim-faults=crash", "--sim-seeds=0")
    failed.assert_outcomes(failed=1, deselected=1)
    failed.stdout.fnmatch_lines(
        [
            "*FAILURE O1: Secret default/ssl-internal*",
            "*What is wrong*",
            "*Secret default/ssl-internal is missing*",
            "*the process dies after the server has acted*",
            "*What happened*",
            "*Replay it*",
        ]
    )
    command = next(line.strip() for line in failed.outlines if "--sim-replay=" in line)
    assert command.startswith(f"pytest {path.name}::test_pair ")
    stored = command.partition("--sim-replay=")[2]
    assert Path(stored).is_file()
    again = pytester.runpytest_inprocess(f"--sim-replay={stored}")
    again.assert_outcomes(failed=1, skipped=1)


def test_a_class_of_faults_that_had_no_effect_fails(pytester: pytest.Pytester) -> None:
    """One replica has no lease to lose, so the exploration proves nothing about leases."""
    pytester.makepyfile(THINGS)
    failed = pytester.runpytest_inprocess("--sim-faults=lease", "--sim-seeds=1")
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["*no fault of lease had an effect*"])


def test_a_wrong_option_is_one_sentence(pytester: pytest.Pytester) -> None:
    """Without a traceback."""
    pytester.makepyfile(THINGS)
    failed = pytester.runpytest_inprocess("--sim-faults=crush")
    failed.stdout.fnmatch_lines(["*'crush' is not a kind of fault*", "*fix: use some of crash,*"])
    assert "Traceback" not in failed.stdout.str()


def test_the_fixture_runs_a_scenario_once(sim: object) -> None:
    """Without exploration: a fast test in virtual time."""
    assert callable(sim)
    result = sim(Things, [thing(), {"spec": {"size": 2}}])
    assert result.finished
    assert result.end["ConfigMap default/a"]["data"] == {"size": "2"}
