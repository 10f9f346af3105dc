"""ProcessGroup: the parent of several processes that share the objects on one machine.

``myrmidon run --processes 4`` starts four members of ``--shards auto`` with the same command line; each
has ports of its own.  They coordinate by their Leases like replicas on different machines, so the
parent only starts, restarts and stops them:

- SIGTERM and SIGINT are passed on to all; the parent ends when all have ended.
- SIGHUP restarts them one after another: each is stopped in order, hands its objects over, and is
  started again; the next one follows when it is ready.
- A process that ends by itself is started again, at once if it ran for a minute, otherwise after a
  pause that doubles up to 30 seconds.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from myrmidon.api.clock import Clock
from myrmidon.cli.signals import on_stop
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.logs import Logger

PORTS_APART = 10
"""The ports of two processes differ by so much: one has a port for metrics and one for probes."""
_PAUSE_SECONDS, _PAUSE_SECONDS_MAX, _LONG_SECONDS = 1.0, 30.0, 60.0


class Child(Protocol):
    """A process, as ``asyncio.create_subprocess_exec`` returns it."""

    async def wait(self) -> int:
        """Wait until it has ended; return its exit status."""

    def send_signal(self, signal: int) -> None:
        """Send it a signal."""


class ProcessGroup:
    """Keeps ``count`` processes running.

    ``start`` starts the process of a number; ``ready`` waits until it works, or until it cannot.
    """

    def __init__(
        self,
        count: int,
        start: Callable[[int], Awaitable[Child]],
        ready: Callable[[int], Awaitable[None]],
        *,
        clock: Clock,
        log: Logger,
    ) -> None:
        self._count, self._start, self._ready = count, start, ready
        self._clock, self._log = clock, log
        self._children: dict[int, Child] = {}
        self._renewing: set[int] = set()  # those that are stopped in order to be started again
        self._stopping, self._renew = asyncio.Event(), asyncio.Event()

    def stop(self) -> None:
        """Let all processes end."""
        self._stopping.set()
        for number, child in self._children.items():
            self._send(number, child)

    def renew(self) -> None:
        """Restart all processes, one after another."""
        self._renew.set()

    async def run(self) -> int:
        """Run until stopped; return 0 if the last status of every process was 0, else 1."""
        async with asyncio.TaskGroup() as group:
            keepers = [group.create_task(self._keep(number)) for number in range(self._count)]
            renewer = group.create_task(self._renew_all())
            await asyncio.wait(keepers)
            renewer.cancel()
        return int(any(keeper.result() for keeper in keepers))

    async def _keep(self, number: int) -> int:
        """Run the process of one number, again and again; return its last exit status."""
        pause, status = _PAUSE_SECONDS, 0
        while not self._stopping.is_set():
            began_at = self._clock.monotonic()
            child = self._children[number] = await self._start(number)
            if self._stopping.is_set():
                self._send(number, child)
            status = await child.wait()
            del self._children[number]
            if self._stopping.is_set():
                break
            if number in self._renewing:
                self._renewing.discard(number)
                continue
            self._log.warning("process ended", process=number, status=status)
            lived = self._clock.monotonic() - began_at
            pause = _PAUSE_SECONDS if lived > _LONG_SECONDS else pause
            await self._sleep(pause)
            pause = min(2 * pause, _PAUSE_SECONDS_MAX)
        return status

    async def _renew_all(self) -> None:
        while True:
            await self._renew.wait()
            self._renew.clear()
            for number in range(self._count):
                child = self._children.get(number)
                if child is not None and not self._stopping.is_set():
                    self._renewing.add(number)
                    self._send(number, child)
                    while number in self._renewing or number not in self._children:
                        await self._clock.sleep(0.1)
                    await self._ready(number)
            self._log.info("all processes restarted")

    async def _sleep(self, seconds: float) -> None:
        """Sleep, but not longer than until ``stop``."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return

    def _send(self, number: int, child: Child) -> None:
        try:
            child.send_signal(signal.SIGTERM)
        except ProcessLookupError:
            self._log.debug("process has ended already", process=number)


def address_of(address: str, number: int) -> str:
    """Return the address of one of several processes: its port is higher by ten for each.

    An empty address and port 0, which is any free port, stay as they are.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or port == "0":
        return address
    return f"{host}:{int(port) + PORTS_APART * number}"


def run_group(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Run ``args.processes`` processes of this command line, ``words``, until stopped."""

    async def start(number: int) -> Child:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "myrmidon", *command_of(args, words, number)
        )

    async def ready(number: int) -> None:
        await wait_ready(address_of(args.health_addr, number), clock)

    async def keep() -> int:
        log = Logger("myrmidon.processes")
        group = ProcessGroup(args.processes, start, ready, clock=clock, log=log)
        on_stop(group.stop)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, group.renew)
        return await group.run()

    clock = LoopClock()
    return asyncio.run(keep())


def command_of(args: argparse.Namespace, words: Sequence[str], number: int) -> list[str]:
    """Return the arguments of one process: those of the parent, with addresses of its own."""
    return [
        *words,
        "--processes=1",
        "--shards=auto",
        f"--metrics-addr={address_of(args.metrics_addr, number)}",
        f"--health-addr={address_of(args.health_addr, number)}",
    ]


async def wait_ready(address: str, clock: Clock, seconds: float = 60.0) -> None:
    """Wait until readyz of a process answers 200, or for ``seconds``; 10 without an address."""
    host, _, port = address.rpartition(":")
    if not port.isdigit() or port == "0":
        await clock.sleep(10.0)
        return
    until = clock.monotonic() + seconds
    while clock.monotonic() < until:
        try:
            reader, writer = await asyncio.open_connection(host or "127.0.0.1", int(port))
            writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            line = await reader.readline()
            writer.close()
            if b" 200 " in line:
                return
        except OSError:
            pass  # it does not listen yet
        await clock.sleep(0.5)
