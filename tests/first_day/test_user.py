"""The first day of a user: a wheel, a project, its tests, its manifests, its image, Ready in a cluster.

Each step is a command that the documentation names, in an environment that knows nothing of this
checkout.  The image is built by executing its Dockerfile in chroots (see ``dockerfile``), and started
as the pod of the generated Deployment would be: as its user, with its arguments, on a read-only file
system, with the files of its ServiceAccount, whose rights are exactly the generated ones.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.controlplane.binaries import UnavailableError
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import free_port
from tests.first_day import debian
from tests.first_day.dockerfile import Image, build, run
from tests.first_day.image_sizes import documented

NAMESPACE, ACCOUNT = "greeting-system", "greeting"
SERVICE_ACCOUNT = "run/secrets/kubernetes.io/serviceaccount"
SITE = "venv/lib/python3.13/site-packages"
TOLERANCE = 0.1  # of the documented sizes: new releases of dependencies differ a little


def ran(command: list[str], folder: Path, environ: Mapping[str, str]) -> str:
    """Run a command; return its output, or fail with it."""
    done = subprocess.run(
        command, cwd=folder, env=dict(environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str]) -> Path:
    """A new project, made by a myrmidon that pip has installed into a new environment."""
    home = tmp_path_factory.mktemp("user")
    ran([sys.executable, "-m", "venv", "env"], home, environ)
    ran(["env/bin/pip", "install", "--quiet", "myrmidon"], home, environ)
    assert ran(["env/bin/myrmidon", "--version"], home, environ).startswith("myrmidon ")
    said = ran(["env/bin/myrmidon", "init", "greeting"], home, environ)
    assert "make demo" in said
    assert "1 of 1 Ready" in ran(["env/bin/myrmidon", "dev", "greeting", "--once"], home, environ)
    return home / "greeting"


def test_the_project_tests_itself_and_builds_a_wheel(
    project: Path, environ: dict[str, str]
) -> None:
    """`make test` makes the virtual environment; the wheel has the package and not the tests."""
    assert "2 passed" in ran(["make", "test", f"PYTHON={sys.executable}"], project, environ)
    assert "1 of 1 Ready" in ran([".venv/bin/myrmidon", "dev", ".", "--once"], project, environ)

    ran([".venv/bin/pip", "wheel", "--quiet", "--no-deps", "-w", "dist", "."], project, environ)
    (wheel,) = (project / "dist").glob("greeting-*.whl")
    listed = ran([sys.executable, "-m", "zipfile", "-l", str(wheel)], project, environ)
    assert "greeting/controller.py" in listed
    assert "test_controller" not in listed


def test_the_lock_has_a_hash_for_every_package(project: Path, environ: dict[str, str]) -> None:
    """`make lock`, and pip accepts what it writes."""
    ran(["make", "lock"], project, {**environ, "UV_FIND_LINKS": environ["PIP_FIND_LINKS"]})
    text = (project / "requirements.txt").read_text()

    assert text.count("==") <= text.count("--hash=sha256:")
    command = [".venv/bin/pip", "install", "--dry-run", "--quiet", "-r", "requirements.txt"]
    ran(command, project, environ)


@pytest.fixture(scope="session")
def image(
    project: Path, tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str]
) -> Iterator[Image]:
    """The image of the project."""
    try:
        base = debian.find()
    except UnavailableError as error:
        pytest.skip(str(error))
    work = tmp_path_factory.mktemp("image")
    settings = {key: value for key, value in environ.items() if key.startswith("PIP_")}
    yield build(project, base, work, settings)
    shutil.rmtree(work)


def test_the_image_has_the_program_and_nothing_to_build_with(image: Image) -> None:
    """No pip, no source tree, no tests; compiled modules, because the pod cannot write any."""
    installed = image.root / SITE

    assert (installed / "greeting/controller.py").is_file()
    assert list((installed / "greeting/__pycache__").glob("controller.*.pyc"))
    assert not (installed / "pip").exists()
    assert list((image.root / "app").iterdir()) == []
    assert not (image.root / "src").exists()
    assert image.user == "65532:65532"
    added = size(image.root / "venv")
    print(f"\nthe image adds {added:.0f} MB to its base image")  # noqa: T201
    assert added == pytest.approx(documented().added, rel=TOLERANCE), "correct the page"


def size(folder: Path) -> float:
    """Return the size of all files of a folder, in MB."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def test_the_image_becomes_ready_with_the_generated_rights(
    project: Path,
    image: Image,
    controlplane: ControlPlane,
    environ: dict[str, str],
    tmp_path: Path,
) -> None:
    """The manifests are applied by kubectl as `generate all` wrote them; no request of the controller is refused."""
    kubectl = [str(controlplane.binaries.kubectl), "--kubeconfig", str(controlplane.kubeconfig)]
    ran(["make", "manifests", f"PYTHON={sys.executable}"], project, environ)
    ran([*kubectl, "apply", "-k", "deploy"], project, environ)
    crd = "crd/greetings.example.com"
    ran([*kubectl, "wait", "--for=condition=Established", crd, "--timeout=30s"], project, environ)
    deployment = yaml.safe_load((project / "deploy/deploy/deployment.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    account = service_account(kubectl, controlplane, tmp_path / "account")
    pod = {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(controlplane.port),
    }

    ready = [*kubectl, "wait", "--for=condition=Ready", "--timeout=60s"]
    with running(image, with_free_ports(container["args"]), account, pod) as process:
        ran([*kubectl, "apply", "-f", "sample.yaml"], project, environ)
        ran([*ready, "greeting/hello"], project, environ)
        peak = Path(f"/proc/{process.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
        print(f"\nReady with {int(peak) / 1000:.0f} MB of memory")  # noqa: T201

    before = size(image.root / "venv")
    run(documented().instruction, replace(image, user="0:0"), {})
    saved = before - size(image.root / "venv")
    print(f"\n{saved:.0f} MB of the image are never imported in a cluster")  # noqa: T201
    assert saved == pytest.approx(documented().saved, rel=TOLERANCE), "correct the page"
    with running(image, with_free_ports(container["args"]), account, pod):
        other = (project / "sample.yaml").read_text().replace("name: hello", "name: other")
        (project / "other.yaml").write_text(other)
        ran([*kubectl, "apply", "-f", "other.yaml"], project, environ)
        ran([*ready, "greeting/other"], project, environ)

    name = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
    asked = [event for event in controlplane.audit_events() if event["user"]["username"] == name]
    assert asked
    assert [event for event in asked if event["responseStatus"]["code"] in (401, 403)] == []


def service_account(kubectl: list[str], plane: ControlPlane, folder: Path) -> Path:
    """Return a folder with the files that a kubelet mounts for the ServiceAccount."""
    folder.mkdir()
    command = [*kubectl, "create", "token", ACCOUNT, "--namespace", NAMESPACE]
    token = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    (folder / "token").write_text(token)
    (folder / "namespace").write_text(NAMESPACE)
    shutil.copy(plane.ca, folder / "ca.crt")
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
    return folder


def with_free_ports(args: list[str]) -> list[str]:
    """Return the arguments of the container with ports that are free on this machine."""
    ports = {"--metrics-addr": free_port(), "--health-addr": free_port()}
    return [
        f"{name}=:{ports[name]}" if (name := arg.partition("=")[0]) in ports else arg
        for arg in args
    ]


@contextmanager
def running(
    image: Image, args: list[str], account: Path, environ: Mapping[str, str]
) -> Iterator[Any]:
    """Run the image as a kubelet would; it must end with status 0 when it is told to stop."""
    mounted = image.root / SERVICE_ACCOUNT
    mounted.mkdir(parents=True, exist_ok=True)
    script = (
        'set -e; mount --bind "$1" "$1"; mount --bind "$2" "$3"; mount -o remount,bind,ro "$1"; '
        'user="$4"; root="$1"; shift 4; exec chroot --userspec="$user" "$root" "$@"'
    )
    inner = ["/bin/sh", "-c", f'cd {image.folder} && exec "$@"', "sh", *image.entrypoint, *args]
    command = ["unshare", "--mount", "sh", "-c", script, "sh"]
    command += [str(image.root), str(account), str(mounted), image.user, *inner]
    process = subprocess.Popen(
        command,
        env={**image.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    except AssertionError as error:
        process.kill()
        said, _ = process.communicate()
        raise AssertionError(f"{json.dumps(args)} said:\n{said[-4000:]}") from error
    process.terminate()
    said, _ = process.communicate(timeout=40)
    assert process.returncode == 0, said[-4000:]
