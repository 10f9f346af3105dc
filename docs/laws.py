"""Write the list of tests below each law of reference/laws.md: ``python docs/laws.py``.

A test proves a law if its name starts with the law's number (``test_a2_…``, or ``test_d3_a11_…`` for
two laws), if its docstring names the number, or if it is marked: ``@pytest.mark.law("G1")``.  A model (``RuleBasedStateMachine``) proves the laws
that the docstrings of its rules name.  The texts of the laws are written by hand.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).parent / "reference" / "laws.md"
_HEADING = re.compile(r"^### ([A-Z]\d+)$", re.MULTILINE)
_IN_NAME = re.compile(r"(?<=_)([a-z]\d{1,2})(?=_)")
_IN_DOCSTRING = re.compile(r"\b([A-Z]\d{1,2})\b")
_TESTS = "\n\nTests:\n"


def page() -> str:
    """Return the page as it should be: the texts as they stand, the tests as they are now."""
    head, *rest = _HEADING.split(PAGE.read_text())
    proofs = tests_by_law()
    sections = [
        f"### {law}{_with_tests(body, proofs.get(law, {}))}"
        for law, body in zip(rest[::2], rest[1::2], strict=True)
    ]
    return (head + "".join(sections)).rstrip() + "\n"


def laws() -> list[str]:
    """Return the numbers of all laws, in the order of the page."""
    return _HEADING.findall(PAGE.read_text())


def tests_by_law() -> dict[str, dict[str, list[str]]]:
    """Return, for each law, the test files and in each the tests that prove it."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in _test_files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                laws_of_node = _proved_by_test(node) if node.name.startswith("test") else []
            elif isinstance(node, ast.ClassDef):
                laws_of_node = _proved_by_model(node)
            else:
                continue
            for law in laws_of_node:
                found[law][path.relative_to(ROOT).as_posix()].append(node.name)
    return found


def _proved_by_model(model: ast.ClassDef) -> list[str]:
    if "RuleBasedStateMachine" not in map(ast.unparse, model.bases):
        return []
    documented = (model, *(each for each in model.body if isinstance(each, ast.FunctionDef)))
    texts = (ast.get_docstring(each) or "" for each in documented)
    return sorted({law for text in texts for law in _IN_DOCSTRING.findall(text)})


def _proved_by_test(test: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    told = _IN_DOCSTRING.findall(ast.get_docstring(test) or "")
    return sorted({law.upper() for law in (*_named(test), *told, *_marks(test))})


def marked_laws() -> set[str]:
    """Return the numbers that names and marks of tests use; each must be a law of the page."""
    return {
        law.upper()
        for path in _test_files()
        for test in ast.walk(ast.parse(path.read_text()))
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and test.name.startswith("test")
        for law in (*_named(test), *_marks(test))
    }


def _marks(test: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the arguments of the decorator ``pytest.mark.law``."""
    return [
        ast.literal_eval(argument)
        for one in test.decorator_list
        if isinstance(one, ast.Call) and ast.unparse(one.func) == "pytest.mark.law"
        for argument in one.args
    ]


def _named(test: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    prefix = re.match(r"test((_[a-z]\d{1,2})+)_", test.name)
    return _IN_NAME.findall(f"{prefix[1]}_") if prefix else []


def _test_files() -> list[Path]:
    return sorted((*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("examples/**/test_*.py")))


def _with_tests(body: str, files: dict[str, list[str]]) -> str:
    """Return a law's section with its list of tests, in front of the next part's heading if any."""
    text, part, heading = body.partition("\n## ")
    text = text.partition(_TESTS)[0].rstrip()
    if files:
        text += _TESTS
    for path, names in files.items():
        text += f"\n- {path}: " + ", ".join(f"`{name}`" for name in names)
    return f"\n{text.strip()}\n\n{part.lstrip()}{heading}"


if __name__ == "__main__":
    PAGE.write_text(page())
