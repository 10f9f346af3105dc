"""``myrmidon run --processes``: the parent starts, restarts and stops members, in virtual time."""

import asyncio
import signal
from argparse import ArgumentTypeError, Namespace
from itertools import pairwise

import pytest

from myrmidon.cli.arguments.replicas import count
from myrmidon.cli.processes import ProcessGroup, address_of, command_of
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.logs import Logger
from myrmidon.testing import run


class Fake:
    """A process that ends when it is told to, with the status that the test sets."""

    def __init__(self) -> None:
        self.signals: list[int] = []
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait(self) -> int:
        """Wait until it has ended."""
        return await self._ended

    def send_signal(self, number: int) -> None:
        """End in order."""
        self.signals.append(number)
        if not self._ended.done():
            self._ended.set_result(0)

    def die(self) -> None:
        """End by itself."""
        self._ended.set_result(1)


class World:
    """A group of fake processes."""

    def __init__(self, size: int) -> None:
        self.started: list[tuple[float, int, Fake]] = []
        self.clock = LoopClock()
        self.group = ProcessGroup(
            size, self._start, self._ready, clock=self.clock, log=Logger("test")
        )

    async def _start(self, number: int) -> Fake:
        self.started.append((self.clock.monotonic(), number, Fake()))
        return self.started[-1][2]

    async def _ready(self, _number: int) -> None:
        await self.clock.sleep(5)


def test_all_end_when_the_parent_is_told_to_stop() -> None:
    """And the exit status is 0."""

    async def scene() -> None:
        world = World(3)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(world.group.run())
            await world.clock.sleep(1)
            world.group.stop()
        assert running.result() == 0
        assert [number for _, number, _ in world.started] == [0, 1, 2]
        assert all(fake.signals == [signal.SIGTERM] for *_, fake in world.started)

    run(scene())


def test_a_process_that_dies_is_started_again_after_a_growing_pause() -> None:
    """The others are left alone."""

    async def scene() -> None:
        world = World(2)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(world.group.run())
            await world.clock.sleep(1)
            for pause in (1, 2, 4):
                world.started[-1][2].die()
                await world.clock.sleep(pause + 0.5)
            world.group.stop()
        times = [at for at, number, _ in world.started if number == 1]
        assert [round(after - before) for before, after in pairwise(times)] == [
            2,
            2,
            4,
        ]
        assert len([1 for _, number, _ in world.started if number == 0]) == 1
        assert running.result() == 0

    run(scene())


def test_a_restart_goes_from_one_process_to_the_next() -> None:
    """The next one is stopped when the one before is ready again."""

    async def scene() -> None:
        world = World(2)
        async with asyncio.TaskGroup() as group:
            group.create_task(world.group.run())
            await world.clock.sleep(1)
            world.group.renew()
            await world.clock.sleep(3)
            assert [number for _, number, _ in world.started] == [0, 1, 0]
            assert not world.started[1][2].signals
            await world.clock.sleep(10)
            assert [number for _, number, _ in world.started] == [0, 1, 0, 1]
            world.group.stop()

    run(scene())


def test_each_process_has_ports_of_its_own() -> None:
    """The arguments at the end win over those of the parent."""
    args = Namespace(metrics_addr=":8080", health_addr="127.0.0.1:8081")
    words = command_of(args, ["run", ".", "--processes", "4"], 2)
    assert words[:4] == ["run", ".", "--processes", "4"]
    assert words[4:] == [
        "--processes=1",
        "--shards=auto",
        "--metrics-addr=:8100",
        "--health-addr=127.0.0.1:8101",
    ]
    assert [address_of(one, 3) for one in ("", ":0", "x", ":9")] == ["", ":0", "x", ":39"]


@pytest.mark.parametrize("text", ["0", "-1", "x", ""])
def test_a_number_of_processes_is_positive(text: str) -> None:
    """Others are a mistake in the command line."""
    with pytest.raises(ArgumentTypeError, match="positive"):
        count(text)
