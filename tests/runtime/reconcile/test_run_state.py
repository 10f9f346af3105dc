"""One run of one state: what comes of it, and that it is told when it held up all others."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from myrmidon import Done, Failed, Result
from myrmidon.fsm.states import State
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.reconcile.run_state import Held, run_state
from myrmidon.testing import VirtualClock, VirtualTimeLoop, run


class Hand(VirtualClock):
    """A clock that code can move without giving way, as a call that blocks does."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__(loop)
        self.moved = 0.0

    def monotonic(self) -> float:
        """The time of the loop, and what was spent without it."""
        return super().monotonic() + self.moved

    def block(self, seconds: float) -> None:
        """Spend time and give way to nobody."""
        self.moved += seconds


def ran(act: Callable[[Hand], Any], *, is_async: bool = True) -> tuple[Result, float]:
    """The result of a state that does this, and how long it is said to have taken."""
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
    """How long states are said to have held up the process."""
    return [
        getattr(one, "facts", {})["seconds"]
        for one in caplog.records
        if one.getMessage() == "state blocked the event loop"
    ]


async def patient(hand: Hand) -> Result:
    """Take long, and give way all the time."""
    await hand.sleep(3600.0)
    hand.block(0.9)
    await hand.sleep(0.5)
    hand.block(0.9)
    return Done()


async def selfish(hand: Hand) -> Result:
    """Give way, and then no more."""
    await hand.sleep(1.0)
    hand.block(4.0)
    await hand.sleep(1.0)
    return Done()


async def selfish_and_broken(hand: Hand) -> Result:
    """Give way to nobody, and break."""
    hand.block(2.0)
    raise KeyError("data")


def test_a_state_that_gives_way_may_take_long(caplog: pytest.LogCaptureFixture) -> None:
    """Two short stretches are not one long one."""
    caplog.set_level(logging.WARNING)

    assert ran(patient) == (Done(), 3602.3)
    assert held(caplog) == []


def test_a_state_that_does_not_give_way_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """How long, however long it took in whole; also if it broke."""
    assert ran(selfish) == (Done(), 6.0)
    failure, seconds = ran(selfish_and_broken)

    assert isinstance(failure, Failed)
    assert (failure.reason, seconds) == ("InternalError", 2.0)
    assert held(caplog) == [4.0, 2.0]


def test_a_plain_state_never_gives_way(caplog: pytest.LogCaptureFixture) -> None:
    """All of its time counts."""

    def plain(hand: Hand) -> Result:
        hand.block(1.5)
        return Done()

    assert ran(plain, is_async=False) == (Done(), 1.5)
    assert ran(lambda _hand: Done(), is_async=False) == (Done(), 0.0)
    assert held(caplog) == [1.5]


def test_what_is_thrown_in_comes_to_the_one_who_waits() -> None:
    """A cancellation is seen, and an error of an awaited task is caught, as without the watch."""

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
