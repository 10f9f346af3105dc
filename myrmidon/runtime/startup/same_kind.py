"""Several controllers in one program: which may run together, and what those of one kind share.

A controller is known by its name: its field manager, its finalizer, its metrics, the source of its
Events, its fingerprints and its own writes all carry it.  Two controllers of one name would take each
other's work for their own, so that is an error, also if their kinds differ.

Controllers of one kind reconcile the same objects:

- Each is woken by the other's writes, and not by its own.
- Each writes its own conditions and leaves those of the other alone, so the types must differ where
  both are in the status.  ``Ready`` is one of them.
- ``status.resourceRefs`` belongs to one of them: the one that writes ``Ready`` there, or else the
  one that was added first.  The others record children in their annotation (``fsm.status.status_home``).
- A child names its parent and not its controller, so each deletes only children that it made
  (``reconcile.makers``).
"""

from collections.abc import Sequence
from typing import Any

from myrmidon.api.objects.conditions import READY
from myrmidon.errors import DefinitionError, UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.status.status_home import conditions_in_of


def unknown_controller(name: str, known: Sequence[Controller[Any]]) -> UsageError:
    """Return the error for the name of a controller that the manager does not have."""
    listed = ", ".join(one.name for one in known) or "none"
    return UsageError(
        f"the manager has no controller {name!r} (it has: {listed}).\n"
        "  fix: use the name of the controller, not of its class"
    )


def check_together(one: Controller[Any], other: Controller[Any]) -> None:
    """Raise if two controllers cannot run in one program."""
    names = f"{type(one).__name__} and {type(other).__name__}"
    same_kind = one.kind()[:3] == other.kind()[:3]
    if one.name == other.name:
        both = f"both control {one.kind()} and " if same_kind else ""
        raise DefinitionError(
            f"{names} {both or 'both '}have the name {one.name!r}; they would take each other's writes "
            "and finalizers for their own.\n"
            f'  fix: write name = "..." in one of them'
        )
    overlap = [kind for kind in _in_status(one) if kind in _in_status(other)]
    if same_kind and overlap:
        raise DefinitionError(
            f"{names} both control {one.kind()} and write the condition {', '.join(overlap)} to its "
            "status; they would overwrite each other.\n"
            f"  fix: {_remedy(overlap)}, or write "
            'options = ControllerOptions(conditions="annotation") in one of them'
        )


def check_apart(one: Controller[Any], running: Sequence[Controller[Any]]) -> None:
    """Raise if a controller that is added to a running process has the kind of another.

    Who keeps ``status.resourceRefs``, and whether children are asked for their maker, is decided when
    the first pass of a controller begins, and records of children do not move afterwards.
    """
    for other in running:
        if other.kind()[:3] == one.kind()[:3]:
            raise DefinitionError(
                f"{type(one).__name__} is added while {type(other).__name__}, which controls "
                f"{one.kind()} as well, is running.\n"
                "  fix: add both before run(), or remove the other one first"
            )


def is_shared(one: Controller[Any], together: Sequence[Controller[Any]]) -> bool:
    """Whether another of these controllers reconciles the same kind."""
    return any(other is not one and other.kind()[:3] == one.kind()[:3] for other in together)


def shares_status(one: Controller[Any], together: Sequence[Controller[Any]]) -> bool:
    """Whether ``status.resourceRefs`` belongs to another of these controllers."""
    candidates = [
        other
        for other in together
        if other.kind()[:3] == one.kind()[:3] and conditions_in_of(other) == "status"
    ]
    candidates.sort(key=lambda other: not other.options.ready_condition)  # stable: then as added
    return one in candidates and candidates[0] is not one


def _in_status(controller: Controller[Any]) -> tuple[str, ...]:
    """Return the types of the conditions that a controller writes to the status."""
    if conditions_in_of(controller) != "status":
        return ()
    ready = (READY,) if controller.options.ready_condition else ()
    return (*controller.graph.conditions, *ready)


def _remedy(overlap: Sequence[str]) -> str:
    if overlap == [READY]:
        return "write options = ControllerOptions(ready_condition=False) in one of them"
    others = [kind for kind in overlap if kind != READY]
    return f"give the states with {', '.join(others)} other conditions"
