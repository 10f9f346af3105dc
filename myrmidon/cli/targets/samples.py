"""The samples of a program: the files ``sample*.yaml`` beside its controllers and in the folder of the target."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.cli.targets.loading import folder_of
from myrmidon.fsm.controller import Controller
from myrmidon.testing.harness.misuse import documents


def folders_of(classes: Iterable[type[Controller[Any]]]) -> list[Path]:
    """Return the folders that hold the modules of the controllers."""
    files = (sys.modules[cls.__module__].__file__ for cls in classes)
    return sorted({Path(file).resolve().parent for file in files if file})


def sample_files(folders: Iterable[Path], target: str) -> list[Path]:
    """Return the sample files in the folders of the controllers and in that of the target."""
    named = folder_of(target)
    found = {*folders, *([] if named is None else [named.resolve()])}
    return [path for folder in sorted(found) for path in sorted(folder.glob("sample*.yaml"))]


def samples_of(classes: Sequence[type[Controller[Any]]], targets: Iterable[str]) -> list[Json]:
    """Return the objects of all sample files, in the order of files."""
    folders = folders_of(classes)
    paths = dict.fromkeys(path for target in targets for path in sample_files(folders, target))
    return [manifest for path in paths for manifest in documents(path)]
