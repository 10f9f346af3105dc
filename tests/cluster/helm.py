"""The program helm: from PATH, from our cache, or built with Go once into that cache."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.controlplane.binaries import UnavailableError, locked

MODULE = "helm.sh/helm/v3/cmd/helm@v3.16.4"


def find(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of helm; raise ``UnavailableError``, in one line, if there is none."""
    if found := shutil.which("helm", path=environ.get("PATH")):
        return Path(found)
    cache = Path.home() / ".cache" / "myrmidon" / "helm"
    if (cache / "helm").is_file():
        return cache / "helm"
    if shutil.which("go", path=environ.get("PATH")) is None:
        raise UnavailableError(f"helm: neither on PATH nor in {cache}, and no Go to build with")
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / "lock"):
        if not (cache / "helm").is_file():
            _build(cache, environ)
    return cache / "helm"


def _build(cache: Path, environ: Mapping[str, str]) -> None:
    """Run ``go install``, which puts the binary there when it is complete."""
    result = subprocess.run(
        ["nice", "-n", "10", "go", "install", MODULE],
        cwd=cache,
        env={**environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOBIN": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if "downloading" not in line]
        reason = lines[0] if lines else f"exit status {result.returncode}"
        raise UnavailableError(f"go install {MODULE} failed: {reason}")
