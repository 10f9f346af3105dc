"""The README agrees with the project: its code is in the examples, its commands exist."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from myrmidon.cli.main import main

PAGES = [Path("README.md"), *sorted(Path("examples").rglob("README.md"))]
PROJECT = tomllib.loads(Path("pyproject.toml").read_text())
HOME = PROJECT["project"]["urls"]["Source"].removeprefix("https://github.com/")
IN_THE_REPOSITORY = re.compile(
    rf"https://(github\.com/{HOME}/(blob|tree)/main|raw\.githubusercontent\.com/{HOME}/main)/"
)
SOURCES = [path.read_text() for path in sorted(Path("examples").rglob("*.py"))]


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_python_is_taken_from_the_examples(page: Path) -> None:
    """The examples are tested, so the shown code works."""
    for block in blocks(page, "python"):
        assert any(block in source for source in SOURCES), f"{page} shows code that is nowhere"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_commands_exist(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command has help, and every make target and every file exists."""
    targets = re.findall(r"(?m)^([a-z-]+):", Path("Makefile").read_text())
    for line in "".join(blocks(page, "console")).splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] == "make":
            assert words[1] in targets
        if words and Path(words[0]).name == "myrmidon":
            with pytest.raises(SystemExit) as ended:
                main([words[1], "--help"])
            assert ended.value.code == 0, capsys.readouterr().err
        for word in words:
            if word.startswith("examples/"):
                assert Path(word).exists(), word


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    """Those into the repository."""
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        place = IN_THE_REPOSITORY.match(link)
        if place is not None:
            assert Path(link[place.end() :]).exists(), f"{page}: {link}"
        elif "://" not in link:
            assert (page.parent / link).exists(), f"{page}: {link}"


def test_the_readme_reads_well_on_a_package_index() -> None:
    """It has no relative links, because an index shows the page without the repository."""
    links = re.findall(r"\]\(([^)]+)\)", Path("README.md").read_text())

    assert [link for link in links if not link.startswith("https://")] == []


def test_the_newest_python_that_is_tested_is_declared() -> None:
    """And the oldest one is the one that pip requires."""
    project = PROJECT["project"]
    versions = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))

    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    assert project["requires-python"] == f">={versions[0]}"
