"""A response body that is delivered while it arrives."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.errors import AmbiguousError
from myrmidon.io.http.streams import Lines, Stream
from myrmidon.io.http.wires import Wire

MUCH = bytes(1 << 18)


@given(st.lists(st.binary(max_size=6).map(lambda piece: piece.replace(b"0", b"\n")), max_size=12))
def test_lines_are_the_same_however_the_text_is_cut(pieces: list[bytes]) -> None:
    """Text after the last line end is not a line."""
    lines = Lines()
    found = [line for piece in pieces for line in lines.cut(piece)]
    assert found == b"".join(pieces).split(b"\n")[:-1]


class Valve:
    """A wire that records whether it is being read."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def pause(self) -> None:
        """Record the pause."""
        self.said.append("pause")

    def resume(self) -> None:
        """Record the resume."""
        self.said.append("resume")

    def close(self) -> None:
        """Record the close."""
        self.said.append("close")


def play(check: Callable[[Stream, Valve], Awaitable[None]]) -> None:
    """Run a check on a stream."""

    async def main() -> None:
        valve = Valve()
        await check(Stream(200, (), cast("Wire", valve)), valve)

    asyncio.run(main())


def test_a_server_that_is_faster_than_its_reader_is_paused() -> None:
    """At most a quarter of a megabyte is buffered; then reading resumes."""

    async def check(stream: Stream, valve: Valve) -> None:
        stream.feed(MUCH)
        assert valve.said == []
        stream.feed(b"one more\n")
        assert valve.said == ["pause"]
        assert len(await anext(stream.lines())) == len(MUCH) + len(b"one more")
        assert valve.said == ["pause", "resume"]
        stream.feed(b"two")
        stream.end()
        assert await stream.read() == b"two"
        stream.hang_up()
        assert valve.said == ["pause", "resume", "close"]

    play(check)


def test_data_before_the_end_is_read_before_the_end() -> None:
    """Whether the end was clean or an error, and however late the reader is."""

    async def check(stream: Stream, _valve: Valve) -> None:
        stream.feed(b"a\nb")
        stream.end(AmbiguousError("cut off"))
        stream.end()  # the first end counts
        lines = stream.lines()
        assert await anext(lines) == b"a"
        for _ in range(2):
            with pytest.raises(AmbiguousError, match="cut off"):
                await stream.read()

    play(check)


def test_a_waiting_reader_is_woken() -> None:
    """By the next piece and by the end; a cancelled reader is not."""

    async def check(stream: Stream, _valve: Valve) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(stream.read())
            loop.call_soon(task.cancel)
        assert task.cancelled()
        stream.feed(b"a")
        loop.call_soon(stream.feed, b"b")
        loop.call_soon(stream.end)
        assert await stream.read() == b"ab"

    play(check)
