"""Conflicts of a server-side apply: fields that it would change and other managers own."""

from collections.abc import Mapping
from typing import NamedTuple

from myrmidon.apiserver.fields import elements
from myrmidon.apiserver.fields.elements import Path
from myrmidon.apiserver.fields.entries import FieldManager, Owned
from myrmidon.apiserver.fields.fieldset import FieldSet
from myrmidon.apiserver.fields.updating import Changes
from myrmidon.apiserver.refusals.failures import Failure, StatusCause


class Conflict(NamedTuple):
    """One field and one manager that owns it."""

    manager: FieldManager
    path: Path


def conflicts_of(
    changes: Changes, owners: Mapping[FieldManager, Owned], applier: FieldManager
) -> list[Conflict]:
    """Return the fields that an apply changes and that managers other than the applier own.

    A field that the apply sets to the value it has is not changed, so it is not a conflict.
    """
    return [
        Conflict(manager, path)
        for manager, owned in owners.items()
        if manager != applier
        for path in FieldSet(changes.conflicts(owned)).paths()
    ]


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
