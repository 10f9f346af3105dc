"""All exhibits, in order."""

from importlib import import_module
from pathlib import Path

from tests.museum.kit import Exhibit

EXHIBITS: tuple[Exhibit, ...] = tuple(
    import_module(f"tests.museum.{path.stem}").EXHIBIT
    for path in sorted(Path(__file__).parent.glob("e[0-9][0-9]_*.py"))
)
