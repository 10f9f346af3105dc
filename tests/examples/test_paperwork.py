"""What is generated from the examples, and committed, is what would be generated now."""

import re
from pathlib import Path

import pytest

from myrmidon.cli.main import main

EXAMPLES = sorted(path.parent for path in Path("examples").glob("*/controller.py"))
FROM_KOPF = Path("examples/from_kopf")  # many small files, one of which is drawn
DRAWN = {  # a picture shows one controller
    Path("examples/fleet"): "examples/fleet:Fleets",
    FROM_KOPF: str(FROM_KOPF / "ex99_all_at_once.py"),
}
BUILT_IN = {Path("examples/tenants")}  # controllers of kinds that need no definition


@pytest.mark.parametrize("folder", EXAMPLES, ids=str)
def test_the_definition_is_up_to_date(folder: Path) -> None:
    """The message says which command brings it up to date."""
    assert main(["generate", "crd", str(folder), "-o", str(folder / "crd.yaml"), "--check"]) == 0


@pytest.mark.parametrize("folder", sorted(BUILT_IN), ids=str)
def test_a_controller_of_a_built_in_kind_has_a_role_instead(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written where there is nothing to define, and the command says so."""
    assert main(["generate", "crd", str(folder), "-o", str(tmp_path / "crd.yaml")]) == 0
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == "no definition for Namespace: it is built in\n"
    assert main(["generate", "rbac", str(folder), "-o", str(folder / "rbac.yaml"), "--check"]) == 0


@pytest.mark.parametrize("folder", [*EXAMPLES, FROM_KOPF], ids=str)
def test_the_picture_is_up_to_date(folder: Path) -> None:
    """As the definition."""
    target = DRAWN.get(folder, str(folder))
    assert main(["graph", target, "-o", str(folder / "graph.svg"), "--check"]) == 0


@pytest.mark.parametrize("folder", EXAMPLES, ids=str)
def test_every_example_is_complete(folder: Path) -> None:
    """Controller, sample, definition or role, test, picture and page."""
    generated = "rbac.yaml" if folder in BUILT_IN else "crd.yaml"
    for name in ("sample.yaml", generated, "test_example.py", "graph.svg", "README.md"):
        assert (folder / name).is_file(), f"{folder} has no {name}"


def test_the_test_of_the_smallest_example_is_short() -> None:
    """It is the first test that people read."""
    text = Path("examples/config_copy/test_example.py").read_text()
    assert len(text.splitlines()) <= 25


def test_the_examples_are_numbered_in_the_order_of_learning() -> None:
    """Each folder once, with the time that it takes to read and the command that runs it."""
    text = Path("examples/README.md").read_text()
    rows = re.findall(
        r"^\| (\d+) \| \[(\w+)\]\(\2\) \| .+ \| \d+ min \| `myrmidon dev (\S+)` \|$",
        text,
        re.MULTILINE,
    )

    assert [int(number) for number, _, _ in rows] == list(range(1, len(rows) + 1))
    assert {name for _, name, _ in rows} == {each.name for each in (*EXAMPLES, FROM_KOPF)}
    for _, name, target in rows:
        assert Path(target).exists()
        assert target.startswith(f"examples/{name}")


@pytest.mark.parametrize("folder", [*EXAMPLES, FROM_KOPF], ids=str)
def test_the_page_of_an_example_has_its_picture_and_its_commands(folder: Path) -> None:
    """One command runs it, one tests it."""
    page = (folder / "README.md").read_text()

    assert "](graph.svg)" in page
    assert f"\nmyrmidon dev {folder}" in page
    assert f"\npytest {folder}\n" in page
