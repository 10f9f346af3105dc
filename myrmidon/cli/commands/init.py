"""Create a controller project that runs, passes its tests, and builds a wheel and an image.

  myrmidon init greeting
  cd greeting
  make demo
  make test

The kind is named after the folder.  The project has a Makefile, whose targets work in a virtual
environment of their own; without make, use `myrmidon dev .` and `pytest`.
"""

import argparse
import shlex
from pathlib import Path

from myrmidon.cli.scaffold.files import project_files
from myrmidon.cli.scaffold.names import names_of
from myrmidon.errors import UsageError

_HARMLESS = {".git"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="the folder to create; it may exist if it is empty"
    )
    parser.add_argument(
        "--group", default="example.com", help="the API group of the kind (default: example.com)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the files."""
    folder: Path = args.folder
    names = names_of(folder.resolve().name, args.group)
    _check_is_free(folder)
    for path, text in project_files(names).items():
        _write(folder / path, text)
        print(f"wrote {folder / path}")
    enter = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    print(f"\nnext: {enter}make demo    (or, without make: {enter}myrmidon dev .)")
    return 0


def _check_is_free(folder: Path) -> None:
    """Raise unless the files can be written without replacing any."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.\n  fix: choose a new folder")
    there = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
    if set(there) - _HARMLESS:
        listed = ", ".join(there[:3]) + (", ..." if len(there) > 3 else "")
        raise UsageError(
            f"the folder {folder} is not empty: it has {listed}.\n"
            "  fix: choose a new folder; init does not write over files"
        )


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}.\n  fix: choose a folder in which you may write"
        ) from None
