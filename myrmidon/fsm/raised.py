"""UnexpectedError: an exception raised by a state, with its type and the user's line."""

from functools import cache
from pathlib import Path
from sysconfig import get_paths
from traceback import walk_tb

_FRAMEWORK = str(Path(__file__).parents[1])
# Exceptions that say nothing of themselves, or not what they mean inside a state.
_MEANINGS = {
    "CancelledError": "the state awaited a task or future that was cancelled",
    "SystemExit": "a state cannot end the process; return Failed(...) instead of calling exit",
}


class UnexpectedError(Exception):
    """An exception of a state: what it is, what it says and which line of the program raised it.

    ``'data'`` alone is all that a ``KeyError`` says of itself.
    """

    def __init__(self, error: BaseException) -> None:
        name = type(error).__name__
        meaning = _MEANINGS.get(name)
        said = f"{name}: {meaning or error}".removesuffix(": ")
        place = _place(error)
        super().__init__(f"{said} ({place})" if place else said)
        self.__cause__ = error


@cache
def _libraries() -> tuple[str, ...]:
    """Where libraries are installed; not looked up before something was raised."""
    paths = get_paths()
    return tuple(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def _place(error: BaseException) -> str:
    """The last line of the program's own code: below it are libraries, above it is the framework.

    A program that is itself installed as a library is told by the file that the state is in.
    """
    lines = [
        (frame.f_code.co_filename, number)
        for frame, number in walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(_FRAMEWORK)
    ]
    own = [line for line in lines if not line[0].startswith(_libraries())]
    for file, number in reversed(own or [line for line in lines if line[0] == lines[0][0]]):
        return f"{Path(file).name}:{number}"
    return ""
