"""A Go program with the types of the Kubernetes API: ``ask`` builds it once and runs it."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.cluster.controlplane.binaries import UnavailableError, cache_root, locked, run_go

HERE = Path(__file__).parent


@cache
def program() -> Path:
    """Return the program; build it if its sources have changed.  Needs Go and the module proxy."""
    if shutil.which("go") is None:
        raise UnavailableError("no Go to build tests/cluster/gotypes with")
    target = cache_root(os.environ).parent / "gotypes" / "gotypes"
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.with_name("lock")):
        run_go(
            ["build", "-trimpath", "-o", str(target), "."], HERE, os.environ, f"go build in {HERE}"
        )
    return target


def ask(what: str, sent: bytes = b"") -> bytes:
    """Return what the program prints; see ``main.go``."""
    done = subprocess.run([str(program()), what], input=sent, capture_output=True, check=True)
    return done.stdout
