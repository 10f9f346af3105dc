"""A cluster that a test does not close: one warning that names the fix, and nothing else."""

import gc
import inspect
import logging
import subprocess
import sys
import warnings

import pytest

from myrmidon.errors import MyrmidonError
from myrmidon.testing import Harness, VirtualTimeLoop
from myrmidon.testing.harness import unclosed
from tests.runtime.things import Thing, Things, thing


def forgotten() -> VirtualTimeLoop:
    """Use a harness and drop it; return its event loop."""
    cluster = Harness(Things())
    cluster.apply(thing())
    cluster.settle()
    assert cluster.ready(Thing, "it")
    return cluster.loop


def line_of_harness() -> int:
    """The line of ``forgotten`` that makes the harness."""
    return inspect.getsourcelines(forgotten)[1] + 2


def test_one_warning_names_the_line_and_the_fix(caplog: pytest.LogCaptureFixture) -> None:
    """Everything has ended in order: asyncio and the loop have nothing to add."""
    with warnings.catch_warnings(record=True) as told, caplog.at_level(logging.DEBUG, "asyncio"):
        warnings.simplefilter("always")
        loop = forgotten()
        gc.collect()
        assert loop.is_closed()
        del loop
        gc.collect()

    (warning,) = told
    assert warning.category is ResourceWarning
    assert (warning.filename, warning.lineno) == (__file__, line_of_harness())
    assert str(warning.message) == (
        "this Harness was not closed.\n"
        "  fix: write `with Harness(...) as cluster:`, call cluster.close(), or use the pytest fixture `harness`"
    )
    assert [one for one in caplog.records if one.name == "asyncio" and one.levelno > 10] == []


def test_a_cluster_that_is_dropped_inside_a_running_loop_is_ended_later() -> None:
    """The collector may run at any time, and an event loop cannot run inside another."""

    async def drop() -> None:
        held.clear()
        gc.collect()

    held = [Harness(Things())]
    loop = held[0].loop
    with Harness(Things()) as other:
        with pytest.warns(ResourceWarning, match="was not closed"):
            other._wait(drop())
        assert not loop.is_closed()
        with Harness(Things()):
            assert loop.is_closed()
    assert unclosed._abandoned == []


def test_a_program_that_ends_with_an_open_harness_says_so_once() -> None:
    """Python ignores this warning unless it is asked for; then standard error is empty."""
    program = (
        "from myrmidon.testing import Harness\n"
        "from tests.runtime.things import Things, thing\n"
        "cluster = Harness(Things())\n"
        "cluster.apply(thing())\n"
        "cluster.settle()\n"
    )
    for options, lines in ((), 0), (("-Wdefault::ResourceWarning",), 1):
        command = [sys.executable, *options, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr.count("was not closed") == lines
        assert ("Task was destroyed" in done.stderr) is False
        assert lines or done.stderr == ""


def test_a_harness_that_cannot_be_made_needs_no_close() -> None:
    """Its constructor raised, so that its user has nothing to close: no warning."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(MyrmidonError, match=r"without metadata\.name"):
            Harness(Things(), manifests=[{"apiVersion": "v1", "kind": "ConfigMap"}])
        gc.collect()
    assert told == []


def test_closing_twice_is_closing_once() -> None:
    """``close`` in a ``with`` is harmless, and a closed harness is never reported."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with Harness(Things()) as cluster:
            cluster.close()
        assert cluster.loop.is_closed()
        del cluster
        gc.collect()
    assert told == []
