"""The generated bundle, as the validators of the Operator Framework judge it.

``olm/main.go`` runs the validators of `operator-sdk bundle validate`; it is built with Go once, which
takes some minutes, and without Go these tests are skipped.
"""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from myrmidon.cli.main import main
from tests.cluster.controlplane.binaries import UnavailableError, run_go
from tests.cluster.go_programs import built

SOURCES = Path(__file__).parent / "olm"
EXAMPLES = sorted(str(each.parent) for each in Path("examples").glob("*/controller.py"))
REMOTE = "OLM cannot grant rights"
LEFT_TO_THE_USER = (
    "csv.Spec.Icon not specified",
    "csv.Spec.minKubeVersion is not informed",
    "provided API should have an example annotation",  # a kind that no sample has
    "example annotations not found",
)


@pytest.fixture(scope="module")
def check() -> Path:
    """Return the program that validates a bundle; without it these tests are skipped."""
    texts = [(SOURCES / name).read_bytes() for name in ("main.go", "go.mod", "go.sum")]
    name = f"olm-check-{hashlib.sha256(b''.join(texts)).hexdigest()[:12]}"

    def build(cache: Path) -> None:
        partial = cache / "building"
        run_go(["build", "-o", str(partial), "."], SOURCES, os.environ, "go build of olm-check")
        partial.rename(cache / name)

    try:
        return built("olm-check", name, build)
    except UnavailableError as error:
        pytest.skip(str(error))


def findings(check: Path, folder: Path) -> list[str]:
    """Return the lines of the validators."""
    ran = subprocess.run([check, folder], capture_output=True, text=True, check=False)
    assert not ran.stderr, ran.stderr
    return ran.stdout.splitlines()


@pytest.mark.parametrize("target", EXAMPLES)
def test_the_validators_find_no_error(
    check: Path, tmp_path: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor a warning, except about what only the user knows."""
    if main(["generate", "bundle", target, "-o", str(tmp_path)]) != 0:
        assert REMOTE in capsys.readouterr().err
        return
    found = findings(check, tmp_path)
    assert [line for line in found if not any(one in line for one in LEFT_TO_THE_USER)] == []


def test_the_validators_do_judge(check: Path, tmp_path: Path) -> None:
    """A bundle whose version owns a kind without a definition is refused."""
    assert main(["generate", "bundle", "examples/web_app", "-o", str(tmp_path)]) == 0
    for path in (tmp_path / "manifests").glob("*.yaml"):
        if yaml.safe_load(path.read_text())["kind"] == "CustomResourceDefinition":
            path.unlink()
    assert any(line.startswith("error") for line in findings(check, tmp_path))
