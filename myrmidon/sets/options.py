"""How one output is written, as a value."""

from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, get_args

from myrmidon.errors import OutputError

FieldValidation: TypeAlias = Literal["Strict", "Warn", "Ignore"]
_VALIDATIONS = get_args(FieldValidation)

_EXCLUSIVE = (
    ("as_update", "server_side", "one replaces the whole object, the other only its own fields"),
    ("as_update", "create_only", "one rewrites the object, the other never touches it again"),
    ("create_only", "server_side", "an object that is never changed needs no field ownership"),
    ("create_only", "recreate", "an object that is never changed is never created again"),
    ("create_only", "optimistic_lock", "an object that is never changed needs no lock"),
    ("recreate", "optimistic_lock", "a new object has a new resourceVersion"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """Choices for writing one object.

    The defaults suit a child that only this controller writes: create it, or merge-patch exactly
    the fields that were set, with a controller owner reference to the parent.
    """

    optimistic_lock: bool = False
    """The request carries ``metadata.resourceVersion``: a stale one is a conflict."""
    as_update: bool = False
    """Full replace, so that what was left out is removed."""
    server_side: bool = False
    """Server-side apply: the server tracks which fields are ours."""
    field_manager: str | None = None
    """Who the server says owns the fields; the controller's name by default."""
    force: bool = False
    """Server-side apply takes fields from other managers instead of a conflict."""
    owner_refs: bool = True
    """False: no owner references are added or touched; the object is tracked by label."""
    owner: Any = field(default=None, hash=False)
    """A plain owner reference to this object instead of the controller reference."""
    adopt: bool = False
    """An existing object that names no parent and that this controller did not write becomes a
    child of the parent, and is deleted with it.  By default it is refused (``AdoptionRefused``).
    With ``create_only`` it is left as it is.  Objects of another parent are refused either way."""
    field_validation: FieldValidation = "Strict"
    """What the server does with a field that its schema does not have.  ``Strict`` refuses the
    write (``UnknownField``), ``Warn`` drops the field and tells it as an Event ``ApiWarning``,
    ``Ignore`` drops it in silence."""
    create_only: bool = False
    """Created when absent, never changed afterwards."""
    recreate: bool = False
    """Delete the object and create it again where the server refuses to change one of its fields,
    and accepts the output as a new object (asked with a dry run)."""

    def __post_init__(self) -> None:
        if self.field_validation not in _VALIDATIONS:
            raise OutputError(
                f"field_validation is {self.field_validation!r}, which the API server does not know.\n"
                f"  fix: use one of {', '.join(map(repr, _VALIDATIONS))}"
            )
        for first, second, why in _EXCLUSIVE:
            if getattr(self, first) and getattr(self, second):
                raise OutputError(
                    f"an output cannot have both {first} and {second}: {why}.\n"
                    f"  fix: drop {first} or {second}"
                )
        for dependent in ("force", "field_manager"):
            if getattr(self, dependent) and not self.server_side:
                raise OutputError(
                    f"{dependent} has a meaning only with server_side=True.\n"
                    f"  fix: add server_side=True, or drop {dependent}"
                )
        if self.owner is not None and not self.owner_refs:
            raise OutputError(
                "an output cannot have both owner and owner_refs=False.\n"
                "  fix: drop owner_refs=False to set the owner reference, or drop owner"
            )


DEFAULT = ApplyOptions()
_NAMES = tuple(field.name for field in fields(ApplyOptions))


def chosen(options: dict[str, Any]) -> ApplyOptions:
    """The options as a value; raises for a name that is none of them."""
    if not options:
        return DEFAULT
    for name in options:
        if name not in _NAMES:
            close = get_close_matches(name, _NAMES, n=1)
            fix = f"did you mean {close[0]}?" if close else f"use one of {', '.join(_NAMES)}"
            raise OutputError(f"there is no option {name!r} for an output.\n  fix: {fix}")
    return ApplyOptions(**options)
