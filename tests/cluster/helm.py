"""The program helm: from PATH, from our cache, or built with Go once into that cache."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.controlplane.binaries import UnavailableError, locked, run_go

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
            # `go install` puts the binary there when it is complete.
            run_go(
                ["install", MODULE], cache, {**environ, "GOBIN": str(cache)}, f"go install {MODULE}"
            )
    return cache / "helm"
