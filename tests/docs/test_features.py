"""The page "What myrmidon can do" lists every feature once, and its tests exist."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/features.md"
FEATURES = 145
_ROW = re.compile(r"^\| (\d+) \| (.+?) \| (\w+) \| (.*?) \|(?: (.+?))? \|$", re.MULTILINE)
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


class Row(NamedTuple):
    """One feature: its number and name, whether it works, how, and the tests that show it."""

    number: int
    feature: str
    works: str
    how: str
    tests: tuple[tuple[str, str], ...]


def rows() -> list[Row]:
    """Return the rows of all tables of the page, from top to bottom."""
    return [
        Row(int(number), feature, works, how, tuple(_TEST.findall(tests)))
        for number, feature, works, how, tests in _ROW.findall(PAGE.read_text())
    ]


@cache
def names_in(path: str) -> frozenset[str]:
    """Return the names of the tests of a file, which is parsed and not imported.

    The test class of a model (``TestQueue = QueueModel.TestCase``) is one of them.
    """
    file = ROOT / path
    names: set[str] = set()
    for node in ast.parse(file.read_text()).body if file.is_file() else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(name for name in names if name.startswith(("test_", "Test")))


def test_every_feature_is_listed_once() -> None:
    """In the order of their numbers; no line of a table is written in another way."""
    numbered = re.findall(r"^\| *\d+ *\|", PAGE.read_text(), re.MULTILINE)

    assert [row.number for row in rows()] == list(range(1, FEATURES + 1))
    assert len(numbered) == FEATURES


def test_a_feature_works_and_names_a_test_or_says_why_it_does_not() -> None:
    """There is no third case."""
    works = [row for row in rows() if row.works == "yes"]
    missing = [row for row in rows() if row.works == "no"]

    assert len(works) + len(missing) == FEATURES
    assert [row.number for row in works if not row.tests or not row.how] == []
    assert [row.number for row in missing if row.tests or not row.how.endswith(".")] == []


def test_every_test_of_the_page_exists() -> None:
    """A test that was renamed is renamed on the page, too."""
    cited = {test for row in rows() for test in row.tests}

    assert len(cited) > FEATURES / 2
    assert sorted(f"{path}::{name}" for path, name in cited if name not in names_in(path)) == []


def test_the_count_at_the_top_is_that_of_the_rows() -> None:
    """The first sentence of the page stays true."""
    works = sum(row.works == "yes" for row in rows())
    sentence = (
        f"Of the {FEATURES} features listed here, {works} work and {FEATURES - works} do not."
    )

    assert sentence in PAGE.read_text()
