"""`myrmidon init`: the new project runs, and its tests pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from myrmidon.cli.main import main


def test_the_project_runs_and_its_tests_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As its author would run them."""
    folder = tmp_path / "hello-world"
    assert main(["init", str(folder), "--group", "hello.example.com"]) == 0
    assert main(["dev", str(folder), "--once"]) == 0
    assert "✓ HelloWorld hello  published → accepted" in capsys.readouterr().out

    # Where myrmidon is installed, pytest finds the plugin by itself.
    environ = {**os.environ, "PYTHONPATH": str(Path.cwd()), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "myrmidon.testing.pytest_plugin"]
    tested = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert tested.returncode == 0, tested.stdout
    assert "2 passed" in tested.stdout


def test_a_folder_that_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Existing files are not overwritten."""
    (tmp_path / "precious.txt").write_text("")
    assert main(["init", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"error: the folder {tmp_path} exists and is not empty.\n  fix: choose a new folder\n"
    )


def test_a_folder_name_that_is_not_a_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kind begins with a letter."""
    assert main(["init", str(tmp_path / "1st")]) == 2
    assert capsys.readouterr().err == (
        "error: no kind can be named after the folder '1st'.\n"
        "  fix: choose a folder name that begins with a letter\n"
    )
