"""``@state``: a method becomes a state."""

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])

_MARK = "__myrmidon_state__"


class Declaration(NamedTuple):
    """What ``@state`` was told."""

    initial: bool
    finalizer: bool
    condition: str | None
    then: tuple[str, ...]


class State(NamedTuple):
    """One state of a controller: its name, its edges, its condition, and how to call it."""

    name: str
    condition: str
    then: tuple[str, ...] = ()
    initial: bool = False
    finalizer: bool = False
    takes_context: bool = False
    is_async: bool = False
    summary: str = ""


def state(
    *,
    initial: bool = False,
    finalizer: bool = False,
    condition: str | None = None,
    then: str | Iterable[str] = (),
) -> Callable[[_Method], _Method]:
    """Declare a method as a state.

    ``then`` names the states that it may go to: one is taken by a bare ``Done()``, several are
    chosen from by ``Done(goto=...)``, none is an end.  ``condition`` is the status condition that
    the state owns; by default the method's name in CamelCase.
    """
    edges = (then,) if isinstance(then, str) else tuple(dict.fromkeys(then))
    declaration = Declaration(initial, finalizer, condition, edges)

    def declare(method: _Method) -> _Method:
        setattr(method, _MARK, declaration)
        return method

    return declare


def declaration_of(method: Any) -> Declaration | None:
    """What ``@state`` was told about a method, None for an ordinary one."""
    found = getattr(method, _MARK, None)
    return found if isinstance(found, Declaration) else None


def state_of(name: str, method: Callable[..., Any], declaration: Declaration) -> State:
    """The state that a declared method is."""
    return State(
        name=name,
        condition=declaration.condition or camel_case(name),
        then=declaration.then,
        initial=declaration.initial,
        finalizer=declaration.finalizer,
        takes_context=len(_positional(method)) > 3,
        is_async=inspect.iscoroutinefunction(method),
        summary=(inspect.getdoc(method) or "").partition("\n")[0],
    )


def signature_problem(method: Callable[..., Any]) -> str | None:
    """Why the method cannot be called as a state; None when it can."""
    if not inspect.isfunction(method):
        return "is no method"
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        return "is a generator, and a state returns one result"
    extra = [
        parameter.name
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    ]
    if extra:
        return f"has the keyword-only parameter {extra[0]!r}, which nobody passes"
    count = len(_positional(method)) - 1
    if count not in (2, 3):
        return f"takes {count} parameters after self"
    return None


def camel_case(name: str) -> str:
    """``rolled_out`` as ``RolledOut``."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[_-]+", name))


def _positional(method: Callable[..., Any]) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [
        parameter
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind in kinds
    ]
