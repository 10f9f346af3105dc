"""Many deadlines share one timer: asyncio.timeout at a lower cost."""

import asyncio
from collections.abc import Awaitable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.io.timers.deadlines import Deadlines
from myrmidon.io.timers.shared_timer import SharedTimer
from myrmidon.testing import run

sleep = asyncio.sleep  # noqa: TID251  of virtual time


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 20), st.integers(0, 40)),
        min_size=1,
        max_size=8,
    )
)
def test_every_block_ends_when_it_would_have_ended_alone(
    blocks: list[tuple[int, int, int]],
) -> None:
    """For any start times, limits and durations of the others."""
    ended: dict[int, tuple[float, str]] = {}

    async def block(number: int, begins: int, allowed: int, takes: int) -> None:
        await sleep(begins)
        try:
            with deadlines.within(allowed):
                await sleep(takes + 0.5)
            how = "done"
        except TimeoutError:
            how = "late"
        ended[number] = (asyncio.get_running_loop().time(), how)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number, one in enumerate(blocks):
                group.create_task(block(number, *one))

    deadlines = Deadlines()
    run(main())
    for number, (begins, allowed, takes) in enumerate(blocks):
        late = takes + 0.5 > allowed
        expected = (begins + (allowed if late else takes + 0.5), "late" if late else "done")
        assert ended[number] == expected


def test_a_task_that_is_cancelled_by_other_code_does_not_time_out() -> None:
    """Also if the deadline is reached at the same moment."""

    async def main() -> None:
        deadlines = Deadlines()

        async def block() -> None:
            with deadlines.within(5):
                await sleep(60)

        for when in (1, 5):
            async with asyncio.TaskGroup() as group:
                task = group.create_task(block())
                asyncio.get_running_loop().call_later(when, task.cancel)
            assert task.cancelled()

    run(main())


def test_an_inner_deadline_does_not_end_the_outer_block() -> None:
    """An outer deadline ends both."""

    async def main() -> list[str]:
        deadlines, seen = Deadlines(), list[str]()
        try:
            with deadlines.within(10):
                try:
                    with deadlines.within(1):
                        await sleep(60)
                except TimeoutError:
                    seen.append("inner")
                with deadlines.within(60):
                    await sleep(30)
        except TimeoutError:
            seen.append(f"outer {asyncio.get_running_loop().time():g}")
        return seen

    assert run(main()) == ["inner", "outer 10"]


def test_an_exception_of_a_late_block_is_kept() -> None:
    """A cleanup that fails raises its own error."""

    async def main() -> None:
        with Deadlines().within(1):
            try:
                await sleep(60)
            finally:
                raise KeyError("other")

    with pytest.raises(KeyError, match="other"):
        run(main())


def test_a_late_block_is_interrupted_once() -> None:
    """Its cleanup may take any time, also while others reach their deadlines."""
    ended: list[float] = []

    async def slow_to_end() -> None:
        try:
            await sleep(60)
        finally:
            await sleep(10)
            ended.append(asyncio.get_running_loop().time())

    async def block(deadlines: Deadlines, seconds: float, work: Awaitable[None]) -> None:
        with pytest.raises(TimeoutError), deadlines.within(seconds):
            await work

    async def main() -> None:
        deadlines = Deadlines()
        async with asyncio.TaskGroup() as group:
            group.create_task(block(deadlines, 1, slow_to_end()))
            group.create_task(block(deadlines, 5, sleep(60)))

    run(main())
    assert ended == [11]


def test_all_share_one_timer() -> None:
    """When no deadline is left, it is not armed again."""
    armed: list[float] = []

    class Counted(SharedTimer):
        def set(self, at: float, loop: asyncio.AbstractEventLoop) -> None:
            before = self._timer
            super().set(at, loop)
            if self._timer is not before:
                armed.append(at)

    async def main() -> None:
        deadlines = Deadlines()
        deadlines._alarm = Counted(deadlines._look)
        for _ in range(100):
            with deadlines.within(30):
                await sleep(0.1)
        await sleep(100)

    run(main())
    assert armed == [30]


def test_another_event_loop_has_another_timer() -> None:
    """A transport may be used by one loop after the other."""
    deadlines = Deadlines()

    async def hang() -> None:
        with deadlines.within(30):
            await sleep(60)

    async def pass_by() -> None:
        with deadlines.within(1):
            await sleep(0)

    run(pass_by())
    with pytest.raises(TimeoutError):
        run(hang())
