"""Conflicts of a server-side apply: fields that it would change and other managers own."""

from typing import NamedTuple

from myrmidon.apiserver.failures import Failure, StatusCause
from myrmidon.apiserver.fields import elements
from myrmidon.apiserver.fields.elements import Path
from myrmidon.apiserver.fields.entries import FieldManager


class Conflict(NamedTuple):
    """One field and one manager that owns it."""

    manager: FieldManager
    path: Path


class ApplyConflict(Failure):
    """The 409 that lists each conflicting field with its owner."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        self.conflicts = tuple(sorted(conflicts, key=lambda conflict: conflict.manager))
        causes = [
            StatusCause(elements.text(path), "FieldManagerConflict", f"conflict with {manager}")
            for manager, path in self.conflicts
        ]
        super().__init__(409, "Conflict", _message(self.conflicts), causes=causes)


def _message(conflicts: tuple[Conflict, ...]) -> str:
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        text = elements.text(path)
        return f"Apply failed with 1 conflict: conflict with {manager}: {text}"
    lines: list[str] = []
    last: FieldManager | None = None
    for manager, path in conflicts:
        if manager != last:
            lines.append(f"conflicts with {manager}:")
            last = manager
        lines.append(f"- {elements.text(path)}")
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
