"""``myrmidon server`` as a process, for tests with other clients."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_SECONDS_TO_STOP = 10.0
ROOT = Path(__file__).parents[3]


class Served(NamedTuple):
    """A running server."""

    url: str
    kubeconfig: Path
    log: Path


@contextmanager
def server(folder: Path, *arguments: str) -> Iterator[Served]:
    """Run the command until the block is left; any log line is a failure."""
    kubeconfig, log = folder / "server.kubeconfig", folder / "server.log"
    command = [sys.executable, "-m", "myrmidon", "server", "--kubeconfig-out", str(kubeconfig)]
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*command, *arguments], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=errors
        )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("serving "), f"{said} {log.read_text()}"
        yield Served(said.split()[1], kubeconfig, log)
    finally:
        process.terminate()
        process.communicate(timeout=_SECONDS_TO_STOP)
    assert log.read_text() == ""
