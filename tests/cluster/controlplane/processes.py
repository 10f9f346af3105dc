"""Child processes with logs, and the waiting for them."""

import errno
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

STOP_SECONDS = 20.0


class StartError(Exception):
    """A process failed or did not become ready; the message ends with the tail of its log."""


class Group:
    """A process group that ends with this process, even if it is killed.

    Otherwise a killed run would leave an etcd and an API server behind.  The first process of the
    group is a shell that reads from a pipe which only we can write to; when we end, it reads the
    end of file and kills the group.  The death signal of Linux would come too early: it is sent
    when the starting *thread* ends.
    """

    def __init__(self) -> None:
        self._guard = subprocess.Popen(
            ["sh", "-c", "trap '' TERM INT; read _; kill -KILL 0"],
            stdin=subprocess.PIPE,
            process_group=0,
        )
        self.id = self._guard.pid

    def close(self) -> None:
        """Kill the rest of the group."""
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()


class Process:
    """One program of the control plane, which can be started again after it has ended."""

    def __init__(self, command: Sequence[str], log: Path, group: Group) -> None:
        self.name = Path(command[0]).name
        self._command = command
        self._log = log
        self._group = group
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._popen is not None and self._popen.poll() is None

    def start(self) -> None:
        """Start it; its output is appended to the log."""
        assert not self.running, f"{self.name} runs already"
        with self._log.open("ab") as log:
            self._popen = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=self._group.id,
            )

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; a process that has ended is ignored."""
        if self._popen is not None:
            self._popen.send_signal(number)

    def stop(self) -> None:
        """Ask it to end, and kill it if it does not.

        A paused process would receive the request only after it is resumed.
        """
        if self._popen is None:
            return
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        try:
            self._popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill it, as a crash would."""
        if self._popen is not None:
            self._popen.kill()
            self._popen.wait()

    def wait_until(self, check: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait until it is ready, and fail at once if the process ends instead."""
        try:
            wait_until(lambda: not self.running or check(), what, seconds)
        except TimeoutError as error:
            raise StartError(f"{self.name}: {error}\n{self.tail()}") from None
        if not self.running:
            code = self._popen.returncode if self._popen else None
            raise StartError(f"{self.name} ended with status {code}\n{self.tail()}")

    def tail(self, lines: int = 20) -> str:
        """Return the end of the log."""
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        return "\n".join(f"  | {line}" for line in text.splitlines()[-lines:])


def wait_until(check: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Poll until it holds, at most for so many seconds."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(0.05)  # noqa: TID251  # other processes keep real time


def free_port() -> int:
    """Find a free port on the loopback address, below the range of outgoing connections.

    An API server that was killed is restarted on its port.  A port of the outgoing range could be
    taken in the meantime, even by a client that tries to reach it and so connects to itself.
    """
    for port in random.SystemRandom().sample(range(20000, 32000), 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                return port
    raise StartError("a hundred ports of the loopback address were tried and none was free")
