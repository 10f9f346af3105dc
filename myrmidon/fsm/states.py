"""``@state``: a method becomes a state."""

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Never, TypeVar

from myrmidon.api.model import Model
from myrmidon.api.resource import Resource
from myrmidon.errors import DefinitionError

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
    *misused: Never,
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
    if misused:
        raise DefinitionError(
            f"@state was given {_called(misused[0])}, but it takes keywords only.\n"
            '  fix: write `@state()`, or `@state(initial=True, condition="Deployed", then="exposed")`'
        )
    declaration = Declaration(initial, finalizer, condition, _edges(then))

    def declare(method: _Method) -> _Method:
        setattr(method, _MARK, declaration)
        return method

    return declare


def _edges(then: str | Iterable[str]) -> tuple[str, ...]:
    """The names of the next states, each once."""
    entries: tuple[Any, ...] = (then,) if isinstance(then, str) or callable(then) else tuple(then)
    for entry in entries:
        if not isinstance(entry, str):
            name = _called(entry)
            raise DefinitionError(
                f"`then` of a state lists {name}, which is not the name of a state.\n"
                f'  fix: write it as text: then="{name}"'
            )
    return tuple(dict.fromkeys(entries))


def _called(thing: Any) -> str:
    return str(getattr(thing, "__name__", repr(thing)))


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


def signature_problem(method: Callable[..., Any], of: type | None = None) -> str | None:
    """Why the method cannot be called as a state of objects of that class; None when it can."""
    if not inspect.isfunction(method):
        return "is not a method"
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
    return _annotation_problem(_positional(method), of)


def _annotation_problem(parameters: list[inspect.Parameter], of: type | None) -> str | None:
    """What the annotations say that cannot be; those that a machine cannot judge are not judged."""
    _self, obj, out, *_ctx = parameters
    if _word(out.annotation) == "Context":
        return "takes the Context where the OutputSet comes"
    if of is None or not isinstance(obj.annotation, type):
        return None
    if issubclass(obj.annotation, Resource | Model) and not issubclass(of, obj.annotation):
        return f"takes a {obj.annotation.__name__}, but its objects are of the class {of.__name__}"
    return None


def _word(annotation: Any) -> str:
    """The last word of an annotation, which may be text."""
    said = annotation if isinstance(annotation, str) else _called(annotation)
    return said.rpartition(".")[2]


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
