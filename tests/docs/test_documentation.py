"""The documentation agrees with the program."""

import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from myrmidon.runtime.metrics.families import Metrics

ROOT = Path(__file__).parents[2]
WALKED = ROOT / "docs/tutorial/first-controller.md"  # its code is in files: see test_tutorial.py
PAGES = sorted(set(ROOT.glob("docs/**/*.md")) - {WALKED})
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page: Path) -> None:
    """All Python of a page, top to bottom, as a reader would try it; a failure names its line."""
    text = page.read_text()
    lines = [""] * text.count("\n")
    for block in _PYTHON.finditer(text):
        first = text.count("\n", 0, block.start(1))
        lines[first : first + block[1].count("\n")] = block[1].splitlines()

    exec(compile("\n".join(lines), str(page), "exec"), {"__name__": "__documentation__"})


def test_the_test_on_the_first_page_passes(harness: Any) -> None:
    """With the fixture of the plugin, as pytest would run it."""
    names: dict[str, Any] = {"__name__": "__documentation__"}
    exec("".join(_PYTHON.findall((ROOT / "docs/index.md").read_text())), names)

    names["test_a_greeting_is_published"](harness)


def test_the_code_of_the_readme_is_that_of_the_examples() -> None:
    """It is shown as it runs: every block stands in a file of the examples, word for word."""
    sources = [path.read_text() for path in ROOT.glob("examples/**/*.py")]
    blocks = _PYTHON.findall((ROOT / "README.md").read_text())

    assert blocks
    assert [block for block in blocks if not any(block in source for source in sources)] == []


def test_the_picture_of_the_packages_is_the_contract_of_the_linter() -> None:
    """The rows of the picture are the layers that import-linter enforces, top to bottom."""
    text = (ROOT / "docs/internals/architecture.md").read_text()
    picture = text.partition("## Packages")[2].partition("```\n")[2].partition("```")[0]
    rows = [sorted(line.split()) for line in picture.splitlines()]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    enforced = [sorted(name.strip(" ()") for name in layer.split("|")) for layer in layers]

    assert rows == [row for row in enforced if row != ["__main__"]]


def test_every_file_that_the_documentation_names_exists() -> None:
    """A path such as ``sets/planning.py`` is the end of a path in the repository, after every move."""
    folders = ("myrmidon", "tests", "examples", "benchmarks", "docs")
    files = [str(path) for folder in folders for path in (ROOT / folder).rglob("*.py")]
    named = {
        (page.name, path)
        for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))
        for path in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", page.read_text())
    }

    missing = {
        (page, path) for page, path in named if not any(file.endswith(f"/{path}") for file in files)
    }
    assert missing == set()


def test_every_metric_is_in_the_reference() -> None:
    """Users can look up every metric."""
    metrics = Metrics(CollectorRegistry())
    page = (ROOT / "docs/reference/metrics.md").read_text()
    listed = set(re.findall(r"`([a-z]+_[a-z_]+)`", page))
    exported = {
        family.name
        if family.type != "counter" or family.name.startswith("achilles")
        else f"{family.name}_total"
        for family in metrics.registry.collect()
    }

    assert {
        name for name in exported - listed if not name.startswith(("process_", "python_"))
    } == set()


def test_the_dashboard_asks_for_metrics_that_exist() -> None:
    """Every query of the dashboard names a metric of the reference."""
    dashboard = json.loads((ROOT / "docs/reference/grafana-dashboard.json").read_text())
    page = (ROOT / "docs/reference/metrics.md").read_text()
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked = {
        name.removesuffix("_bucket")
        for query in queries
        for name in re.findall(
            r"\b((?:achilles|controller|leader|myrmidon|rest|workqueue)_[a-z_]+)", query
        )
    }

    assert queries
    assert {name for name in asked if f"`{name}`" not in page} == set()


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="argparse words its help otherwise")
def test_the_reference_of_the_commands_is_what_they_say() -> None:
    """``python docs/commands.py`` writes it."""
    commands = script("commands")

    assert commands.PAGE.read_text() == commands.page()


def test_every_law_names_the_tests_that_prove_it() -> None:
    """``python docs/laws.py`` writes the lists; every law needs a test."""
    laws = script("laws")
    proofs = laws.tests_by_law()

    assert [law for law in laws.laws() if law not in proofs] == []
    assert sorted(laws.marked_laws() - {*laws.laws()}) == []  # a number without a text
    assert laws.PAGE.read_text() == laws.page()


def script(name: str) -> ModuleType:
    """Return a script of docs/, which is not a package, as a module."""
    specification = importlib.util.spec_from_file_location(name, ROOT / f"docs/{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
