"""A root file system in place of ``python:3.13-slim``: Debian 13 with its Python 3.13 and pip.

It is made by debootstrap from the Debian mirror, once, into a cache outside the repository.  That
needs root and the network; where either is missing, the tests are skipped with one line.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.cluster.controlplane.binaries import UnavailableError, locked

RELEASE, MIRROR = "trixie", "http://deb.debian.org/debian"
PACKAGES = "ca-certificates,python3,python3-venv,python3-pip"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
CACHE = Path.home() / ".cache" / "myrmidon" / "image-base"


def find() -> Path:
    """Return the root file system; raise ``UnavailableError``, in one line, if it cannot be made."""
    root = CACHE / RELEASE
    if os.geteuid() != 0:
        raise UnavailableError("an image is built in a chroot, which needs root")
    CACHE.mkdir(parents=True, exist_ok=True)
    with locked(CACHE / "lock"):
        if not root.is_dir():
            _make(root)
    return root


def _make(root: Path) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        tools = Path(folder)
        _ran(["apt-get", "download", "debootstrap"], tools)
        (package,) = tools.glob("debootstrap_*.deb")
        _ran(["dpkg", "-x", str(package), "."], tools)
        environ = {**os.environ, "DEBOOTSTRAP_DIR": str(tools / "usr/share/debootstrap")}
        options = ["--no-check-gpg", "--variant=minbase", f"--include={PACKAGES}"]
        command = [str(tools / "usr/sbin/debootstrap"), *options, RELEASE, "root", MIRROR]
        _ran(command, tools, environ)
        made = tools / "root"
        (made / "usr/local/bin/python").symlink_to("/usr/bin/python3")
        if CERTIFICATES.is_file():  # those of this machine, for its way to the package index
            shutil.copy(CERTIFICATES, made / CERTIFICATES.relative_to("/"))
        for name in ("var/lib/apt/lists", "var/cache/apt"):
            shutil.rmtree(made / name, ignore_errors=True)
        made.rename(root)


def _ran(command: list[str], folder: Path, environ: dict[str, str] | None = None) -> None:
    try:
        ran = subprocess.run(
            command, cwd=folder, env=environ, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise UnavailableError(f"{command[0]} is missing: this machine is not a Debian") from None
    if ran.returncode:
        last = (ran.stderr or ran.stdout).strip().splitlines()[-1:]
        raise UnavailableError(f"{Path(command[0]).name} failed: {' '.join(last)}")
