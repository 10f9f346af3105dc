"""Checks of the source code: file lengths, seams, imports and names."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "myrmidon"
MODULES = sorted(ROOT.rglob("*.py"))
PACKAGES = sorted(path.parent for path in ROOT.rglob("__init__.py"))

LINES_PER_FILE_MAX = 400
LINES_PER_FUNCTION_MAX = 60
# A list of small entries may be long.
LONGER: dict[str, int] = {}

# Exceptions: the modules that may do what is forbidden elsewhere, and why.
CLOCKS = {"io/timers/clock.py", "testing/harness/clock.py"}
NOBODY: set[str] = set()
ALLOWED: dict[str, set[str]] = {
    "time.time": CLOCKS,
    "time.sleep": CLOCKS,
    "time.monotonic": CLOCKS,
    "datetime.now": {
        *CLOCKS,
        "cli/local/certificates.py",
        "cli/local/embedded_server.py",
    },  # they meet the real world themselves
    "datetime.utcnow": NOBODY,
    # The last one calls sleep(0), which yields and waits for nothing.
    "asyncio.sleep": {*CLOCKS, "io/timers/pacing.py"},
    "asyncio.wait_for": NOBODY,
    "asyncio.create_task": NOBODY,
    "asyncio.ensure_future": NOBODY,
    "asyncio.gather": NOBODY,
    "random.random": NOBODY,
    "random.choice": NOBODY,
    "random.randint": NOBODY,
    "random.uniform": NOBODY,
    "random.shuffle": NOBODY,
}


def named(path: Path) -> str:
    """Return the path within the package."""
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(params=MODULES, ids=named, scope="module")
def module(request: pytest.FixtureRequest) -> Path:
    """Each module of the package."""
    path: Path = request.param
    return path


@cache
def syntax_tree(path: Path) -> ast.Module:
    """Return the syntax tree of a module; several tests look at each."""
    return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module."""
    return tuple(ast.walk(syntax_tree(path)))


def tree(path: Path) -> Iterator[ast.AST]:
    """Return every node of a module."""
    return iter(nodes_of(path))


def test_files_and_functions_are_short(module: Path) -> None:
    """A file is short enough to read as a whole, a function to see as a whole."""
    assert module.read_text().count("\n") <= LONGER.get(named(module), LINES_PER_FILE_MAX)
    for node in tree(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            assert length <= LINES_PER_FUNCTION_MAX, f"{module}:{node.lineno} {node.name}"


def test_there_are_no_todo_comments(module: Path) -> None:
    """Open work belongs into an issue."""
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", module.read_text())


def test_time_and_randomness_come_through_seams(module: Path) -> None:
    """Only designated modules read a clock, sleep or use randomness; every task has an owner."""
    for node in tree(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            call = ".".join(ast.unparse(node.func).split(".")[-2:])
            assert named(module) in ALLOWED.get(call, {named(module)}), (
                f"{module}:{node.lineno} {call}"
            )


def test_nothing_iterates_over_a_set(module: Path) -> None:
    """Its order differs from process to process."""
    for node in tree(module):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            made = isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name)
            over_set = isinstance(node.iter, ast.Set | ast.SetComp) or (
                made and ast.unparse(node.iter).startswith(("set(", "frozenset("))
            )
            assert not over_set, f"{module}: {ast.unparse(node.iter)}"


def test_imports_are_absolute(module: Path) -> None:
    """A reader sees where a name comes from, and ``myrmidon.io`` never hides ``io``."""
    for node in tree(module):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}"


@pytest.mark.parametrize("path", PACKAGES, ids=named)
def test_a_package_shows_what_it_lists(path: Path) -> None:
    """``__all__`` is sorted and complete, and none of its names hides a module of the package.

    A package that exports a function ``plan`` from its module ``plan`` makes the module
    unreachable: ``package.plan`` is then one or the other, depending on the order of imports.
    """
    package = importlib.import_module(".".join(path.relative_to(ROOT.parent).parts))
    listed = list(getattr(package, "__all__", []))
    modules = {other.stem for other in path.iterdir()} - {"__init__"}

    assert listed == sorted(listed, key=_rank)
    assert all(hasattr(package, name) for name in listed)
    assert modules.isdisjoint(listed)
    if path.parent in (ROOT, ROOT.parent):  # those below are their owner's own affair
        public = {
            name
            for name, value in vars(package).items()
            if not name.startswith("_") and not inspect.ismodule(value)
        }
        assert public - {"Any", "TYPE_CHECKING", "import_module"} <= {*listed}


# ------------------------------------------------------------------------- modules and names

# Names that say nothing about what is inside.
VAGUE = {"small", "misc", "utils", "helpers", "common_utils"}
# Started by the interpreter, by an entry point or by a user, and imported by no other module.
ENTRANCES = {
    "myrmidon",
    "myrmidon.__main__",
    "myrmidon.cli.main",
    "myrmidon.testing.properties.convergence",  # needs hypothesis, so only tests import it
    "myrmidon.testing.pytest_plugin",
}
# Public class names that more than one module has; the list may only get shorter.
NAMES_KNOWN = {"Status"}  # of a resource, and a fault of the test kit; both are public API


def module_name(path: Path) -> str:
    """The dotted name of a module."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, known: set[str]) -> set[str]:
    """Return the modules of the package that a module imports, also for type checking alone."""
    found: set[str] = set()
    for node in tree(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                below = f"{node.module}.{alias.name}"
                found.add(below if below in known else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & known


def import_graph() -> dict[str, set[str]]:
    """Return the imports of each module."""
    known = {module_name(path) for path in MODULES}
    return {module_name(path): imported(path, known) - {module_name(path)} for path in MODULES}


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of modules that all import each other, directly or not (Kosaraju)."""
    order: list[str] = []
    seen: set[str] = set()
    for start in sorted(graph):
        _walk(start, graph, seen, order)
    backwards: dict[str, set[str]] = {name: set() for name in graph}
    for name, others in graph.items():
        for other in others:
            backwards[other].add(name)
    seen, found = set(), []
    for start in reversed(order):
        group: list[str] = []
        _walk(start, backwards, seen, group)
        if len(group) > 1:
            found.append({*group})
    return found


def _walk(start: str, graph: dict[str, set[str]], seen: set[str], order: list[str]) -> None:
    """Append what can be reached from ``start`` and was not seen yet, the farthest first."""
    waiting = [(start, False)]
    while waiting:
        name, done = waiting.pop()
        if done:
            order.append(name)
        elif name not in seen:
            seen.add(name)
            waiting.append((name, True))
            waiting += [(other, False) for other in sorted(graph[name], reverse=True)]


def test_there_are_no_import_cycles() -> None:
    """Neither at run time nor for type checking."""
    assert circles(import_graph()) == []


def test_an_import_cycle_is_found() -> None:
    """The check above would notice one."""
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}

    assert circles(graph) == [{"a", "b", "c"}]


def test_every_module_is_used_by_the_package() -> None:
    """A module that only tests import is not part of the program."""
    graph = import_graph()
    used = set().union(*graph.values())
    commands = {
        name for name in graph if name.startswith("myrmidon.cli.commands.")
    }  # main imports by name
    packages = {module_name(path) for path in MODULES if path.name == "__init__.py"}

    assert sorted(graph.keys() - used - ENTRANCES - commands - packages) == []


def test_a_module_is_named_for_its_content(module: Path) -> None:
    """Names without a meaning are refused."""
    assert module.stem not in VAGUE


def test_a_public_class_name_has_one_meaning() -> None:
    """A name that two modules give to a class misleads readers and searches."""
    owners: dict[str, list[str]] = {}
    for path in MODULES:
        for node in syntax_tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners.setdefault(node.name, []).append(named(path))
    doubled = {name: paths for name, paths in owners.items() if len(paths) > 1}

    assert {name: paths for name, paths in doubled.items() if name not in NAMES_KNOWN} == {}


def _rank(name: str) -> tuple[int, str]:
    """Constants, classes, functions, each by name: the order that ruff wants."""
    return (0 if name.isupper() else 2 if name[0].islower() else 1), name
