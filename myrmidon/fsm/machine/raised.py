"""``UnexpectedError``: an exception raised by a state, with its type and the user's line."""

from functools import cache
from pathlib import Path
from sysconfig import get_paths
from traceback import walk_tb

from myrmidon.api.values.texts import nearest, text_of

_FRAMEWORK = str(Path(__file__).parents[__name__.count(".") - 1])  # the folder of ``myrmidon``
# Exceptions whose own text is empty, or does not say what they mean inside a state.
_MEANINGS = {
    "CancelledError": "the state awaited a task or future that was cancelled",
    "SystemExit": "a state cannot end the process; return Failed(...) instead of calling exit",
}


class UnexpectedError(Exception):
    """An exception raised by a state, with its type, its text and the line of the user's program.

    The text of a ``KeyError`` alone, for example, is only ``'data'``.
    """

    def __init__(self, error: BaseException) -> None:
        name = type(error).__name__
        said = f"{name}: {_MEANINGS.get(name) or text_of(error)}".removesuffix(": ")
        place = _place(error)
        problem, _, fix = said.partition(".\n  fix: ")  # of an error of ours
        fix = fix or _fix(error)
        where = f" ({place})" if place else ""
        super().__init__(f"{problem}{where}" + (f".\n  fix: {fix}" if fix else ""))
        self.__cause__ = error


@cache
def _libraries() -> tuple[str, ...]:
    """Return the directories of installed libraries; looked up at the first exception."""
    paths = get_paths()
    return tuple(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def _fix(error: BaseException) -> str:
    """Return how to fix a slip that its error gives away; ``""`` for any other error."""
    if isinstance(error, TypeError | AttributeError) and "'coroutine' object" in text_of(error):
        return "write `await` before the call that returned it, in an `async def`"
    if isinstance(error, AttributeError) and error.name and not isinstance(error.obj, Exception):
        close = nearest(error.name, _names_of(error.obj))
        return f"did you mean {close!r}?" if close else ""
    return ""


def _names_of(obj: object) -> list[str]:
    """Return the public attributes of an object's class, and the fields of a model."""
    fields = getattr(type(obj), "model_fields", None)
    return list(fields) if fields else [name for name in dir(type(obj)) if name[:1] != "_"]


def _place(error: BaseException) -> str:
    """Return the last line of the traceback that belongs to the user's program, as ``file:line``.

    Frames of the framework and of installed libraries are skipped.  If the program itself is
    installed as a library, return the last line in the file of the outermost frame.
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
