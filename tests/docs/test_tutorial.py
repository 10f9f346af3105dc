"""The tutorial is done as it is written: each file, each command, and what it prints."""

import shutil
from pathlib import Path

import pytest

from tests.docs.walkthrough import Command, File, Walk, expected, steps

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs/tutorial/first-controller.md").read_text()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_every_step_of_the_tutorial_works(tmp_path: Path) -> None:
    """In an empty folder, from `myrmidon init` to the manifests of a deployment."""
    with Walk(tmp_path) as walk:
        for step in steps(TUTORIAL):
            walk.do(step)


def test_no_code_of_the_tutorial_is_left_out() -> None:
    """Each block of Python or YAML says which file it goes into."""
    files = [step for step in steps(TUTORIAL) if isinstance(step, File)]

    assert len(files) == TUTORIAL.count("```python") + TUTORIAL.count("```yaml")


def test_outputs_are_compared() -> None:
    """Line by line; only what is marked as left out may differ."""
    shown = expected(("one", "...", "time … end"))

    assert shown.fullmatch("one\ntwo\nthree\ntime 12:00 end\n")
    assert shown.fullmatch("one\ntime 12:00 end\n")
    assert not shown.fullmatch("two\ntime 12:00 end\n")
    assert not shown.fullmatch("one\ntime 12:00 end\nmore\n")


def test_a_page_is_a_list_of_steps() -> None:
    """Commands with their output, files with the way they are written; other blocks are none."""
    page = (
        "```console\n$ one  # comment\nout\n$ two\n```\n\nReplace the content of `a.py` with this:\n\n"
        "```python\nx = 1\n```\n\nAppend this to `a.py`:\n\n```python\ny = 2\n```\n\nSo:\n\n```yaml\na: 1\n```\n"
    )

    assert list(steps(page)) == [
        Command("one", ("out",)),
        Command("two", ()),
        File("a.py", "x = 1\n", "Replace"),
        File("a.py", "y = 2\n", "Append"),
    ]


def test_a_step_that_prints_other_things_fails(tmp_path: Path) -> None:
    """As does a command that fails, and a file that is changed before it exists."""
    with Walk(tmp_path) as walk:
        walk.do(Command("echo one", ("one",)))
        for wrong in (
            Command("echo one", ("two",)),
            Command("false", ()),
            File("missing.py", "", "Append"),
        ):
            with pytest.raises(AssertionError):
                walk.do(wrong)
