"""Find the controllers that the arguments on the command line name.

``pkg.module``, ``pkg.module:WebApps``, ``pkg.module:WebApps,Tokens``, a folder with a
``controller.py``, or the folder of a project (see ``projects``).  A name alone after a target means
one more controller of the same module.
"""

import importlib
import importlib.machinery
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from myrmidon.api.typed.object_types import is_defined_here
from myrmidon.api.typed.resource import Resource
from myrmidon.cli.progress import doing
from myrmidon.cli.targets.import_errors import broken, locate
from myrmidon.cli.targets.projects import CONTROLLER as _FILE
from myrmidon.cli.targets.projects import project_at, project_of
from myrmidon.errors import MyrmidonError, UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.webhooks.admission.rules import Admission

T = TypeVar("T")
_PREFIX = "myrmidon_target"


def load(targets: Sequence[str]) -> list[type[Controller[Any]]]:
    """Return the controllers that the targets name, each once, in that order."""
    doing(f"importing {', '.join(targets)}")
    found: dict[type[Controller[Any]], None] = {}
    module: ModuleType | None = None
    for target in targets:
        if module is not None and target.isidentifier() and target[0].isupper():
            found |= dict.fromkeys(_named(module, [target]))
            continue
        place, _, names = target.partition(":")
        module = _module(place)
        if names:
            found |= dict.fromkeys(_named(module, [name.strip() for name in names.split(",")]))
        else:
            found |= dict.fromkeys(_all(module, target))
    return list(found)


def load_admissions(targets: Sequence[str]) -> list[type[Admission[Any]]]:
    """Return the Admission classes of the targets: those that are named, or all of a module."""
    found: dict[type[Admission[Any]], None] = {}
    module: ModuleType | None = None
    for target in targets:
        if module is not None and target.isidentifier() and target[0].isupper():
            named = [target]
        else:
            place, _, names = target.partition(":")
            module = _module(place)
            named = [name.strip() for name in names.split(",")] if names else []
        known = _admissions(module)
        own = [each for each in known.values() if each.__module__.startswith(module.__name__)]
        chosen = [known[name] for name in named if name in known]
        found |= dict.fromkeys(chosen if named else own)
    return list(found)


def load_definitions(
    targets: Sequence[str],
) -> tuple[list[type[Controller[Any]]], list[type[Resource[Any, Any]]]]:
    """Return the controllers of the targets, and the resources of modules that only define types.

    A project can keep the classes of its API in a module of their own; `generate crd` accepts it.
    """
    doing(f"importing {', '.join(targets)}")
    resources: dict[type[Resource[Any, Any]], None] = {}
    others: list[str] = []
    for target in targets:
        place, _, names = target.partition(":")
        is_name = bool(names) or (target.isidentifier() and target[0].isupper())
        defined = [] if is_name else _types_only(_module(place))
        resources |= dict.fromkeys(defined)
        if not defined:
            others.append(target)
    return load(others), list(resources)


def made(cls: type[T]) -> T:
    """Return an instance of a controller or Admission class, which must not need arguments."""
    try:
        return cls()
    except TypeError as error:
        raise UsageError(
            f"{cls.__name__} cannot be created without arguments: {error}.\n"
            "  fix: give the arguments of __init__ defaults, or run a Manager in your own program"
        ) from error


def folder_of(target: str) -> Path | None:
    """Return the folder that a target names; None if it names a file, a module or a package."""
    place = target.partition(":")[0]
    path = Path(place)
    if not path.is_dir():
        return None
    is_package = (path / "__init__.py").is_file() and not (path / _FILE).is_file()
    return None if is_package and "/" not in place else path


def program_folder(target: str) -> Path:
    """Return the folder from which the program's image is built: that of the project or of the target.

    For a module this is the working folder, from which the module is imported.
    """
    path = Path(target.partition(":")[0])
    project = project_of(path) if path.exists() else None
    if project is not None:
        return project.folder
    return folder_of(target) or Path()


def in_the_image(target: str) -> str:
    """Return the target as ``myrmidon run`` gets it in the image of the program.

    A project is installed there, so its folder becomes the name of its module.  The files of any
    other folder are copied into the working folder of the image.
    """
    place, colon, names = target.partition(":")
    path = Path(place)
    if not path.exists() or (folder_of(target) is None and path.suffix != ".py"):
        return target  # a module
    project = project_of(path)
    if project is not None:
        return f"{project.module}{colon}{names}"
    return target if path.is_file() else f".{colon}{names}"


def _module(place: str) -> ModuleType:
    path = Path(place)
    project = project_at(path)
    if project is not None:
        project.make_importable()
        return _imported(project.module)
    if path.suffix == ".py" or "/" in place or folder_of(place) is not None:
        return _from_file(path)
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
    return _imported(place)


def _imported(place: str) -> ModuleType:
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is None or not (place == error.name or place.startswith(f"{error.name}.")):
            raise UsageError(
                f"{place} imports {error.name}, which is not installed.\n  fix: install {error.name}"
            ) from error
        raise UsageError(_unknown_module(place)) from error
    except MyrmidonError as error:
        locate(error)
        raise
    except Exception as error:
        raise broken(place, error) from error


def _from_file(path: Path) -> ModuleType:
    file = path / _FILE if path.is_dir() else path
    if not file.is_file():
        raise UsageError(_unknown_file(path, file))
    folder = str(file.parent.resolve())
    package = _PREFIX + re.sub(r"\W", "_", folder)
    name = package + "." + re.sub(r"\W", "_", file.stem)
    if name in sys.modules:
        return sys.modules[name]
    sys.modules[package] = _package(package, folder)
    if folder not in sys.path:
        sys.path.insert(
            0, folder
        )  # so that it can import its neighbours, as when it is run as a script
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None, "a path that ends in .py has a loader"
    assert spec.loader is not None, "a path that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except MyrmidonError as error:
        del sys.modules[name]
        locate(error)
        raise
    except Exception as error:
        del sys.modules[name]
        raise broken(str(file), error) from error
    return module


def _package(name: str, folder: str) -> ModuleType:
    """Return a package of the files in the folder, so that they can import each other relatively.

    It is made anew for every load, because it keeps the modules that were imported from it.
    """
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [folder]
    return importlib.util.module_from_spec(spec)


def _unknown_file(path: Path, file: Path) -> str:
    fix = f"give a folder with a {_FILE}, a file, or a module such as pkg.module:WebApps"
    if path.is_dir():
        there = ", ".join(sorted(each.name for each in path.glob("*.py")))
        return f"{path} has no {_FILE}; its Python files: {there or 'none'}.\n  fix: {fix}"
    beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, beside, n=1)
    if close:
        fix = f"did you mean {path.parent / close[0]}?"
    return f"the file {file} does not exist.\n  fix: {fix}"


def _unknown_module(place: str) -> str:
    parent, _, missing = place.rpartition(".")
    folders = [str(Path.cwd())]
    if parent:
        try:
            spec = importlib.util.find_spec(parent)
        except ModuleNotFoundError:
            spec = None
        if spec is None:
            return _unknown_module(parent)
        folders = list(spec.submodule_search_locations or ())
    known = [module.name for module in pkgutil.iter_modules(folders)]
    known += [each.name for folder in folders for each in Path(folder).iterdir() if each.is_dir()]
    close = get_close_matches(missing, known, n=1)
    near = f"{parent}.{close[0]}" if close and parent else "".join(close)
    fix = (
        f"did you mean {near}?"
        if near
        else "run the command in the folder that holds the module, or install it"
    )
    return f"the module {place} does not exist.\n  fix: {fix}"


def _all(module: ModuleType, target: str) -> list[type[Controller[Any]]]:
    controllers = list(_controllers(module).values())
    if not controllers and _admissions(module):
        return []
    own = [each for each in controllers if each.__module__.startswith(module.__name__)]
    if not controllers:
        raise UsageError(
            f"{target} does not define a controller.\n"
            "  fix: name the module with `class ...(Controller[YourResource])` in it"
        )
    return own or controllers


def _named(module: ModuleType, names: Sequence[str]) -> list[type[Controller[Any]]]:
    """Return the controllers of these names; Admission classes are left out."""
    admissions = _admissions(module)
    return [_controller(module, name) for name in names if name not in admissions]


def _controller(module: ModuleType, name: str) -> type[Controller[Any]]:
    controllers = _controllers(module)
    if name in controllers:
        return controllers[name]
    if hasattr(module, name):
        raise UsageError(
            f"{name} in {_called(module)} is not a controller.\n"
            f"  fix: name one of {', '.join(controllers) or 'another module; this one has none'}"
        )
    close = get_close_matches(name, controllers, n=1)
    fix = f"did you mean {close[0]}?" if close else f"it has {', '.join(controllers) or 'none'}"
    raise UsageError(f"{_called(module)} has no controller {name}.\n  fix: {fix}")


def _called(module: ModuleType) -> str:
    made_up = module.__name__.startswith(_PREFIX)
    return str(module.__file__) if made_up else module.__name__


def _types_only(module: ModuleType) -> list[type[Resource[Any, Any]]]:
    """Return the custom resources of a module without controllers; none if it has controllers."""
    if _controllers(module):
        return []
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Resource) and is_defined_here(value)
    ]


def _admissions(module: ModuleType) -> dict[str, type[Admission[Any]]]:
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Admission) and value is not Admission
    }


def _controllers(module: ModuleType) -> dict[str, type[Controller[Any]]]:
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Controller) and "graph" in vars(value)
    }
