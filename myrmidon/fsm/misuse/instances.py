"""Whether a value is a controller object, which is what a manager and a harness run.

A controller is created by the program, because its ``__init__`` may take clients and settings.
Passing the class instead of an object is a common slip; without this check it would fail much later,
with an error about an attribute of ``type``.
"""

from typing import Any

from myrmidon.errors import UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.misuse.forgotten_awaits import check_awaits


def check_is_controller(value: Any, caller: str) -> None:
    """Raise ``UsageError`` if ``value`` is not a controller object; ``caller`` is what got it."""
    if isinstance(value, Controller):
        if hasattr(type(value), "graph"):
            check_awaits(type(value))
            return
        name = type(value).__name__
        raise UsageError(
            f"{caller} got an object of {name}, which is an abstract class without states.\n"
            f"  fix: pass an object of a subclass of {name}"
        )
    if isinstance(value, type) and issubclass(value, Controller):
        raise UsageError(
            f"{caller} got the class {value.__name__}, not an object of it.\n"
            f"  fix: write {value.__name__}(), with the arguments of its __init__ if it has any"
        )
    shown = value.__name__ if isinstance(value, type) else repr(value)
    fix = "pass an object of a class that derives from Controller[YourResource]"
    if isinstance(value, list | tuple):
        shown, fix = (
            f"a {type(value).__name__}",
            f"pass each controller by itself: {caller}(A(), B())",
        )
    raise UsageError(f"{caller} got {shown}, which is not a controller.\n  fix: {fix}")
