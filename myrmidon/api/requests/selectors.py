"""Label and field selectors: parse, print, match.

The grammar is that of the API server (``a=b,c!=d,e in (x,y),!f,g>3``), because a filter on cached
objects must give the same result as the server's.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from myrmidon.api.values.texts import shortened
from myrmidon.errors import UsageError

_SHOWN_MAX = 200
_REQUIREMENT = re.compile(
    r"""\s*+(?:
        (?P<absent>!)\s*+(?P<absent_key>[^\s,=!<>()]++)
      | (?P<key>[^\s,=!<>()]++)\s*+(?:
            (?P<op>==|=|!=|>|<)\s*+(?P<value>[^\s,()=!<>]*+)
          | (?<=\s)(?P<in>in|notin)\s*+\((?P<values>[^()]*+)\)
        )?
    )\s*+(?:,|$)""",
    re.VERBOSE,
)  # possessive quantifiers: neighbours share no character, so backtracking can never help


class Requirement(NamedTuple):
    """One requirement of a selector, such as ``a=b`` or ``c in (x,y)``."""

    key: str
    operator: str  # =, !=, in, notin, exists, absent, >, <
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy it.  ``!=`` and ``notin`` also match if the key is absent."""
        return _MATCHERS[self.operator](labels.get(self.key), self.values)

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "absent":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case operator:
                return f"{self.key}{operator}{self.values[0]}"


class Selector(tuple[Requirement, ...]):
    """A conjunction of requirements; the empty one matches everything."""

    __slots__ = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy every requirement."""
        return all(requirement.matches(labels) for requirement in self)

    def __str__(self) -> str:
        return ",".join(map(str, self))


def parse_selector(text: str) -> Selector:
    """Parse a label selector as the API server does."""
    requirements: list[Requirement] = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        found = _REQUIREMENT.match(text, position)
        if found is None:
            raise UsageError(
                f"unable to parse the selector {shortened(text, _SHOWN_MAX)!r} "
                f"at {shortened(text[position:], _SHOWN_MAX)!r}.\n"
                "  fix: write requirements such as a=b, a!=b, a in (b,c), a, !a, joined by commas"
            )
        requirements.append(_requirement(found))
        position = found.end()
    return Selector(requirements)


def selector(labels: Mapping[str, str] | str | None) -> Selector:
    """Return the selector for a mapping of labels or for the text of a selector."""
    if labels is None:
        return Selector()
    if isinstance(labels, str):
        return parse_selector(labels)
    return Selector(Requirement(key, "=", (labels[key],)) for key in sorted(labels))


def _requirement(found: re.Match[str]) -> Requirement:
    if found["absent"]:
        return Requirement(found["absent_key"], "absent")
    if found["in"]:
        values = tuple(sorted({value.strip() for value in found["values"].split(",")}))
        return Requirement(found["key"], found["in"], values)
    if found["op"]:
        operator = "=" if found["op"] == "==" else found["op"]
        return Requirement(found["key"], operator, (found["value"],))
    return Requirement(found["key"], "exists")


def _compares(
    compare: Callable[[int, int], bool],
) -> Callable[[str | None, Iterable[str]], bool]:
    def matches(value: str | None, bounds: Iterable[str]) -> bool:
        try:
            return value is not None and compare(int(value), int(next(iter(bounds))))
        except ValueError:
            return False  # the server does not match a value that is not a number

    return matches


_MATCHERS: dict[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "=": lambda value, wanted: value == wanted[0],
    "!=": lambda value, wanted: value != wanted[0],
    "in": lambda value, wanted: value is not None and value in wanted,
    "notin": lambda value, wanted: value is None or value not in wanted,
    "exists": lambda value, _: value is not None,
    "absent": lambda value, _: value is None,
    ">": _compares(int.__gt__),
    "<": _compares(int.__lt__),
}
