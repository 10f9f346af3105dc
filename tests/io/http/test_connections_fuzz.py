"""Many requests against a server that misbehaves at random, some of them cancelled."""

import asyncio
from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.errors import AmbiguousError, UnreachableError
from myrmidon.io.http.pool import Pool
from tests.io.http.scripted_server import Peer, pool_to

CONNECTIONS_MAX = 10
REQUESTS = 100
AFTERWARDS = range(REQUESTS, REQUESTS + 3 * CONNECTIONS_MAX)


class Moody:
    """Answers each request with its own target, in a random way; counts the requests."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.heard: Counter[str] = Counter()
        self.kind = False

    async def __call__(self, peer: Peer) -> None:
        """Serve one connection until it is closed."""
        while True:
            head = (await peer.request()).decode()
            target = head.split(" ")[1]
            length = head.partition("content-length: ")[2].partition("\r\n")[0]
            assert (await peer.reader.readexactly(int(length or "0"))) == target.encode() * bool(
                length
            )
            self.heard[target] += 1
            if not await self._answer(target, peer.writer):
                return
            if not self.kind and self._rng.random() < 0.05:
                return  # an idle connection is closed without close_notify

    async def _answer(self, target: str, writer: asyncio.StreamWriter) -> bool:
        mood = 0.9 if self.kind else self._rng.random()
        body = target.encode()
        if mood < 0.05:
            return False
        if mood < 0.10:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n" + body)
            return False
        if mood < 0.15:
            writer.write(b"no HTTP\r\n\r\n")
            return False
        if mood < 0.25:
            writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + body)
            return False
        if mood < 0.35:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if mood < 0.5:
            said = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
            said += b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
        else:
            said = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
        for start in range(0, len(said), 7 if mood < 0.6 else len(said)):
            writer.write(said[start : start + (7 if mood < 0.6 else len(said))])
            await turns(self._rng.randrange(3))
        return True


async def turns(number: int) -> None:
    """Let other tasks run first."""
    for _ in range(number):
        await asyncio.sleep(0)  # noqa: TID251  gives way without waiting


async def ask(pool: Pool, method: str, number: int) -> str:
    """Send a request; return its result."""
    target = f"/{method}/{number}"
    try:
        body = target.encode() if method == "POST" else b""
        answer = await pool.send(method, target, (), body)
    except (AmbiguousError, UnreachableError) as error:
        return type(error).__name__
    assert answer.body.decode() == target, "the answer to another request"
    return "answered"


async def crowd(pool: Pool, rng: Random) -> Counter[str]:
    """Send a hundred requests at once, some of which are cancelled."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(ask(pool, rng.choice(["GET", "POST"]), number))
            for number in range(REQUESTS)
        ]
        for task in rng.sample(tasks, REQUESTS // 4):
            await turns(rng.randrange(8))
            task.cancel()
    return Counter("given up" if task.cancelled() else task.result() for task in tasks)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_crowd_of_requests(seed: int) -> None:
    """Every request gets its own response or an error, and no write is sent twice.

    Afterwards all allowed connections can be opened.
    """
    rng = Random(seed)
    server = Moody(rng)

    async def main() -> Counter[str]:
        async with pool_to(server, connections_max=CONNECTIONS_MAX) as pool:
            found = await crowd(pool, rng)
            server.kind = True
            await turns(5)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(pool, "GET", number)) for number in AFTERWARDS]
            assert {task.result() for task in tasks} == {"answered"}
            assert pool._slots.free == CONNECTIONS_MAX
            assert len(pool._idle) <= CONNECTIONS_MAX
        return found

    found = asyncio.run(main())
    assert found.total() == REQUESTS
    assert found["answered"] > REQUESTS // 3
    for target, times in server.heard.items():
        assert times <= (1 if "POST" in target else 2), f"{target} was sent {times} times"


def test_large_answers_and_bodies() -> None:
    """A list of twenty megabytes, and an object of two."""
    large, body = b"x" * 20_000_000, b"y" * 2_000_000

    async def speak(peer: Peer) -> None:
        for _ in range(2):
            await peer.request()
            assert await peer.reader.readexactly(len(body)) == body
            peer.writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(large))
            peer.writer.write(large)
            await peer.writer.drain()

    async def main() -> None:
        async with pool_to(speak) as pool:
            for _ in range(2):
                answer = await pool.send("POST", "/", (), body)
                assert answer.body == large
            assert len(pool._idle) == 1

    asyncio.run(main())
