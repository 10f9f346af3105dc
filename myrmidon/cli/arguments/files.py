"""Files that a command writes, and the error where it cannot.

A path that a person typed is often wrong: a folder that does not exist, a file where a folder should
be, a place that is read-only.  That is a mistake in an argument, and is answered with one line and
its fix instead of a traceback.
"""

from pathlib import Path

from myrmidon.errors import UsageError


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
