"""What ``import myrmidon`` gives, and what it does not load."""

import subprocess
import sys

import pytest

import myrmidon

HEAVY = (
    "kubernetes_asyncio", "aiohttp", "asyncio", "deepdiff", "prometheus_client", "ssl", "yaml",
    "myrmidon.runtime", "myrmidon.io",
)  # fmt: skip


def test_an_unknown_name_is_an_error() -> None:
    """As for any other module."""
    with pytest.raises(AttributeError, match="module 'myrmidon' has no attribute 'Manger'"):
        myrmidon.Manger  # noqa: B018 - asking is the test


def test_importing_loads_no_network_stack() -> None:
    """A controller can be declared and tested without one."""
    needed = sorted(set(myrmidon.__all__) - {"Manager", "ManagerOptions"})
    check = (
        f"import sys, myrmidon; [getattr(myrmidon, name) for name in {needed!r}]; "
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )

    assert loaded.stdout.split() == []
