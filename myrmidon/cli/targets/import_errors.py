"""Errors while a target is imported, told to the person who wrote it.

An error of ours (``DefinitionError``) already says what and how to fix it; it gets the user's line.
Any other exception is Python's, raised by the module itself: a misspelled name, an unknown keyword, a
missing package.  It becomes a ``UsageError`` with the line and, where the mistake can be guessed from
the names that exist, the name that was probably meant.

The line is that of the innermost frame in the user's code: not in this package, not in the standard
library, not in an installed package.
"""

import ast
import inspect
import re
import sysconfig
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic_core import SchemaError

import myrmidon
from myrmidon.api.values.texts import nearest
from myrmidon.errors import MyrmidonError, UsageError

_NOT_THE_USERS = (
    Path(myrmidon.__file__).parent,
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")),
)
_UNKNOWN_KEYWORD = re.compile(
    r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'"
)
_NOT_OURS = re.compile(r"cannot import name '(\w+)' from 'myrmidon'")
_UNTYPED_FIELD = re.compile(r"non-annotated attribute was detected: `(\w+) = (.+?)`")
_MISSING = re.compile(r"missing \d+ required [\w -]+?: (.+)$")


def locate(error: MyrmidonError) -> None:
    """Add a note with the user's line that raised an error of ours, such as a class statement."""
    frame = _users_frame(error)
    if frame is not None:
        error.add_note(f"  at {_line(frame)}")


def broken(place: str, error: Exception) -> UsageError:
    """Return the error for a module that cannot be imported."""
    frame = _users_frame(error)
    where = _line(frame) if frame is not None else place
    said = str(error).partition("\n")[0]
    if isinstance(error, SchemaError):
        lines = [line.strip() for line in str(error).splitlines()]
        said = " ".join(
            line for line in lines if line.startswith("SchemaError: Field") or line == lines[-1]
        )
    if isinstance(error, SyntaxError) and error.filename:
        where, said = f"{_shown(Path(error.filename))}:{error.lineno}", error.msg
    return UsageError(
        f"{place} cannot be imported: {type(error).__name__}: {said.rstrip('.')} ({where}).\n"
        f"  fix: {_fix(place, error, frame)}"
    )


def _users_frame(error: BaseException) -> TracebackType | None:
    """Return the innermost frame of the traceback that is in the user's code."""
    step, found = error.__traceback__, None
    while step is not None:
        file = Path(step.tb_frame.f_code.co_filename)
        if file.is_file() and not any(file.is_relative_to(folder) for folder in _NOT_THE_USERS):
            found = step
        step = step.tb_next
    return found


def _fix(place: str, error: Exception, frame: TracebackType | None) -> str:
    """Return what to write instead, if that can be guessed; else how to see the whole error."""
    guess = _guess(error, frame.tb_frame.f_globals if frame is not None else {})
    if guess:
        return guess
    is_file = "/" in place or place.endswith(".py")
    command = f"python {place}" if is_file else f"python -c 'import {place}'"
    return f"make `{command}` work"


def _guess(error: Exception, names: dict[str, Any]) -> str:
    match error:
        case NameError(name=str(name)):
            if name in myrmidon.__all__:
                return f"write `from myrmidon import {name}`"
            return _nearest(name, names)
        case AttributeError(name=str(name), obj=obj):
            return _nearest(name, dir(obj))
        case ImportError(msg=str(said)) if found := _NOT_OURS.search(said):
            return _nearest(found[1], myrmidon.__all__)
        case _ if found := _UNTYPED_FIELD.search(str(error)):
            return f"write its type: `{found[1]}: {_type_of(found[2])} = {found[2]}`"
        case TypeError():
            return _guessed_argument(str(error), names)
        case _:
            return ""


def _guessed_argument(said: str, names: dict[str, Any]) -> str:
    if found := _MISSING.search(said):
        return f"pass {found[1]}"
    found = _UNKNOWN_KEYWORD.search(said)
    if found is None or found[1] not in names:
        return ""
    known = [
        each.name
        for each in inspect.signature(names[found[1]]).parameters.values()
        if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    takes = ", ".join(known) or "no keywords; see its documentation"
    return _nearest(found[2], known) or f"it takes {takes}"


def _nearest(name: str, known: Any) -> str:
    close = nearest(name, known)
    return f"did you mean {close}?" if close else ""


def _type_of(text: str) -> str:
    """Return the name of the type of a literal, ``int`` for ``3``."""
    try:
        return type(ast.literal_eval(text)).__name__
    except (ValueError, SyntaxError):
        return "..."


def _line(frame: TracebackType) -> str:
    return f"{_shown(Path(frame.tb_frame.f_code.co_filename))}:{frame.tb_lineno}"


def _shown(file: Path) -> str:
    """Return a path relative to the current folder if it is inside it."""
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)
