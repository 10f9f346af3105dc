"""Reads of a context without ``await``, found in the source of a controller's states.

``ctx.get`` and ``ctx.list`` are coroutines.  Without ``await``, ``if ctx.get(...)`` is always true, and
the state goes on as if the object existed: no error, only a RuntimeWarning of Python at some later
time.  So the states of a controller are checked once, when it is given to a manager or a harness.

Only calls that cannot be right are reported.  A coroutine that is passed to another function
(``asyncio.gather(ctx.get(...), ...)``), returned, or kept in a variable of an ``async def`` may be
awaited later.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakSet

from myrmidon.errors import DefinitionError
from myrmidon.fsm.context import Context
from myrmidon.fsm.controller import Controller

_USES_A_VALUE = (
    ast.Expr, ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Subscript,
    ast.Attribute, ast.For, ast.comprehension, ast.Assert,
)  # fmt: skip


_checked: WeakSet[type] = WeakSet()
_VALUE_FUNCTIONS = ("all", "any", "bool", "dict", "len", "list", "next", "set", "sorted", "tuple")


def check_awaits(controller: type[Controller[Any]]) -> None:
    """Raise ``DefinitionError`` if a state uses a coroutine of its context without ``await``."""
    if controller in _checked:
        return
    _check(controller)
    _checked.add(controller)


def _check(controller: type[Controller[Any]]) -> None:
    for name in controller.graph.states:
        method = inspect.unwrap(getattr(controller, name))
        parameters = list(inspect.signature(method).parameters)
        if len(parameters) < 4:
            continue
        for text, line in _forgotten(method, parameters[3]):
            where = f"{Path(inspect.getsourcefile(method) or '').name}:{line}"
            needs_async = "" if inspect.iscoroutinefunction(method) else f" and `async def {name}`"
            raise DefinitionError(
                f"{controller.__name__}.{name} calls {text} without `await` ({where}).\n"
                f"  fix: write `await {text}(...)`{needs_async}"
            )


def _forgotten(method: Any, context: str) -> Iterator[tuple[str, int]]:
    try:
        source, first = inspect.getsourcelines(method)
        tree = ast.parse(textwrap.dedent("".join(source)))
    except (OSError, TypeError, SyntaxError):
        return  # no source, as at an interactive prompt; or a part of a line, as for a lambda
    kept = () if inspect.iscoroutinefunction(method) else (ast.Assign, ast.AnnAssign, ast.NamedExpr)
    for parent in ast.walk(tree):
        uses_a_value = isinstance(parent, (*_USES_A_VALUE, *kept)) or (
            isinstance(parent, ast.Call) and _takes_a_value(parent.func, context)
        )
        if not uses_a_value:
            continue
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.Call) and _is_read(node.func, context):
                yield ast.unparse(node.func), first + node.lineno - 1


def _takes_a_value(function: ast.expr, context: str) -> bool:
    """Whether the function uses the value of its argument: ``len``, ``ctx.is_ready``."""
    name = ast.unparse(function)
    return name == f"{context}.is_ready" or name in _VALUE_FUNCTIONS


def _is_read(function: ast.expr, context: str) -> bool:
    """Whether the function is a coroutine of the context: ``ctx.get``, ``ctx.live.list``."""
    return (
        isinstance(function, ast.Attribute)
        and ast.unparse(function.value) in (context, f"{context}.live")
        and inspect.iscoroutinefunction(getattr(Context, function.attr, None))
    )
