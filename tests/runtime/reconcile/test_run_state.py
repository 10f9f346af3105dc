"""One run of one state: its result, and how long it blocked the event loop."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from myrmidon import Done, Failed, Result
from myrmidon.fsm.machine.states import State
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.reconcile.run_state import Held, run_state
from myrmidon.testing import VirtualClock, VirtualTimeLoop, run


class Hand(VirtualClock):
    """A clock that code can move without yielding to the loop, as a blocking call does."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__(loop)
        self.moved = 0.0

    def monotonic(self) -> float:
        """Return the time of the loop, plus the time spent in blocking calls."""
        return super().monotonic() + self.moved

    def block(self, seconds: float) -> None:
        """Spend time without yielding to the event loop."""
        self.moved += seconds


def ran(act: Callable[[Hand], Any], *, is_async: bool = True) -> tuple[Result, float]:
    """Run a state; return its result and its duration as reported."""
    told: list[tuple[str, float]] = []

    async def main() -> Result:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        hand = Hand(loop)
        state = State("made", "Made", is_async=is_async)
        return await run_state(
            state, lambda: act(hand), hand, Logger(), lambda *said: told.append(said)
        )

    result: Result = run(main())
    ((name, took),) = told
    assert name == "made"
    return result, round(took, 6)


def held(caplog: pytest.LogCaptureFixture) -> list[float]:
    """Return the reported times for which states blocked the event loop."""
    return [
        getattr(one, "facts", {})["seconds"]
        for one in caplog.records
        if one.getMessage() == "state blocked the event loop"
    ]


async def patient(hand: Hand) -> Result:
    """Take long, but yield all the time."""
    await hand.sleep(3600.0)
    hand.block(0.9)
    await hand.sleep(0.5)
    hand.block(0.9)
    return Done()


async def selfish(hand: Hand) -> Result:
    """Yield, and then block."""
    await hand.sleep(1.0)
    hand.block(4.0)
    await hand.sleep(1.0)
    return Done()


async def selfish_and_broken(hand: Hand) -> Result:
    """Block, and raise."""
    hand.block(2.0)
    raise KeyError("data")


def test_a_state_that_yields_may_take_long(caplog: pytest.LogCaptureFixture) -> None:
    """Two short blocking stretches are not one long one."""
    caplog.set_level(logging.WARNING)

    assert ran(patient) == (Done(), 3602.3)
    assert held(caplog) == []


def test_a_state_that_blocks_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """With the blocking time, whatever the whole duration; also if it raised."""
    assert ran(selfish) == (Done(), 6.0)
    failure, seconds = ran(selfish_and_broken)

    assert isinstance(failure, Failed)
    assert (failure.reason, seconds) == ("InternalError", 2.0)
    assert held(caplog) == [4.0, 2.0]


def test_a_plain_state_never_yields(caplog: pytest.LogCaptureFixture) -> None:
    """All of its time counts as blocking."""

    def plain(hand: Hand) -> Result:
        hand.block(1.5)
        return Done()

    assert ran(plain, is_async=False) == (Done(), 1.5)
    assert ran(lambda _hand: Done(), is_async=False) == (Done(), 0.0)
    assert held(caplog) == [1.5]


def test_a_cancellation_and_an_error_reach_the_awaiting_state() -> None:
    """Measuring does not change how a state handles its own cancellation."""

    async def stubborn(hand: Hand) -> str:
        try:
            await hand.sleep(10.0)
        except asyncio.CancelledError:
            await hand.sleep(1.0)  # cleans up
            return "cleaned up"
        return "slept"

    async def main() -> tuple[str, float]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        hand = Hand(loop)

        async def watched() -> str:
            said: str = await Held(stubborn(hand), hand)
            return said

        task = loop.create_task(watched())
        await hand.sleep(2.0)
        task.cancel()
        return await task, loop.time()

    assert run(main()) == ("cleaned up", 3.0)
