"""The names of a new project, which follow from its folder and its API group.

For the folder ``hello-world``: the distribution ``hello-world``, the package ``hello_world``, the
kind ``HelloWorld``, the controller ``HelloWorlds``.  A folder name from which one of these would be
invalid, or would hide a module that the program imports, is refused before a file is written.
"""

import keyword
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions

from myrmidon.api.objects.refs import Kind
from myrmidon.api.typed.definitions import define
from myrmidon.errors import DefinitionError, UsageError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*")
_MOST = 40
"""The longest name: the namespace NAME-system and the label of the pods must fit into 63 characters."""
_FOLDERS = frozenset({"tests", "deploy", "charts", "build", "dist"})


@dataclass(frozen=True, slots=True)
class Names:
    """The names in the files of a project."""

    name: str
    """The distribution, as pip calls it."""
    package: str
    """The Python package."""
    kind: Kind
    controller: str
    """The controller's class: the plural of the kind."""


def names_of(folder: str, group: str) -> Names:
    """Return the names that follow from the name of the folder and the group; raise for wrong ones."""
    _check_folder(folder)
    package = folder.lower().replace("-", "_")
    _check_package(folder, package)
    kind = "".join(part[:1].upper() + part[1:] for part in re.split("[-_]", folder))
    made = _kind(kind, group)
    stem = kind if made.plural.startswith(kind.lower()) else kind[:-1]  # Polic(y) for policies
    controller = stem + made.plural[len(stem) :]
    return Names(folder.lower().replace("_", "-"), package, made, controller)


def _check_folder(folder: str) -> None:
    if _NAME.fullmatch(folder) and len(folder) <= _MOST:
        return
    close = "-".join(re.findall("[A-Za-z0-9]+", folder)).lstrip("0123456789-")[:_MOST].rstrip("-")
    fix = f"`myrmidon init {close}`" if close else "choose a name such as web-app"
    raise UsageError(
        f"the folder name {folder!r} cannot be the name of a project: it must begin with a letter, and have "
        f"only letters, digits and single dashes, at most {_MOST} of them.\n  fix: {fix}"
    )


def _check_package(folder: str, package: str) -> None:
    """Raise if the package would hide another module, or cannot be imported."""
    if package in _FOLDERS:
        problem = f"the project has a folder {package} for other files"
    elif keyword.iskeyword(package):
        problem = f"{package} is a word of the Python language"
    elif package in sys.stdlib_module_names:
        problem = f"it would hide Python's own module {package}"
    elif package in _installed_packages():
        problem = f"it would hide the installed package {package}"
    else:
        return
    raise UsageError(
        f"the project cannot be called {folder}: {problem}.\n  fix: `myrmidon init {folder}-controller`"
    )


@cache
def _installed_packages() -> frozenset[str]:
    """Return the names that the installed distributions can be imported by."""
    return frozenset(packages_distributions())


def _kind(kind: str, group: str) -> Kind:
    """Return the kind as the class statement would define it; raise if that would refuse the group."""
    try:
        return define(
            kind,
            group=group,
            version="v1",
            kind=None,
            plural=None,
            namespaced=True,
            singular=None,
            short_names=(),
            categories=(),
            columns={},
            selectable_fields=(),
            versions=(),
        ).kind
    except DefinitionError:
        raise UsageError(
            f"--group {group!r} is not an API group that you can define kinds in.\n"
            "  fix: use a domain of yours in lower case, with a dot: demo.example.com"
        ) from None
