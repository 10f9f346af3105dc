"""Unexpected exceptions of states: the log, the hook, the metric."""

import logging
from datetime import timedelta
from typing import Any

import pytest

from myrmidon import Context, Done, ManagerOptions, OutputSet, Result
from myrmidon.runtime import ErrorReport
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things


class Breaking(Things):
    """Raises what the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = KeyError("data")

    async def first(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """Raise, or go on."""
        if self.error is not None:
            raise self.error
        return Done()


def failures(caplog: pytest.LogCaptureFixture) -> list[tuple[int, bool]]:
    """The level of each failed pass, and whether it has a traceback."""
    return [
        (record.levelno, bool(record.exc_info))
        for record in caplog.records
        if record.getMessage() == "pass failed"
    ]


def harness(controller: Breaking, **options: Any) -> Harness:
    """A cluster whose log has repeated failures as well."""
    cluster = Harness(controller, options=ManagerOptions(seed=0, **options))
    logging.getLogger("myrmidon.controller").filters.clear()
    cluster.apply(Thing(name="it"))
    return cluster


def test_the_traceback_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """At ERROR with exc_info, where error trackers look; then briefly, until the object recovers."""
    controller = Breaking()
    with harness(controller) as cluster:
        cluster.advance(timedelta(seconds=10))
        first, *others = failures(caplog)
        assert first == (logging.ERROR, True)
        assert others
        assert set(others) == {(logging.WARNING, False)}
        panics = cluster.manager.metrics.panics.labels("thing").count
        assert panics == len(failures(caplog))

        controller.error = None
        cluster.settle()
        caplog.clear()
        controller.error = KeyError("data")
        cluster.patch(Thing, "it", {"metadata": {"labels": {"a": "b"}}})
        cluster.step()
        assert failures(caplog) == [(logging.ERROR, True)]


def test_another_exception_has_a_traceback_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    """The same line can raise two."""
    controller = Breaking()
    with harness(controller) as cluster:
        cluster.step()
        controller.error = ValueError("no")
        cluster.advance(timedelta(seconds=10))
    levels = [level for level, _ in failures(caplog)]
    assert levels[:2] == [logging.ERROR, logging.ERROR]
    assert logging.ERROR not in levels[2:]


def test_the_hook_gets_each_exception() -> None:
    """With what is needed to find it, and how often it was repeated."""
    reports: list[ErrorReport] = []
    with harness(Breaking(), on_error=reports.append) as cluster:
        cluster.advance(timedelta(seconds=10))
    assert [report.repeated for report in reports] == list(range(len(reports)))
    first = reports[0]
    assert (first.controller, first.state, first.object.key) == ("thing", "first", "default/it")
    assert isinstance(first.error, KeyError)
    assert first.error.__traceback__ is not None


def test_a_hook_that_raises_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and the pass is retried as before."""

    def broken(_report: ErrorReport) -> None:
        raise OSError("no network")

    controller = Breaking()
    with harness(controller, on_error=broken) as cluster:
        cluster.step()
        assert "on_error failed" in caplog.text
        controller.error = None
        cluster.settle()
        assert cluster.ready(Thing, "it")


def test_q12_nothing_is_kept_of_objects_that_are_gone() -> None:
    """Neither after a deletion nor after a pass that does not fail."""
    controller = Breaking()
    with harness(controller) as cluster:
        cluster.step()
        errors = cluster.manager.loops[0].reconciler._deps.errors
        assert errors._seen
        cluster.delete(Thing, "it")
        controller.error = None
        cluster.settle()
        assert not errors._seen
