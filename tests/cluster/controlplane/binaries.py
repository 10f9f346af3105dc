"""Where the binaries of a control plane come from.

Each is searched in KUBEBUILDER_ASSETS and on PATH, and otherwise built with Go from the two
modules beside this file, once, into a cache outside the repository.  Only the go.mod files name
the versions.  A search without a result raises `UnavailableError`, whose message is one line:
tests are skipped with it.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent

# The oldest version that is taken from PATH.  Our recorded answers are those of Kubernetes 1.36;
# older etcd refuses watches with `sendInitialEvents`; older kubectl lacks flags that we use.
OLDEST: Mapping[str, tuple[int, ...]] = {
    "etcd": (3, 5, 13),
    "kube-apiserver": (1, 36),
    "kube-controller-manager": (1, 36),
    "kubectl": (1, 32),
}
VERSION_ARGUMENTS: Mapping[str, tuple[str, ...]] = {"kubectl": ("version", "--client")}
KUBE_COMMANDS = ("kube-apiserver", "kube-controller-manager", "kubectl")


class UnavailableError(Exception):
    """No control plane is available; the message says why, in one line."""


@dataclass(frozen=True)
class Binaries:
    """The four programs, as absolute paths."""

    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    kubectl: Path


def find(environ: Mapping[str, str] = os.environ) -> Binaries:
    """Find all four, building those that are not installed.

    They are searched one by one, because envtest's assets lack kube-controller-manager.
    """
    found = {name: installed(name, environ) for name in OLDEST}
    missing = [name for name, path in found.items() if path is None]
    built = build(missing, environ) if missing else Path()
    paths = {name: path or built / name for name, path in found.items()}
    return Binaries(**{name.replace("-", "_"): path for name, path in paths.items()})


def installed(name: str, environ: Mapping[str, str]) -> Path | None:
    """Look in KUBEBUILDER_ASSETS, then on PATH.

    Assets were set on purpose and are used as they are; a binary on PATH must be new enough.
    """
    if assets := environ.get("KUBEBUILDER_ASSETS"):
        path = Path(assets).resolve() / name
        if os.access(path, os.X_OK):
            return path
    on_path = shutil.which(name, path=environ.get("PATH"))
    if on_path is None or version_of(Path(on_path)) < OLDEST[name]:
        return None
    return Path(on_path)


def version_of(binary: Path) -> tuple[int, ...]:
    """Ask a binary for its version; one that does not answer is older than all others."""
    command = [str(binary), *VERSION_ARGUMENTS.get(binary.name, ("--version",))]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = re.search(r"\bv?(\d+)\.(\d+)\.(\d+)", answer.stdout)
    return tuple(int(part) for part in match.groups()) if match else ()


def build(missing: list[str], environ: Mapping[str, str]) -> Path:
    """Return the folder of the built binaries; build them if it does not exist.

    The folder appears by a rename when it is complete.  The lock makes a second process wait for
    the first one instead of building the same on the same cores.
    """
    kube, etcd = versions()
    cache = cache_root(environ)
    target = cache / f"{kube}-etcd-{etcd}"
    if target.is_dir():
        return target
    if shutil.which("go", path=environ.get("PATH")) is None:
        raise UnavailableError(
            f"{', '.join(missing)}: neither in KUBEBUILDER_ASSETS nor on PATH nor in {target}, and no Go to build with"
        )
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / "lock"):
        if not target.is_dir():
            build_into(target, kube, environ)
    return target


def build_into(target: Path, kube: str, environ: Mapping[str, str]) -> None:
    """Build everything beside the target, then move it there."""
    print(f"Building {target}; this is done once and takes some minutes", file=sys.stderr)  # noqa: T201  # minutes of silence look like a hang
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="building-") as scratch:
        out = Path(scratch) / "bin"
        out.mkdir()
        go_build(HERE / "etcd", out / "etcd", ["go.etcd.io/etcd/server/v3"], "", environ)
        packages = [f"k8s.io/kubernetes/cmd/{name}" for name in KUBE_COMMANDS]
        go_build(HERE / "kube", out, packages, version_flags(kube), environ)
        out.rename(target)


def go_build(
    module: Path, out: Path, packages: list[str], flags: str, environ: Mapping[str, str]
) -> None:
    """Run the ordinary go command in one of our modules, as it is set up on this machine."""
    command = ["build", "-trimpath", "-ldflags", f"-s -w {flags}"]
    run_go([*command, "-o", str(out), *packages], module, environ, f"go build in {module}")


def run_go(arguments: list[str], folder: Path, environ: Mapping[str, str], what: str) -> None:
    """Run the go command in a folder; raise ``UnavailableError`` with its first error line.

    Lines about downloaded modules are not errors, and come first.
    """
    result = subprocess.run(
        ["nice", "-n", "10", "go", *arguments],
        cwd=folder,
        env={**environ, "CGO_ENABLED": "0", "GOWORK": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if "downloading" not in line]
        reason = lines[0] if lines else f"exit status {result.returncode}"
        raise UnavailableError(f"{what} failed: {reason}")


def version_flags(kube: str) -> str:
    """Linker flags that name the version; without them /version answers v0.0.0-master."""
    major, minor, _ = kube.removeprefix("v").split(".")
    values = {"gitVersion": kube, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {p}.{name}={value}" for p in packages for name, value in values.items())


def versions() -> tuple[str, str]:
    """Read the versions of Kubernetes and etcd from the go.mod files."""
    return (
        required(HERE / "kube" / "go.mod", "k8s.io/kubernetes"),
        required(HERE / "etcd" / "go.mod", "go.etcd.io/etcd/server/v3"),
    )


def required(go_mod: Path, module: str) -> str:
    """Find the version at which a go.mod requires a module."""
    match = re.search(
        rf"^(?:require)?\s+{re.escape(module)} (v\S+)", go_mod.read_text(), re.MULTILINE
    )
    assert match, f"{go_mod} does not require {module}"
    return match[1]


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return where builds are kept."""
    chosen = environ.get("MYRMIDON_CONTROLPLANE_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "myrmidon" / "controlplane"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock on a file; the kernel releases it even if this process is killed."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
