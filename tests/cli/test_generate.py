"""`myrmidon generate`: printing, writing, comparing."""

import argparse
import re
from pathlib import Path

import pytest

from myrmidon.cli.commands import generate
from myrmidon.errors import UsageError

TARGET = "tests.generate.webapp:WebApps"


def run(*arguments: str) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser()
    generate.add_arguments(parser)
    return generate.run(parser.parse_args(arguments))


def test_prints_without_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """The output can be piped into kubectl."""
    assert run("crd", TARGET) == 0
    assert capsys.readouterr().out.startswith(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    )
    assert run("all", TARGET) == 0
    assert "FROM python" not in capsys.readouterr().out


TYPES = """\
from myrmidon import Model, Resource, Status

class One(Resource[Model, Status], group="one.example.com", version="v1"):
    pass

class Two(Resource[Model, Status], group="two.example.com", version="v1"):
    pass
"""


def test_a_module_of_types_gives_definitions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a controller, in all its groups, and beside a module with controllers."""
    (tmp_path / "controller.py").write_text(TYPES)
    assert run("crd", str(tmp_path)) == 0
    names = re.findall(r"(?m)^  name: (\S+)$", capsys.readouterr().out)
    assert names == ["ones.one.example.com", "twos.two.example.com"]

    assert run("crd", str(tmp_path), TARGET) == 0
    assert len(re.findall(r"(?m)^kind: CustomR", capsys.readouterr().out)) == 3
    with pytest.raises(UsageError, match="does not define a controller"):
        run("rbac", str(tmp_path))


def test_writes_files_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second run changes and prints nothing."""
    assert run("all", TARGET, "-o", str(tmp_path), "--name", "shop", "--image", "shop:2") == 0
    assert f"wrote {tmp_path}/crd/webapps.demo.myrmidon.dev.yaml\n" in capsys.readouterr().out
    assert "image: shop:2" in (tmp_path / "deploy/deployment.yaml").read_text()

    assert run("all", TARGET, "-o", str(tmp_path), "--name", "shop", "--image", "shop:2") == 0
    assert capsys.readouterr().out == ""


def test_check_lists_what_is_out_of_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the command to update them, and writes nothing."""
    run("all", TARGET, "-o", str(tmp_path))
    capsys.readouterr()
    assert run("all", TARGET, "-o", str(tmp_path), "--check") == 0

    (tmp_path / "rbac/role.yaml").write_text("changed\n")
    (tmp_path / "Dockerfile").unlink()
    (tmp_path / "crd/gone.demo.myrmidon.dev.yaml").write_text("kind: CustomResourceDefinition\n")
    (tmp_path / "crd/kustomization.yaml").write_text("kind: Kustomization\n")

    assert run("all", TARGET, "-o", str(tmp_path), "--check") == 1
    assert capsys.readouterr().err == (
        f"{tmp_path}/rbac/role.yaml is out of date\n"
        f"{tmp_path}/Dockerfile is missing\n"
        f"{tmp_path}/crd/gone.demo.myrmidon.dev.yaml is not generated any more\n"
        f"  fix: run `myrmidon generate all {TARGET} -o {tmp_path}` and commit what it writes\n"
    )
    assert (tmp_path / "rbac/role.yaml").read_text() == "changed\n"


def test_a_chart_is_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not printed, because templates are not manifests; `--check` compares it."""
    with pytest.raises(UsageError, match=r"fix: name the folder: -o charts/NAME"):
        run("helm", TARGET)
    with pytest.raises(UsageError):
        run("helm", TARGET, "-o", str(tmp_path / "chart.yaml"))

    assert run("helm", TARGET, "-o", str(tmp_path)) == 0
    assert (tmp_path / "Chart.yaml").is_file()
    assert run("helm", TARGET, "-o", str(tmp_path), "--check") == 0
    gone = tmp_path / "templates/crd/gone.demo.myrmidon.dev.yaml"
    gone.write_text("kind: CustomResourceDefinition\n")
    capsys.readouterr()
    assert run("helm", TARGET, "-o", str(tmp_path), "--check") == 1
    assert f"{gone} is not generated any more\n" in capsys.readouterr().err


def test_the_dockerfile_fits_the_folder(tmp_path: Path) -> None:
    """A bare folder is copied, a project is installed, and a Dockerfile of the program's own is left alone."""
    program, output = tmp_path / "program", tmp_path / "out"
    program.mkdir()
    source = Path(__file__).parents[1] / "generate/webapp.py"
    (program / "controller.py").write_text(source.read_text())

    assert run("deploy", f"{program}:WebApps", "-o", str(output)) == 0
    assert " myrmidon==" in (output / "Dockerfile").read_text()

    (program / "requirements.txt").write_text("myrmidon\n")
    (program / "pyproject.toml").write_text("")
    assert run("deploy", f"{program}:WebApps", "-o", str(output)) == 0
    made = (output / "Dockerfile").read_text()
    assert "--requirement requirements.txt" in made
    assert "install --no-deps ." in made

    (program / "Dockerfile").write_text("FROM scratch\n")
    (output / "Dockerfile").unlink()
    assert run("deploy", f"{program}:WebApps", "-o", str(output)) == 0
    assert not (output / "Dockerfile").exists()


CHECKED = """\
from pydantic import model_validator
from myrmidon import Admission, Controller, Done, Model, Resource, Status, Unstructured
from myrmidon import kinds, state, validates

class Spec(Model):
    @model_validator(mode="after")
    def in_order(self):
        return self

class One(Resource[Spec, Status], group="one.example.com", version="v1"):
    pass

class Ones(Controller[One]):
    @state(initial=True, condition="Made")
    def made(self, one, out):
        return Done()

class PodRules(Admission[Unstructured], kind=kinds.POD):
    @validates()
    def check(self, pod):
        pass
"""


def test_admission_classes_of_a_module_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of them, or those that are named; validators that are Python only are told."""
    (tmp_path / "controller.py").write_text(CHECKED)

    assert run("all", str(tmp_path), "--webhook-certs", "cert-manager") == 0
    out, err = capsys.readouterr()
    assert "name: validate.pods.core" in out
    assert "kind: Issuer" in out
    assert "One: the server does not run Spec.in_order, which is Python only" in err
    assert run("deploy", str(tmp_path), "-o", str(tmp_path / "out")) == 0
    assert "myrmidon[webhooks]" in (tmp_path / "out/Dockerfile").read_text()
    capsys.readouterr()
    assert run("all", f"{tmp_path}/controller.py:Ones") == 0
    assert "WebhookConfiguration" not in capsys.readouterr().out
    assert run("all", f"{tmp_path}/controller.py:Ones", "PodRules") == 0
    assert "name: validate.pods.core" in capsys.readouterr().out
    assert run("all", f"{tmp_path}/controller.py:Ones,PodRules") == 0
    assert "name: validate.pods.core" in capsys.readouterr().out
