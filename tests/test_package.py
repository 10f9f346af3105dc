"""What ``import myrmidon`` gives, and what it does not load."""

import subprocess
import sys
from pathlib import Path

import pytest

import myrmidon
from myrmidon.cli.local.embedded_server import write_kubeconfig
from tests.first_day.image_sizes import documented

HEAVY = (
    "kubernetes_asyncio", "aiohttp", "asyncio", "deepdiff", "prometheus_client", "ssl", "yaml",
    "myrmidon.runtime", "myrmidon.io",
)  # fmt: skip

NOT_FOR_RUN = (
    "myrmidon.apiserver", "myrmidon.testing", "myrmidon.cli.local", "myrmidon.cli.scaffold",
    "kubernetes_asyncio", "deepdiff", "cachebox", "orderly_set", "rich", "pygments", "markdown_it",
    "mdurl", "hypothesis", "pytest",
)  # fmt: skip
"""What ``myrmidon run`` does not import, and so what an image does not need."""


def test_an_unknown_name_is_an_error() -> None:
    """As for any other module."""
    with pytest.raises(AttributeError, match="module 'myrmidon' has no attribute 'Manger'"):
        myrmidon.Manger  # noqa: B018 - asking is the test


def test_importing_loads_no_network_stack() -> None:
    """A controller can be declared and tested without one."""
    needed = sorted(set(myrmidon.__all__) - {"Manager", "ManagerOptions", "WebhookOptions"})
    check = (
        f"import sys, myrmidon; [getattr(myrmidon, name) for name in {needed!r}]; "
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )

    assert loaded.stdout.split() == []


def test_running_a_controller_loads_neither_the_embedded_server_nor_the_models(
    tmp_path: Path,
) -> None:
    """An image may leave them out; the models of kubernetes-asyncio cost 35 MB and half a second.

    The server does not answer, so the command ends as soon as it has opened the cluster.
    """
    kubeconfig = tmp_path / "kubeconfig"
    write_kubeconfig(kubeconfig, "http://127.0.0.1:1", "token")
    command = ["run", "examples/web_app", "--kubeconfig", str(kubeconfig), "--start-timeout=0s"]
    command += ["--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0", "--leader-election"]
    check = (
        f"import sys; from myrmidon.cli.main import main; main({command!r}); "
        f"print(*[name for name in {NOT_FOR_RUN!r} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)

    assert "127.0.0.1:1" in ran.stderr
    assert ran.stdout.split() == []


def test_the_documentation_removes_only_what_running_does_not_import() -> None:
    """The page names folders of an image that may be removed."""
    assert set(documented().modules) <= set(NOT_FOR_RUN)
