"""The program helm: from PATH, from our cache, or built with Go once into that cache."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.controlplane.binaries import run_go
from tests.cluster.go_programs import built

MODULE = "helm.sh/helm/v3/cmd/helm@v3.16.4"


def find(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of helm; raise ``UnavailableError``, in one line, if there is none."""
    if found := shutil.which("helm", path=environ.get("PATH")):
        return Path(found)

    def build(cache: Path) -> None:
        # `go install` puts the binary there when it is complete.
        settings = {**environ, "GOBIN": str(cache)}
        run_go(["install", MODULE], cache, settings, f"go install {MODULE}")

    return built("helm", "helm", build, environ)
