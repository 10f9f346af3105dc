"""Values of the wrong type in a dataclass of options, found when it is created.

A number where a timedelta belongs, or a text where a tuple of texts belongs, would otherwise fail much
later and far away from the line that is wrong; a text in place of a tuple would be taken apart into
its letters.  The declared types of the fields say what is right.
"""

from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta
from typing import Any, get_args, get_origin


def mistyped(options: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields whose value has the wrong type, each with its fix."""
    for field in fields(options):
        value = getattr(options, field.name)
        fix = _fix(field.name, field.type, value)
        if fix:
            yield field.name, fix


def _fix(name: str, declared: Any, value: Any) -> str:
    """Return what to write instead of a value; ``""`` if it is right, or its type is not checked."""
    if value is None and type(None) in get_args(declared):
        return ""
    accepted = (declared, *get_args(declared))
    if timedelta in accepted and not isinstance(value, timedelta):
        is_number = isinstance(value, int | float)
        return f"write {name}=timedelta(seconds={value if is_number else '...'})"
    if int in accepted and type(value) is not int:
        return "use a whole number"
    if declared is bool and type(value) is not bool:
        return "use True or False"
    if get_origin(declared) is tuple and isinstance(value, str):
        return f"write {name}=({value!r},): a tuple has a comma"
    return ""
