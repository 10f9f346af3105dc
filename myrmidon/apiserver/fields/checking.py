"""Check an applied object against its schema, with the messages of the real server.

This check runs before defaulting, pruning and validation, and is stricter: a field that is not in
the schema is an error here, not a warning.
"""

from collections.abc import Iterator
from typing import Any

from myrmidon.apiserver.fields import elements
from myrmidon.apiserver.fields.listing import ShapeError, element_of
from myrmidon.apiserver.fields.shapes import Scalar, Shape
from myrmidon.apiserver.golang.types import go_type


def check(value: Any, shape: Shape) -> None:
    """Raise ``ShapeError`` with every value that does not fit the schema."""
    problems = list(_problems(value, shape, ""))
    if not problems:
        return
    if len(problems) == 1:
        raise ShapeError(problems[0])
    raise ShapeError("\n".join(["errors:", *(f"  {problem}" for problem in problems)]))


def _problems(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if value is None:
        return  # fits everywhere
    match shape.atoms_of(value)[0]:
        case "m":
            yield from _problems_of_map(value, shape, path)
        case "l":
            yield from _problems_of_list(value, shape, path)
        case _:
            problem = _problem_of_scalar(value, shape.scalar)
            if problem:
                yield _at(path, problem)


def _problems_of_map(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _at(path, f"expected map, got &{{{go_text(value)}}}")
        return
    for name, item in value.items():
        child = shape.child(name)
        if child is None:
            yield _at(f"{path}.{name}", "field not declared in schema")
            return  # the real server looks no further
        yield from _problems(item, child, f"{path}.{name}")


def _problems_of_list(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield _at(path, f"expected list, got &{{{go_text(value)}}}")
        return
    seen: dict[str, None] = {}
    for index, item in enumerate(value):
        place = f"{path}[{index}]"
        if shape.associative:
            try:
                element = element_of(item, shape)
            except ShapeError as error:
                yield _at(path, f"element {index}: {error}")
                return
            place = path + elements.text([element])
            if element in seen:
                yield _at(path, f"duplicate entries for key {elements.text([element])}")
            seen[element] = None
        yield from _problems(item, shape.item, place)


def _problem_of_scalar(value: Any, scalar: Scalar) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match scalar:
        case "numeric" if not is_number:
            return f"expected numeric (int or float), got {go_type(value)}"
        case "string" if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
        case "boolean" if not isinstance(value, bool):
            return f"expected boolean, got &{{{go_text(value)}}}"
        case "untyped" if isinstance(value, list | dict):
            return f"expected any scalar, got &{{{go_text(value)}}}"
        case _:
            return ""


def _at(path: str, problem: str) -> str:
    return f"{path}: {problem}" if path else problem


def go_text(value: Any) -> str:
    """Return a value as Go's ``%v`` prints it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case dict():
            return "map[" + " ".join(f"{k}:{go_text(value[k])}" for k in sorted(value)) + "]"
        case list():
            return "[" + " ".join(map(go_text, value)) + "]"
        case _:
            return str(value)


def go_syntax(value: Any) -> str:
    """Return a value as Go's ``%#v`` prints it."""
    match value:
        case None:
            return "interface {}(nil)"
        case bool():
            return str(value).lower()
        case str():
            return elements.to_json(value)
        case dict():
            pairs = (f"{elements.to_json(k)}:{go_syntax(value[k])}" for k in sorted(value))
            return "map[string]interface {}{" + ", ".join(pairs) + "}"
        case list():
            return "[]interface {}{" + ", ".join(map(go_syntax, value)) + "}"
        case _:
            return str(value)
