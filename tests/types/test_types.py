"""Type checkers know the public API: correct uses have the right types, and mistakes are reported.

``correct_uses.py`` states the type of each expression with ``assert_type``.  ``wrong_uses.py`` has one
mistake per line, with the names of the errors that the two checkers must report there.  Each checker
runs once over both files.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = ("tests.types.correct_uses", "tests.types.wrong_uses")


def run(*command: str) -> None:
    """Run a type checker in the root of the project; fail with its report if it finds an error."""
    # Without the variable, pyright asks the network whether there is a newer version.
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    checked = subprocess.run(
        (sys.executable, "-m", *command),
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_mypy_agrees(tmp_path: Path) -> None:
    """The cache of its own keeps it apart from a run of ``make lint`` at the same time."""
    modules = [argument for name in MODULES for argument in ("-m", name)]
    run("mypy", f"--cache-dir={tmp_path}", "--warn-unused-ignores", *modules)


def test_pyright_agrees() -> None:
    """In its strict mode, which also reports parts of the API whose type it does not know."""
    run("pyright", "--pythonpath", sys.executable)


def test_each_mistake_names_an_error_of_both_checkers() -> None:
    """A mistake that only one of them reports would be found by half of the users."""
    lines = (ROOT / "tests/types/wrong_uses.py").read_text().splitlines()
    marked = [line for line in lines if "ignore[" in line]

    assert len(marked) > 40
    assert [line for line in marked if line.count("ignore[") != 2] == []
