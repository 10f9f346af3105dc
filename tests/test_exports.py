"""The public API: every listed name exists, at run time and for type checkers."""

import ast
from pathlib import Path

import myrmidon


def test_every_name_can_be_imported() -> None:
    """They are loaded lazily, so a wrong module would be noticed late."""
    for name in myrmidon.__all__:
        assert getattr(myrmidon, name) is not None


def test_type_checkers_see_the_same_names() -> None:
    """The imports under TYPE_CHECKING are the lazy ones."""
    tree = ast.parse(Path(myrmidon.__file__).read_text())
    (guard,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name
        for node in guard.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == set(myrmidon.__all__)
