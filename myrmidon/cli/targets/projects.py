"""Find the controller of a project: a folder with a pyproject.toml and a package.

``myrmidon init greeting`` writes such a project.  Its controller is ``greeting/controller.py`` or
``src/greeting/controller.py``, and its tests and its image import it as ``greeting.controller``.
The commands do the same when the target is the project's folder, so that the code is imported under
one name only.  A controller.py in the folder itself comes first: it needs no package.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from myrmidon.errors import UsageError

CONTROLLER = "controller.py"
PYPROJECT = "pyproject.toml"
_NOT_THE_PROGRAM = ("tests", "test", "docs", "examples")


@dataclass(frozen=True, slots=True)
class Project:
    """The package of a project that holds the controller."""

    folder: Path
    """The folder with the pyproject.toml."""
    root: Path
    """The folder that Python imports the package from: the same, or ``src`` in it."""
    package: str

    @property
    def module(self) -> str:
        """The module with the controllers, as an installed program imports it."""
        return f"{self.package}.{Path(CONTROLLER).stem}"

    def make_importable(self) -> None:
        """Put the project first on Python's path, and forget a package of the same name from elsewhere."""
        root = self.root.resolve()
        sys.path[:] = [str(root), *(each for each in sys.path if each != str(root))]
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) or ""
            if name.partition(".")[0] != self.package:
                continue
            if not Path(file).resolve().is_relative_to(root):
                del sys.modules[name]


def project_at(folder: Path) -> Project | None:
    """Return the project in the folder; None if there is none, or if the folder has a controller.py.

    Raise if several packages have a controller, because the folder does not say which one is meant.
    """
    if (folder / CONTROLLER).is_file() or not (folder / PYPROJECT).is_file():
        return None
    found = [
        Project(folder, root, file.parent.name)
        for root in (folder, folder / "src")
        for file in sorted(root.glob(f"*/{CONTROLLER}"))
        if _is_package(file.parent) and file.parent.name not in _NOT_THE_PROGRAM
    ]
    if len(found) > 1:
        modules = ", ".join(each.module for each in found)
        raise UsageError(
            f"{folder} has several packages with a {CONTROLLER}: {modules}.\n"
            f"  fix: name the module: {found[0].module}"
        )
    return found[0] if found else None


def _is_package(folder: Path) -> bool:
    """Whether Python can import the folder; a copy such as ``shop.orig`` cannot be."""
    return folder.name.isidentifier() and (folder / "__init__.py").is_file()


def project_of(path: Path) -> Project | None:
    """Return the project that a path belongs to: its folder, its package, or its controller.py."""
    folder = (path.parent if path.name == CONTROLLER else path).resolve()
    own = project_at(folder)
    if own is not None:
        return own
    for parent in (folder.parent, folder.parent.parent):
        around = project_at(parent)
        if around is not None and around.root / around.package == folder:
            return around
    return None
