"""``@state``: the decorator that declares a method as a state; the checks of its signature and results.

The decorator only attaches a ``Declaration`` to the method.  When the class is complete,
``Controller.__init_subclass__`` turns each declared method into a ``State``: the graph, the engine
and the generators work with these values and never with the methods themselves.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple, Never, TypeVar

from myrmidon.api.typed.metadata import HasMetadata
from myrmidon.api.typed.model import Model
from myrmidon.api.typed.models import is_model
from myrmidon.errors import (
    DefinitionError,
    FinalizerScheduleError,
    StateResultError,
    UndeclaredEdgeError,
)
from myrmidon.fsm.machine.results import Done, Failed, Result, Wait

_Method = TypeVar("_Method", bound=Callable[..., Result | Awaitable[Result]])

_MARK = "__myrmidon_state__"
# A tuple, because isinstance() with ``Done | Wait | Failed`` builds the union each time.
_RESULTS = (Done, Wait, Failed)
_NOT_RESULTS = ("None", "bool", "str", "int", "float", "dict", "list", "tuple")


class Fork:
    """Next states that do not depend on each other: ``then=Fork("database", "cache")``.

    One pass walks every branch, one after the other, also if one of them waits or fails.  A state
    that several branches lead to joins them: it runs when every branch has come to it or to an
    end.  The condition of each state says how far its branch is, and Ready names the branches that
    are behind.  Branches must not share states before the join; each may fork again.
    """

    __slots__ = ("branches",)

    def __init__(self, *branches: str) -> None:
        """``branches``: the names of the first states of two or more branches."""
        self.branches = _edges(branches)
        if len(self.branches) < 2:
            raise DefinitionError(
                f"Fork({', '.join(map(repr, branches))}) has fewer than two branches.\n"
                '  fix: name the first state of each branch: then=Fork("database", "cache")'
            )

    def __repr__(self) -> str:
        return f"Fork({', '.join(map(repr, self.branches))})"


class Declaration(NamedTuple):
    """The arguments of one ``@state``."""

    initial: bool
    finalizer: bool
    condition: str | None
    then: tuple[str, ...]
    fork: bool = False


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
    fork: bool = False  # all states of ``then`` come next, instead of one of them


def state(
    *misused: Never,
    initial: bool = False,
    finalizer: bool = False,
    condition: str | None = None,
    then: str | Iterable[str] | Fork = (),
) -> Callable[[_Method], _Method]:
    """Declare a method as a state.

    - ``initial``: every pass over an object that is not being deleted starts here.  Exactly one
      state of a controller has it.  Default: False.
    - ``finalizer``: every pass over an object that is being deleted starts here; the controller
      then puts a finalizer on its objects.  At most one state has it.  Default: False.
    - ``condition``: the type of the status condition that the state owns.  Default: the method's
      name in CamelCase.
    - ``then``: the name or names of the states that may come next.  With one, ``Done()`` goes
      there; with several, the state chooses with ``Done(goto=...)``; with none, the walk ends
      here.  ``Fork("database", "cache")`` goes to all of them.  Default: none.
    """
    if misused:
        raise DefinitionError(
            f"@state was given {_called(misused[0])}, but it takes keywords only.\n"
            '  fix: write `@state()`, or `@state(initial=True, condition="Deployed", then="exposed")`'
        )
    _check_arguments(initial, finalizer, condition)
    fork = isinstance(then, Fork)
    edges = then.branches if isinstance(then, Fork) else _edges(then)
    declaration = Declaration(initial, finalizer, condition, edges, fork)

    def declare(method: _Method) -> _Method:
        try:
            setattr(method, _MARK, declaration)
        except AttributeError:
            raise DefinitionError(
                f"@state is above a {type(method).__name__}, and a state is a method.\n"
                f"  fix: remove @{type(method).__name__} below @state"
            ) from None
        return method

    return declare


def _check_arguments(initial: Any, finalizer: Any, condition: Any) -> None:
    for name, value in (("initial", initial), ("finalizer", finalizer)):
        if not isinstance(value, bool):
            raise DefinitionError(
                f"@state has {name}={value!r}, which is neither True nor False.\n"
                f"  fix: write {name}=True"
            )
    if condition is not None and not isinstance(condition, str):
        raise DefinitionError(
            f"@state has condition={condition!r}, which is not a text.\n"
            '  fix: write condition="Deployed", or leave it out: the name of the method is the default'
        )


def _edges(then: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of the next states without duplicates."""
    entries: tuple[Any, ...] = (then,) if isinstance(then, str) or callable(then) else tuple(then)
    if isinstance(then, str) and "," in then:
        names = ", ".join(f'"{each.strip()}"' for each in then.split(","))
        raise DefinitionError(
            f"`then` of a state is the text {then!r}, which is not the name of a state.\n"
            f"  fix: write then=({names})"
        )
    for entry in entries:
        if isinstance(entry, Fork):
            raise DefinitionError(
                f"`then` of a state lists {entry!r} beside other states.\n"
                f"  fix: write then={entry!r} alone; a state of its own can choose and then fork"
            )
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
    """Return the arguments of the method's ``@state``; None for a method without it.

    A static or class method around a state is found as well, so that it can be refused.
    """
    if isinstance(method, staticmethod | classmethod):
        method = method.__wrapped__
    found = getattr(method, _MARK, None)
    return found if isinstance(found, Declaration) else None


def state_of(name: str, method: Callable[..., Any], declaration: Declaration) -> State:
    """Build the State of a declared method."""
    return State(
        name=name,
        condition=declaration.condition or camel_case(name),
        then=declaration.then,
        initial=declaration.initial,
        finalizer=declaration.finalizer,
        takes_context=len(_positional(method)) > 3,
        is_async=inspect.iscoroutinefunction(method),
        summary=(inspect.getdoc(method) or "").partition("\n")[0],
        fork=declaration.fork,
    )


def signature_problem(method: Callable[..., Any], of: type | None = None) -> str | None:
    """Return why the method cannot be a state for objects of the class ``of``; None if it can."""
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
        return f"has the keyword-only parameter {extra[0]!r}, which the framework does not pass"
    count = len(_positional(method)) - 1
    if count not in (2, 3):
        return f"takes {count} parameter{'s' * (count != 1)} after self"
    returns = _word(inspect.signature(method).return_annotation)
    if returns in _NOT_RESULTS:
        return f"returns {returns}, and a state returns a Result: Done, Wait or Failed"
    return _annotation_problem(_positional(method), of)


def look_alikes(cls: type) -> tuple[str, ...]:
    """Return the methods that the class defines like states, but without ``@state``."""
    return tuple(
        name
        for name, method in vars(cls).items()
        if inspect.isfunction(method)
        and declaration_of(method) is None
        and [parameter.name for parameter in _positional(method)][2:3] == ["out"]
    )


def _annotation_problem(parameters: list[inspect.Parameter], of: type | None) -> str | None:
    """Return what is wrong with the annotations of ``obj`` and ``out``; None if nothing is.

    An annotation of ``obj`` that is not a class (text, a union, a type variable) is not checked.
    """
    _self, obj, out, *_ctx = parameters
    if _word(obj.annotation) == "OutputSet":
        return "takes the OutputSet where the object is passed"
    if _word(out.annotation) == "Context":
        return "takes the Context where the OutputSet is passed"
    if of is None or not isinstance(obj.annotation, type):
        return None
    is_kind = issubclass(obj.annotation, Model | HasMetadata) or is_model(obj.annotation)
    if is_kind and not issubclass(of, obj.annotation):
        return f"takes a {obj.annotation.__name__}, but its objects are of the class {of.__name__}"
    return None


def _word(annotation: Any) -> str:
    """Return the unqualified name of an annotation, which may be a class or text."""
    said = annotation if isinstance(annotation, str) else _called(annotation)
    return said.rpartition(".")[2]


def camel_case(name: str) -> str:
    """Return a name in CamelCase: ``RolledOut`` for ``rolled_out``."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[_-]+", name))


def _positional(method: Callable[..., Any]) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [
        parameter
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind in kinds
    ]


# ----------------------------------------------------------------------- results of a state


def checked_result(controller: str, state: State, report: object, deleting: bool) -> Result:
    """Return what a state returned if it may return that; otherwise a Failed that says why not.

    It must be a result, go on to a declared next state, and not ask for a later pass (``again``)
    while the object is being deleted.
    """
    if not isinstance(report, _RESULTS):
        wrong = StateResultError(controller, state.name, report)
        if inspect.iscoroutine(report):
            report.close()  # otherwise Python warns that it was never awaited, somewhere else
        return Failed(wrong.reason, wrong, retry=False)
    if not isinstance(report, Done):
        return report
    if report.pause is None and _strays(state, report):
        stray = UndeclaredEdgeError(
            controller, state.name, report.goto, state.then, fork=state.fork
        )
        return Failed(stray.reason, stray, retry=False)
    if report.again is not None and deleting:
        error = FinalizerScheduleError(controller, state.name)
        return Failed(error.reason, error, retry=False)
    return report


def _strays(state: State, result: Done) -> bool:
    if result.goto is None:
        return len(state.then) > 1 and not state.fork
    return state.fork or result.goto not in state.then
