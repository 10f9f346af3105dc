"""What the tests of the first day share.  They run only if asked for: ``-m first_day``."""

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.controlplane.fixtures import controlplane

__all__ = ["controlplane"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark all tests below this folder, and skip them unless they were asked for by their mark."""
    is_wanted = "first_day" in str(config.option.markexpr).replace("not first_day", "")
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("first_day")
            if not is_wanted:
                item.add_marker(pytest.mark.skip(reason="`make test-first-day` runs these"))


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A list of files, without a log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name above
        """Say nothing."""


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a page with the wheel of this checkout, for pip here and in chroots."""
    folder = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([*command, str(ROOT)], check=True, env=environ)
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def environ(index: str) -> dict[str, str]:
    """The environment of a user on a new machine: nothing of this checkout, only where pip looks."""
    kept = ("PATH", "HOME", "LANG", "http_proxy", "https_proxy", "no_proxy")
    found = {key: value for key, value in os.environ.items() if key in kept}
    prefixes = ("PIP_", "UV_", "SSL_CERT_")
    settings = {key: value for key, value in os.environ.items() if key.startswith(prefixes)}
    return {**found, **settings, "PIP_FIND_LINKS": index}
