"""``${name}`` in the texts of a scenario."""

import re
from typing import Any

_REFERENCE = re.compile(r"\$\{([\w-]+)\}")


class UnknownVariableError(Exception):
    """A step refers to a value that no earlier step has captured."""


def filled(node: Any, variables: dict[str, Any]) -> Any:
    """Return the node with all variables filled in; a text that is one variable gets its type."""
    match node:
        case str():
            return _filled_text(node, variables)
        case list():
            return [filled(item, variables) for item in node]
        case dict():
            return {filled(key, variables): filled(item, variables) for key, item in node.items()}
        case _:
            return node


def _filled_text(text: str, variables: dict[str, Any]) -> Any:
    whole = _REFERENCE.fullmatch(text)
    if whole:
        value = _value(whole, variables)
        return filled(value, variables) if isinstance(value, str) else value
    replaced = _REFERENCE.sub(lambda found: str(_value(found, variables)), text)
    return replaced if replaced == text else _filled_text(replaced, variables)


def _value(found: re.Match[str], variables: dict[str, Any]) -> Any:
    try:
        return variables[found[1]]
    except KeyError:
        raise UnknownVariableError(f"no value for {found[0]}") from None
