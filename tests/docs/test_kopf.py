"""The guide for users of kopf names all that kopf has, and counts lines correctly."""

import ast
import inspect
import re
from pathlib import Path

import kopf

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/how-to/migrate-from-kopf.md").read_text()
TABLE = (ROOT / "docs/explanation/kopf-examples.md").read_text()
EXAMPLES = ROOT / "examples/from_kopf"
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_ROW = re.compile(r"^\| ([\w-]+) \| (\d+) \| (?:`(\w+\.py)`)? ?\| (\d+) \|", re.MULTILINE)


def code_lines(path: Path) -> int:
    """Return the number of lines of code: no blank lines, comments or docstrings."""
    text = path.read_text()
    prose: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, _DOCUMENTED):
            continue
        if ast.get_docstring(node) is not None:
            first = node.body[0]
            prose.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in prose
        for number, line in enumerate(text.splitlines(), 1)
    )


def test_every_decorator_is_translated() -> None:
    """Those of the installed version."""
    decorators = [name for name, one in vars(kopf.on).items() if inspect.isfunction(one)]

    assert decorators
    assert [name for name in decorators if name[0] != "_" and f"@kopf.on.{name}" not in GUIDE] == []


def test_the_table_counts_what_is_there() -> None:
    """Each example once, with its lines; the last row is the sum."""
    *rows, (name, there, _, here) = _ROW.findall(TABLE)
    files = {file: int(count) for _, _, file, count in rows}

    assert name == "all"
    assert files == {path.name: code_lines(path) for path in EXAMPLES.glob("ex*.py")}
    assert int(here) == sum(files.values())
    assert int(there) == sum(int(count) for _, count, _, _ in rows)


def test_every_example_has_a_test_of_its_number() -> None:
    """And a line in the README."""
    tests = (EXAMPLES / "test_examples.py").read_text()
    readme = (EXAMPLES / "README.md").read_text()
    for path in EXAMPLES.glob("ex*.py"):
        assert f"def test_{path.stem.removeprefix('ex')}()" in tests.replace(
            "(server: ApiServer)", "()"
        ).replace("(caplog: pytest.LogCaptureFixture)", "()"), path.name
        assert f"({path.name})" in readme
