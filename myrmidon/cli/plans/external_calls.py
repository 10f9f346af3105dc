"""Calls in the states of a controller that may reach another system, found in their source.

``myrmidon plan`` runs the states of a controller as they are.  Requests to the API server go to a
copy, and an ``External`` is only observed, but a state that calls another system itself (a registry,
a DNS service, a billing API) calls it during a plan as well.  These calls cannot be intercepted, so
the plan names them before it runs.

What counts: an awaited call, or a call of a method of one of the controller's attributes
(``self.registry.publish(...)``).  Not counted are calls on the parameters of the state (its object,
its outputs, its context), methods of the controller itself, which are read as well, and everything in
a function that asks ``ctx.planning``.  A call through a plain function of another module, such as
``requests.post(...)``, is not found unless it is awaited.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from myrmidon.fsm.controller import Controller

_PLANNING = "planning"
_HARMLESS = ("log", "logger", "_log", "_logger")


class ExternalCall(NamedTuple):
    """A call that may have an effect outside the cluster."""

    where: str  # file:line, and when it is made
    text: str  # self.registry.publish


def external_calls(controller: type[Controller[Any]]) -> list[ExternalCall]:
    """Return the calls of a controller's methods that a plan would make; each text once."""
    found: dict[str, ExternalCall] = {}
    last = _run_by_deletions(controller)
    functions = sorted(_functions(controller), key=lambda each: each.__name__ in last)
    for function in functions:
        for call in _calls(function, controller):
            only = ", only for an object that is being deleted" * (function.__name__ in last)
            found.setdefault(call.text, call._replace(where=call.where + only))
    return list(found.values())


def _run_by_deletions(controller: type[Controller[Any]]) -> set[str]:
    """Return the states that a pass runs only if the object is being deleted."""
    graph = controller.graph
    return graph.states.keys() - {state.name for state in graph.reachable(graph.initial)}


def _functions(controller: type[Controller[Any]]) -> Iterator[Any]:
    """Yield the methods that the user's classes define."""
    for cls in controller.__mro__:
        if cls.__module__.partition(".")[0] not in ("myrmidon", "typing", "builtins"):
            yield from (
                inspect.unwrap(member)
                for name, member in vars(cls).items()
                if inspect.isfunction(member) and not name.startswith("__")
            )


def _calls(function: Any, controller: type[Controller[Any]]) -> Iterator[ExternalCall]:
    try:
        source, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return  # defined at an interactive prompt
    tree = ast.parse(textwrap.dedent("".join(source)))
    if any(isinstance(node, ast.Attribute) and node.attr == _PLANNING for node in ast.walk(tree)):
        return
    own, *others = inspect.signature(function).parameters
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        steps = _steps(node.func)
        if not steps or steps[0] in others:
            continue
        if steps[0] == own:
            reaches_out = len(steps) > 2 and steps[1] not in _HARMLESS
        else:
            reaches_out = id(node) in awaited
        if reaches_out:
            file = inspect.getsourcefile(function) or controller.__module__
            yield ExternalCall(f"{_shown(file)}:{first + node.lineno - 1}", ".".join(steps))


def _steps(node: ast.expr) -> list[str]:
    """``self.registry.publish`` as its three names; empty for anything else than names."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def _shown(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
