"""Where binaries are taken from, with scripts in the place of kubectl and Go."""

import os
import shutil
from pathlib import Path

import pytest

from tests.cluster.controlplane import binaries

# Writes an empty file for each package, as `go build -o FOLDER PACKAGE...` would a program.
GO = """
echo run >> "$MYRMIDON_CONTROLPLANE_CACHE/runs"
while [ "$1" != -o ]; do shift; done
out=$2; shift 2
if [ -d "$out" ]; then for package; do touch "$out/${package##*/}"; done; else touch "$out"; fi
"""
BROKEN_GO = "echo 'go: downloading x v1' >&2; echo 'x.go:1: no space left' >&2; exit 1"


def script(folder: Path, name: str, body: str) -> Path:
    """Write a program."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing is installed but what our scripts need."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("nice", "touch"):
        (tools / name).symlink_to(str(shutil.which(name)))
    cache = tmp_path / "cache"
    return {"PATH": f"{tmp_path / 'bin'}:{tools}", "MYRMIDON_CONTROLPLANE_CACHE": str(cache)}


@pytest.mark.parametrize(("version", "taken"), [("v1.31.9", False), ("v1.32.0", True)])
def test_path_must_be_new_enough(
    tmp_path: Path, environ: dict[str, str], version: str, *, taken: bool
) -> None:
    """An old kubectl on PATH is not used."""
    path = script(tmp_path / "bin", "kubectl", f"echo Client Version: {version}")

    assert binaries.installed("kubectl", environ) == (path if taken else None)


def test_assets_come_before_path(tmp_path: Path, environ: dict[str, str]) -> None:
    """KUBEBUILDER_ASSETS was set on purpose: it takes precedence, whatever its version."""
    script(tmp_path / "bin", "kubectl", "echo Client Version: v1.36.4")
    asset = script(tmp_path / "assets", "kubectl", "echo Client Version: v1.20.0")
    environ["KUBEBUILDER_ASSETS"] = str(tmp_path / "assets")

    assert binaries.installed("kubectl", environ) == asset


def test_without_go_the_reason_is_one_line(environ: dict[str, str]) -> None:
    """The reason names what is missing and where it was searched."""
    with pytest.raises(binaries.UnavailableError, match=r"^etcd, .*no Go to build with$"):
        binaries.find(environ)


def test_failed_build_leaves_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    """The reason is Go's first error, and no incomplete build is used."""
    script(tmp_path / "bin", "go", BROKEN_GO)

    with pytest.raises(binaries.UnavailableError, match=r"failed: x\.go:1: no space left$"):
        binaries.find(environ)

    assert os.listdir(tmp_path / "cache") == ["lock"]  # noqa: PTH208  # names are the point


def test_built_once(tmp_path: Path, environ: dict[str, str]) -> None:
    """The second search finds what the first has built."""
    script(tmp_path / "bin", "go", GO)

    first = binaries.find(environ)
    second = binaries.find(environ)

    assert first == second
    assert first.kube_apiserver.is_file()
    assert first.etcd.is_file()
    runs = (tmp_path / "cache" / "runs").read_text().splitlines()
    assert len(runs) == 2, "one for each of the two modules"
