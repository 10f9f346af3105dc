"""Differences between two objects, for people.

Used by plans, Events and test failures, never by a decision during a pass: one DeepDiff takes
milliseconds where ``covers`` takes microseconds.
"""

import re
from typing import Any

from myrmidon.api.objects.accessors import Json

_STEP = re.compile(r"\['([^']*)'\]|\[\"([^\"]*)\"\]|\[(\d+)\]")


def difference(before: Json | None, after: Json | None) -> list[str]:
    """Return one line per change: ``+ spec.a: 1``, ``- spec.b: 2``, ``~ spec.c: 3 -> 4``."""
    from deepdiff import DeepDiff  # noqa: PLC0415 - takes 60 ms to import, and most programs never need it

    found = DeepDiff(
        _as_json(before or {}), _as_json(after or {}), verbose_level=2, threshold_to_diff_deeper=0
    )
    lines: list[tuple[str, str]] = []
    for kind in ("dictionary_item_added", "iterable_item_added"):
        lines += [
            (_path(at), f"+ {_path(at)}: {_shown(new)}") for at, new in found.get(kind, {}).items()
        ]
    for kind in ("dictionary_item_removed", "iterable_item_removed"):
        lines += [
            (_path(at), f"- {_path(at)}: {_shown(old)}") for at, old in found.get(kind, {}).items()
        ]
    for kind in ("values_changed", "type_changes"):
        lines += [
            (
                _path(at),
                f"~ {_path(at)}: {_shown(change['old_value'])} -> {_shown(change['new_value'])}",
            )
            for at, change in found.get(kind, {}).items()
        ]
    return [line for _, line in sorted(lines)]


class _Truth(str):
    """A JSON boolean that differs from 1 and 0, which DeepDiff, like Python, would call equal."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self[1:]


_TRUTHS = {True: _Truth("\0True"), False: _Truth("\0False")}


def _as_json(value: Any) -> Any:
    """Return the value with booleans and numbers that compare as in JSON."""
    match value:
        case dict():
            return {key: _as_json(item) for key, item in value.items()}
        case list():
            return [_as_json(item) for item in value]
        case bool():
            return _TRUTHS[value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def _path(deepdiff_path: str) -> str:
    """``root['spec']['ports'][0]`` as ``spec.ports[0]``."""
    path = ""
    for quoted, double_quoted, index in _STEP.findall(deepdiff_path):
        key = quoted or double_quoted
        if index:
            path += f"[{index}]"
        elif "." in key or "/" in key:
            path += f"[{key}]"
        else:
            path += f".{key}" if path else key
    return path


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
