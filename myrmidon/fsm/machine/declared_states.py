"""The states that a controller class declares, its base classes first, checked one by one."""

from collections.abc import Collection
from inspect import getattr_static
from typing import Any

from myrmidon.errors import DefinitionError, StateSignatureError
from myrmidon.fsm.machine.states import (
    Declaration,
    State,
    declaration_of,
    signature_problem,
    state_of,
)


def declared_states(cls: type, of: type[Any], taken: Collection[str]) -> list[State]:
    """Return all states of a class in the order of declaration.

    ``of`` is the class of its objects; ``taken`` are the names that the framework uses.
    """
    declared: dict[str, Declaration] = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            declaration = declaration_of(member)
            if declaration is not None:
                declared[name] = declaration
    states: list[State] = []
    for name, declaration in declared.items():
        if name in taken:
            raise DefinitionError(
                f"{cls.__name__}.{name} is a state, but every controller has an attribute of that name.\n"
                f"  fix: give the state another name, such as {name}_done"
            )
        method = getattr_static(cls, name)
        if method is None:
            continue  # a subclass removed the state with ``name = None``
        problem = signature_problem(method, of)
        if problem is not None:
            raise StateSignatureError(cls.__name__, name, problem)
        states.append(state_of(name, method, declaration))
    return states
