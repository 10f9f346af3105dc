"""Files that a command reads or writes, and the error where it cannot.

A path that a person typed is often wrong: a folder that does not exist, a file where a folder should
be, a place that is read-only.  That is a mistake in an argument, and is answered with one line and
its fix instead of a traceback.
"""

from collections.abc import Sequence
from pathlib import Path

from myrmidon.errors import UsageError


def existing_files(names: Sequence[str]) -> list[Path]:
    """Return the paths of samples; raise ``UsageError`` for one that is not a file."""
    for name in names:
        if not Path(name).is_file():
            raise UsageError(
                f"the sample {name} does not exist.\n  fix: name a YAML file, or none at all"
            )
    return [Path(name) for name in names]


def write_file(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Write a file and create its folder; raise ``UsageError`` if the path cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=mode)
        path.write_text(text)
    except OSError as error:
        raise unusable(path, error) from None


def unusable(path: Path, error: OSError) -> UsageError:
    """Return the error for a path that cannot be written: which part of it, and why."""
    part = str(error.filename or path)
    where = "" if part == str(path) else f" ({part})"
    reason = (error.strerror or type(error).__name__).lower()
    return UsageError(
        f"cannot write {path}: {reason}{where}.\n"
        "  fix: name a file or folder below a folder that you may write to"
    )
