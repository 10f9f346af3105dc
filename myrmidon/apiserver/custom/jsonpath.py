"""The subset of JSONPath for printer columns: ``.status.conditions[?(@.type=="Ready")].status``.

Supported are fields, quoted fields, indices, slices, ``*``, ``..`` and filters that compare a path
with a constant.  A path that matches nothing is not an error; it finds no values.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from myrmidon.apiserver.golang.budget import StepBudget, StepBudgetError, spend

_Step: TypeAlias = Callable[[Any], Iterator[Any]]

_TOKEN = re.compile(
    r"""
      \.\.(?P<deep>[\w$-]+|\*)
    | \.(?P<field>(?:[^.\[\\]|\\.)+)
    | \[\s*+(?P<quoted>'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")\s*+\]
    | \[\?\((?P<filter>.*?)\)\]
    | \[\s*+(?P<star>\*)\s*+\]
    | \[\s*+(?P<index>-?\d{1,18})\s*+\]
    | \[\s*+(?P<start>(?:-?\d{1,18})?)\s*+:\s*+(?P<stop>(?:-?\d{1,18})?)\s*+(?::\s*+(?P<step>(?:-?\d{1,18})?)\s*+)?\]
    """,
    re.VERBOSE,
)
_COMPARISON = re.compile(r"\s*+@(?P<path>[^=!<>]*+)(?:(?P<op>==|!=|<=|>=|<|>)(?P<value>.+))?")
_UNESCAPE = re.compile(r"\\(.)")


_STEPS_MAX = 100_000  # values that one path may visit; only ".." and filters get close


class JsonPathError(ValueError):
    """The text is not a supported JSONPath."""


class JsonPath:
    """A compiled path."""

    def __init__(self, text: str) -> None:
        self._steps = list(
            _parse(text.strip().removeprefix("{").removesuffix("}").removeprefix("$"))
        )

    def find(self, value: Any) -> list[Any]:
        """Return all values at the path, in order; none if the path visits too many values."""
        try:
            with StepBudget(_STEPS_MAX):
                return self.follow(value)
        except StepBudgetError:
            return []

    def follow(self, value: Any) -> list[Any]:
        """Return all values at the path, within the ``StepBudget`` of the caller."""
        found = [value]
        for step in self._steps:
            found = [reached for each in found for reached in step(each)]
        return found


def _parse(text: str) -> Iterator[_Step]:
    if text and text[0] not in ".[":
        text = f".{text}"
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise JsonPathError(f"cannot read {text[position:]!r} in the path {text!r}")
        yield _step(token)
        position = token.end()


def _step(token: re.Match[str]) -> _Step:
    parts = token.groupdict()
    if parts["deep"]:
        return _deep(parts["deep"])
    if parts["field"]:
        name = _UNESCAPE.sub(r"\1", parts["field"])
        return _every if name == "*" else _field(name)
    if parts["quoted"]:
        return _field(_UNESCAPE.sub(r"\1", parts["quoted"][1:-1]))
    if parts["filter"] is not None:
        return _filter(parts["filter"])
    if parts["star"]:
        return _every
    if parts["index"]:
        return _index(int(parts["index"]))
    return _slice(*(int(parts[key]) if parts[key] else None for key in ("start", "stop", "step")))


def _field(name: str) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _every(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        spend(len(value) + 1)
        yield from value.values() if isinstance(value, dict) else value


def _index(index: int) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _slice(start: int | None, stop: int | None, step_size: int | None) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value[start : stop : step_size or 1]

    return step


def _deep(name: str) -> _Step:
    find = _every if name == "*" else _field(name)

    def step(value: Any) -> Iterator[Any]:
        waiting = [value]
        while waiting:
            value = waiting.pop()
            yield from find(value)
            waiting += reversed(list(_every(value)))

    return step


def _filter(text: str) -> _Step:
    comparison = _COMPARISON.fullmatch(text)
    if comparison is None:
        raise JsonPathError(f"cannot read the filter {text!r}")
    path, operator = JsonPath(comparison["path"].strip()), comparison["op"]
    wanted = _constant(comparison["value"].strip()) if operator else None

    def step(value: Any) -> Iterator[Any]:
        for element in _every(value):
            found = path.follow(element)
            if found and (operator is None or _holds(found[0], operator, wanted)):
                yield element

    return step


def _constant(text: str) -> Any:
    if text[0] == text[-1] == "'":
        return _UNESCAPE.sub(r"\1", text[1:-1])
    try:
        return json.loads(text)
    except ValueError:
        raise JsonPathError(f"cannot read the value {text!r}") from None


def _holds(found: Any, operator: str, wanted: Any) -> bool:
    if operator in ("==", "!="):
        return bool(found == wanted) == (operator == "==")
    comparable = isinstance(found, str) == isinstance(wanted, str) and not isinstance(
        found, dict | list
    )
    if not comparable or found is None or wanted is None:
        return False
    match operator:
        case "<":
            return bool(found < wanted)
        case ">":
            return bool(found > wanted)
        case "<=":
            return bool(found <= wanted)
        case _:
            return bool(found >= wanted)
