"""The replica processes of a soak: started, restarted when they end, and always ended."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import Group
from tests.cluster.lives import write_kubeconfig
from tests.soak.pace import monotonic, pause
from tests.soak.proxy import Proxy

ROOT = Path(__file__).parents[2]
RESTART_SECONDS = 0.5
KILLED, STOPPED, LOST = "killed", "stopped", "lease lost"
UNREACHABLE = "server not ready at the start"
EXPECTED_ENDS = frozenset({KILLED, STOPPED, LOST, UNREACHABLE})


class Slot:
    """One place for a replica.

    Each process life has its own name, which is its user and identity.
    """

    def __init__(
        self,
        number: int,
        plane: ControlPlane,
        folder: Path,
        proxy: Proxy,
        group: Group,
        *,
        alone: bool,
    ) -> None:
        self.number, self.proxy = number, proxy
        self._plane, self._folder, self._alone, self._group = plane, folder, alone, group
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped_until = 0.0
        self.names: list[str] = []
        self.ends: dict[str, str] = {}
        """How each life that is over has ended."""
        self.busy = asyncio.Lock()
        """Held during a fault that must not meet another one at this replica."""
        self.is_ending = False

    @property
    def name(self) -> str:
        """The name of the current life."""
        return self.names[-1]

    @property
    def base(self) -> Path:
        """The path of the files of the current life, without their suffix."""
        return self._folder / self.name

    def start(self) -> None:
        """Start another life."""
        self.names.append(f"replica{self.number}-{len(self.names)}")
        login = {"as": self.name, "as-groups": ["system:masters"]}
        config = self.base.with_suffix(".kubeconfig")
        write_kubeconfig(config, self._plane, login, port=self.proxy.port)
        words = [str(self._folder), self.name, str(self.number)]
        if self._alone:
            words.append("--alone")
        with self.base.with_suffix(".log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.soak.replica", *words],
                cwd=ROOT,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                process_group=self._group.id,
            )

    def send(self, number: signal.Signals) -> bool:
        """Send a signal; False if there is no process to receive it."""
        if self._process is None or self._process.poll() is not None:
            return False
        self._process.send_signal(number)
        return True

    def rest(self, seconds: float) -> None:
        """Do not start another life for so long."""
        self._stopped_until = monotonic() + seconds

    async def supervise(self) -> None:
        """Start another life whenever one ends."""
        while not self.is_ending:
            if self._process is None or self._process.poll() is not None:
                if self._process is not None:
                    self.ends[self.name] = self._how()
                    self._process = None
                if monotonic() >= self._stopped_until:
                    self.start()
            await pause(RESTART_SECONDS)

    def _how(self) -> str:
        """Return how the last life ended: its status, and its output if it failed by itself."""
        assert self._process is not None
        status = self._process.returncode
        if status != 1:
            # SIGTERM ends a process that has only begun to start without any output.
            known = {-signal.SIGKILL: KILLED, 0: STOPPED, -signal.SIGTERM: STOPPED}
            return known.get(status, f"status {status}")
        log = self.base.with_suffix(".log").read_text(errors="replace")
        if "LeadershipLostError" in log:
            return LOST
        unreachable = ("no cluster reachable", "API server is not available:", "in preflight")
        return UNREACHABLE if any(text in log for text in unreachable) else "failed"

    def end(self) -> None:
        """End the current life for good, whatever its state."""
        self.is_ending = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()
