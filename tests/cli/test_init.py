"""`myrmidon init`: the project that it makes runs, and its tests pass.

``tests/first_day`` installs such a project, builds its image and runs that.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.cli.main import main
from myrmidon.cli.scaffold.files import project_files
from myrmidon.cli.scaffold.names import names_of
from myrmidon.cli.scaffold.requirements import pinned_requirements
from myrmidon.errors import UsageError
from tests.first_day.dockerfile import included, instructions


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project."""
    folder = tmp_path_factory.mktemp("projects") / "hello-world"
    assert main(["init", str(folder), "--group", "hello.example.com"]) == 0
    return folder


def test_the_project_runs_and_its_tests_pass(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As its author would run them."""
    assert main(["dev", str(project), "--once"]) == 0
    assert "✓ HelloWorld hello  published → accepted" in capsys.readouterr().out

    # Where myrmidon is installed, pytest finds the plugin by itself.
    environ = {**os.environ, "PYTHONPATH": str(Path.cwd()), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "myrmidon.testing.pytest_plugin"]
    tested = subprocess.run(
        command, cwd=project, env=environ, capture_output=True, text=True, check=False
    )
    assert tested.returncode == 0, tested.stdout
    assert "2 passed" in tested.stdout


def test_the_manifests_run_the_installed_package(project: Path, tmp_path: Path) -> None:
    """The image has the package and not the folder; the project's own Dockerfile is the only one."""
    assert main(["generate", "all", str(project), "-o", str(tmp_path)]) == 0

    deployment = (tmp_path / "deploy/deployment.yaml").read_text()
    assert "        - run\n        - hello_world.controller\n" in deployment
    assert (tmp_path / "crd/helloworlds.hello.example.com.yaml").is_file()
    assert not (tmp_path / "Dockerfile").exists()


def test_the_project_declares_how_it_is_built(project: Path) -> None:
    """A build needs a build system and the names of the packages; tests are not installed."""
    declared = tomllib.loads((project / "pyproject.toml").read_text())

    assert declared["build-system"]["build-backend"] == "setuptools.build_meta"
    assert all("==" in pinned for pinned in declared["build-system"]["requires"])
    include = declared["tool"]["setuptools"]["packages"]["find"]["include"]
    assert include == ["hello_world", "hello_world.*"]
    assert (project / declared["project"]["readme"]).is_file()
    assert declared["project"]["optional-dependencies"]["test"] == ["myrmidon[test]"]


def test_the_dockerfile_copies_files_that_the_project_has(project: Path) -> None:
    """And .dockerignore does not leave them out; a virtual environment and the tests it does."""
    (project / ".venv").mkdir(exist_ok=True)
    (project / ".venv/pyvenv.cfg").write_text("")
    sent = {str(path) for path in included(project)}
    steps = instructions((project / "Dockerfile").read_text())
    copies = [rest.split()[0] for word, rest in steps if word == "COPY" and "--from" not in rest]

    assert copies == ["requirements.txt", "."]
    package = {"hello_world/__init__.py", "hello_world/controller.py"}
    assert sent >= {"requirements.txt", "README.md", "pyproject.toml", *package}
    assert not any(path.startswith((".", "tests")) or "__pycache__" in path for path in sent)


def test_every_target_of_the_readme_is_in_the_makefile(project: Path) -> None:
    """And `make help` shows each of them."""
    named = set(re.findall(r"`make ([a-z]+)`", (project / "README.md").read_text()))
    shown = subprocess.run(
        ["make", "help"], cwd=project, capture_output=True, text=True, check=True
    ).stdout

    assert named
    assert named <= {line.split()[0] for line in shown.splitlines()}


def test_requirements_are_exact_and_complete() -> None:
    """Each dependency of a listed package is listed, in one version."""
    pins = pinned_requirements()
    names = [pin.partition("==")[0] for pin in pins]

    assert {"myrmidon", "aiohttp", "multidict", "pydantic-core"} <= set(names)
    assert {"pytest", "sphinx", "uvloop"}.isdisjoint(names)
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9-]+==[^=\s]+", pin) for pin in pins)


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,9}([-_][A-Za-z0-9]{1,9}){0,2}", fullmatch=True))
def test_every_file_of_every_project_is_complete(folder: str) -> None:
    """No hole of a template stays open, and the Python files of each accepted name compile."""
    try:
        names = names_of(folder, "demo.example.com")
    except UsageError:
        return
    for path, text in project_files(names).items():
        assert "{{" not in text
        if path.endswith(".py"):
            compile(text, path, "exec")


@pytest.mark.parametrize(
    ("folder", "controller"),
    [("hello-world", "HelloWorlds"), ("policy", "Policies"), ("Address", "Addresses")],
)
def test_the_controller_is_the_plural_of_the_kind(folder: str, controller: str) -> None:
    """As Kubernetes forms it."""
    assert names_of(folder, "demo.example.com").controller == controller


REFUSED = {
    "my app": "the folder name 'my app' cannot be the name of a project: it must begin with a letter, and have "
    "only letters, digits and single dashes, at most 40 of them.\n  fix: `myrmidon init my-app`",
    "1st": "the folder name '1st' cannot be the name of a project: it must begin with a letter, and have "
    "only letters, digits and single dashes, at most 40 of them.\n  fix: `myrmidon init st`",
    "größe": "the folder name 'größe' cannot be the name of a project: it must begin with a letter, and have "
    "only letters, digits and single dashes, at most 40 of them.\n  fix: `myrmidon init gr-e`",
    "1": "the folder name '1' cannot be the name of a project: it must begin with a letter, and have "
    "only letters, digits and single dashes, at most 40 of them.\n  fix: choose a name such as web-app",
    "json": "the project cannot be called json: it would hide Python's own module json.\n"
    "  fix: `myrmidon init json-controller`",
    "Yaml": "the project cannot be called Yaml: it would hide the installed package yaml.\n"
    "  fix: `myrmidon init Yaml-controller`",
    "class": "the project cannot be called class: class is a word of the Python language.\n"
    "  fix: `myrmidon init class-controller`",
    "deploy": "the project cannot be called deploy: the project has a folder deploy for other files.\n"
    "  fix: `myrmidon init deploy-controller`",
}


@pytest.mark.parametrize("folder", REFUSED)
def test_a_name_that_cannot_be_used(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused before a file is written; the name in the fix is accepted."""
    assert main(["init", str(tmp_path / folder)]) == 2

    said = capsys.readouterr().err
    assert said == f"error: {REFUSED[folder]}\n"
    assert not (tmp_path / folder).exists()
    offered = re.search(r"myrmidon init ([\w-]+)", said)
    if offered:
        names_of(offered[1], "example.com")


@pytest.mark.parametrize("group", ["Foo", "foo", "apps.k8s.io", "demo.example.com/v1", ""])
def test_a_group_that_cannot_be_used(
    group: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the class statement would refuse it."""
    assert main(["init", str(tmp_path / "greeting"), "--group", group]) == 2
    assert capsys.readouterr().err == (
        f"error: --group {group!r} is not an API group that you can define kinds in.\n"
        "  fix: use a domain of yours in lower case, with a dot: demo.example.com\n"
    )
    assert not (tmp_path / "greeting").exists()


def test_a_folder_that_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file is overwritten; the repository of a new `git init` is not in the way."""
    folder = tmp_path / "greeting"
    (folder / ".git").mkdir(parents=True)
    (folder / "precious.txt").write_text("")
    assert main(["init", str(folder)]) == 2
    assert capsys.readouterr().err == (
        f"error: the folder {folder} is not empty: it has .git, precious.txt.\n"
        "  fix: choose a new folder; init does not write over files\n"
    )

    (folder / "precious.txt").unlink()
    assert main(["init", str(folder)]) == 0
    assert main(["init", str(folder)]) == 2


def test_a_file_instead_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the folder nor one in which it would be made may be a file."""
    file = tmp_path / "greeting"
    file.write_text("")
    assert main(["init", str(file)]) == 2
    assert capsys.readouterr().err == f"error: {file} is a file.\n  fix: choose a new folder\n"

    assert main(["init", str(file / "inner")]) == 2
    assert capsys.readouterr().err == (
        f"error: {file}/inner/inner/__init__.py cannot be written: Not a directory.\n"
        "  fix: choose a folder in which you may write\n"
    )
