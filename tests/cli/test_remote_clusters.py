"""``myrmidon run --remote``: from a context of the kubeconfig, or from a Secret."""

import argparse
from base64 import b64encode
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.cli.arguments import remote_clusters
from myrmidon.cli.arguments.remote_clusters import open_remotes, remote_of
from myrmidon.errors import UsageError
from myrmidon.testing import run

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: edge
contexts: [{name: edge, context: {cluster: far, user: me}}]
clusters: [{name: far, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: me, user: {token: abc}}]
"""


def opened(args: argparse.Namespace) -> list[str]:
    """Return the names of the clusters that a command line opens."""

    async def main() -> list[str]:
        async with AsyncExitStack() as stack:
            return list(await open_remotes(args, stack))

    return run(main())


def with_secret(monkeypatch: pytest.MonkeyPatch, data: Json) -> None:
    """Add a Secret with that content to the home cluster."""

    class Reading:
        def __init__(self, _args: Any) -> None:
            pass

        async def __aenter__(self) -> Any:
            return self, None

        async def __aexit__(self, *_: object) -> None:
            pass

        async def get(self, ref: Any) -> Json:
            assert (ref.namespace, ref.name) == ("ops", "edge")
            return {"data": data}

    monkeypatch.setattr(remote_clusters, "reading", Reading)


def test_a_context_of_the_kubeconfig(tmp_path: Path) -> None:
    """That of --kubeconfig, as for the home cluster."""
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    args = argparse.Namespace(remote=[remote_of("far=edge")], kubeconfig=str(path))
    assert opened(args) == ["far"]


def test_a_secret_with_a_kubeconfig(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its key kubeconfig."""
    with_secret(monkeypatch, {"kubeconfig": b64encode(KUBECONFIG.encode()).decode()})
    args = argparse.Namespace(remote=[remote_of("far=secret/ops/edge")], kubeconfig=None)
    assert opened(args) == ["far"]


@pytest.mark.parametrize(
    ("source", "data", "said"),
    [
        ("secret/ops/edge", {}, "fix: put one into its key 'kubeconfig'"),
        ("secret/ops/edge", {"kubeconfig": "???"}, "fix: put one into its key 'kubeconfig'"),
        ("secret/edge", {}, "fix: write --remote far=secret/NAMESPACE/NAME"),
    ],
)
def test_a_secret_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, source: str, data: Json, said: str
) -> None:
    """The error is one sentence with a fix."""
    with_secret(monkeypatch, data)
    args = argparse.Namespace(remote=[("far", source)], kubeconfig=None)
    with pytest.raises(UsageError, match=said):
        opened(args)


@pytest.mark.parametrize("text", ["edge", "=edge", "edge="])
def test_a_remote_without_a_name_or_a_source(text: str) -> None:
    """The error says what to write instead."""
    with pytest.raises(argparse.ArgumentTypeError, match="write edge=CONTEXT"):
        remote_of(text)
