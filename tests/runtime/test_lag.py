"""LoopLag: a blocked event loop is measured, reported long enough to be scraped, and logged."""

import asyncio

import pytest

from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.process.lag import SAMPLE_SECONDS, WARN_SECONDS, WINDOW_SECONDS, LoopLag
from myrmidon.testing import VirtualClock, VirtualTimeLoop, run

STANDSTILL = "event loop was blocked"


@pytest.mark.parametrize(("seconds", "lines"), [(0.04, 0), (0.9, 0), (30.0, 1)])
def test_q8_a_turn_that_takes_long_is_measured(
    seconds: float, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    """To a tenth of a second; above one second it is logged."""

    async def main() -> float:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        clock = VirtualClock(loop)
        lag = LoopLag(clock, Logger())
        async with asyncio.TaskGroup() as group:
            task = group.create_task(lag.run())
            await clock.sleep(5.0)
            loop.jump(seconds)  # a turn that takes long
            await clock.sleep(5.0)
            task.cancel()
        return lag.longest(loop.time())

    longest = run(main())
    assert seconds - SAMPLE_SECONDS <= longest <= seconds
    assert len([one for one in caplog.records if one.getMessage() == STANDSTILL]) == lines


def test_a_standstill_is_shown_for_one_to_two_minutes() -> None:
    """A scrape each minute sees every one of them; old ones expire."""
    lag = LoopLag(LoopClock(), Logger())
    lag.note(0.5, 0.0)
    lag.note(0.2, WINDOW_SECONDS - 1)
    assert lag.longest(WINDOW_SECONDS - 1) == 0.5
    lag.note(0.1, WINDOW_SECONDS + 1)
    assert lag.longest(WINDOW_SECONDS + 1) == 0.5
    assert lag.longest(2 * WINDOW_SECONDS) == 0.5
    assert lag.longest(2 * WINDOW_SECONDS + 2) == 0.1
    assert lag.longest(9 * WINDOW_SECONDS) == 0.0


def test_a_short_lag_is_not_worth_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is logged up to one second."""
    LoopLag(LoopClock(), Logger()).note(WARN_SECONDS, 0.0)
    assert not caplog.records
