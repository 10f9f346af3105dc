"""Programs that tests build with Go, once, into a cache outside the repository."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.cluster.controlplane.binaries import UnavailableError, locked

CACHE = Path.home() / ".cache" / "myrmidon"


def built(
    folder: str, name: str, build: Callable[[Path], None], environ: Mapping[str, str] = os.environ
) -> Path:
    """Return the program ``name`` in a folder of the cache; let ``build`` put it there if it is missing.

    Raises ``UnavailableError``, in one line, if there is no Go.
    """
    cache = CACHE / folder
    if not (cache / name).is_file():
        if shutil.which("go", path=environ.get("PATH")) is None:
            raise UnavailableError(f"{name}: not in {cache}, and no Go to build with")
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache / "lock"):
            if not (cache / name).is_file():
                build(cache)
    return cache / name
