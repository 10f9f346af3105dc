"""What is generated from the examples, and committed, is what would be generated now."""

from pathlib import Path

import pytest

from myrmidon.cli.main import main

EXAMPLES = sorted(path.parent for path in Path("examples").glob("*/controller.py"))


@pytest.mark.parametrize("folder", EXAMPLES, ids=str)
def test_the_definition_is_up_to_date(folder: Path) -> None:
    """The message says which command brings it up to date."""
    assert main(["generate", "crd", str(folder), "-o", str(folder / "crd.yaml"), "--check"]) == 0


@pytest.mark.parametrize("folder", EXAMPLES, ids=str)
def test_the_picture_is_up_to_date(folder: Path) -> None:
    """As the definition."""
    assert main(["graph", str(folder), "-o", str(folder / "graph.svg"), "--check"]) == 0


@pytest.mark.parametrize("folder", EXAMPLES, ids=str)
def test_every_example_is_complete(folder: Path) -> None:
    """Controller, sample, definition, test, picture and page."""
    for name in ("sample.yaml", "crd.yaml", "test_example.py", "graph.svg", "README.md"):
        assert (folder / name).is_file(), f"{folder} has no {name}"


def test_the_test_of_the_smallest_example_is_short() -> None:
    """It is the first test that people read."""
    text = Path("examples/config_copy/test_example.py").read_text()
    assert len(text.splitlines()) <= 25
