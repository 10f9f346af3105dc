"""Semantic versions: ``semver('1.2.3').isLessThan(semver('1.10.0'))``."""

import re
from functools import total_ordering
from typing import Any

from myrmidon.apiserver.cel.declarations import function, method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.literals import UINT_MAX
from myrmidon.apiserver.cel.values import Opaque
from myrmidon.apiserver.golang.numbers import read_int
from myrmidon.apiserver.golang.text import quote

_WORD = re.compile(r"[0-9A-Za-z-]+")


class SemverError(ValueError):
    """The string is not a semantic version."""


@total_ordering
class _Identifier:
    """A part of a prerelease.  Numbers come before words, and are ordered by value."""

    def __init__(self, text: str) -> None:
        if not text:
            raise SemverError("Prerelease is empty")
        self._number = read_int(text) if text.isascii() and text.isdigit() else None
        if self._number is not None and _zero_led(text):
            raise SemverError(
                f"Numeric PreRelease version must not contain leading zeroes {quote(text)}"
            )
        if not _WORD.fullmatch(text):
            raise SemverError(f"Invalid character(s) found in prerelease {quote(text)}")
        self.text = text

    def _order(self) -> tuple[bool, int, str]:
        if self._number is None:
            return True, 0, self.text
        return False, self._number, ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identifier) and self._order() == other._order()

    def __lt__(self, other: "_Identifier") -> bool:
        return self._order() < other._order()

    def __hash__(self) -> int:
        return hash(self._order())


class Semver(Opaque):
    """A semantic version; its build metadata is not compared."""

    __slots__ = ("build", "numbers", "prerelease")
    type_name = "kubernetes.Semver"

    def __init__(
        self, numbers: tuple[int, int, int], prerelease: list[_Identifier], build: list[str]
    ) -> None:
        self.numbers, self.prerelease, self.build = numbers, prerelease, build

    def same(self, other: Any) -> bool:  # noqa: D102 - see Opaque
        return bool(self.compare(other) == 0)

    def compare(self, other: "Semver") -> int:
        """Return -1, 0 or 1 for the order of the versions; prereleases come first."""
        mine = (self.numbers, not self.prerelease, self.prerelease)
        yours = (other.numbers, not other.prerelease, other.prerelease)
        return (mine > yours) - (mine < yours)


def _zero_led(text: str) -> bool:
    return len(text) > 1 and text[0] == "0"


def _number(text: str, word: str) -> int:
    if not re.fullmatch(r"[0-9]*", text):
        raise SemverError(f"Invalid character(s) found in {word} number {quote(text)}")
    if _zero_led(text):
        raise SemverError(
            f"{word.capitalize()} number must not contain leading zeroes {quote(text)}"
        )
    if not text or read_int(text) > UINT_MAX:
        problem = "value out of range" if text else "invalid syntax"
        raise SemverError(f"strconv.ParseUint: parsing {quote(text)}: {problem}")
    return read_int(text)


def parse_semver(text: str) -> Semver:
    """Parse a version; raise ``SemverError`` with the message of the real server."""
    if not text:
        raise SemverError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise SemverError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    number = _number(patch, "patch")
    identifiers = [_Identifier(part) for part in prerelease.split(".")] if dash else []
    metadata = build.split(".") if plus else []
    for part in metadata:
        if not part:
            raise SemverError("Build meta data is empty")
        if not _WORD.fullmatch(part):
            raise SemverError(f"Invalid character(s) found in build meta data {quote(part)}")
    return Semver((major, minor, number), identifiers, metadata)


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    parts = [_without_zeroes(part) for part in parts]
    if len(parts) < 3:
        if re.search(r"[+-]", parts[-1]):
            raise SemverError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_zeroes(part: str) -> str:
    if len(part) <= 1:
        return part
    rest = part.lstrip("0")
    return rest if re.match(r"[0-9]", rest) else "0" + rest


def _semver(text: str, normalize: bool = False) -> Semver:
    try:
        return parse_semver(_normalized(text) if normalize else text)
    except SemverError as error:
        raise CelEvaluationError(str(error)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        parse_semver(_normalized(text) if normalize else text)
    except SemverError:
        return False
    return True


_S = Semver.type_name
OVERLOADS = (
    function("string_to_semver", f"semver(string) -> {_S}", _semver),
    function("string_bool_to_semver", f"semver(string, bool) -> {_S}", _semver),
    function("is_semver_string", "isSemver(string) -> bool", _is_semver),
    function("is_semver_string_bool", "isSemver(string, bool) -> bool", _is_semver),
    method(
        "semver_is_greater_than",
        f"isGreaterThan({_S}, {_S}) -> bool",
        lambda a, b: a.compare(b) > 0,
    ),
    method("semver_is_less_than", f"isLessThan({_S}, {_S}) -> bool", lambda a, b: a.compare(b) < 0),
    method("semver_compare_to", f"compareTo({_S}, {_S}) -> int", Semver.compare),
    method("semver_major", f"major({_S}) -> int", lambda v: v.numbers[0]),
    method("semver_minor", f"minor({_S}) -> int", lambda v: v.numbers[1]),
    method("semver_patch", f"patch({_S}) -> int", lambda v: v.numbers[2]),
)
