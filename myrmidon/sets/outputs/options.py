"""ApplyOptions: how one output is written."""

from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from myrmidon.errors import OutputError

FieldValidation: TypeAlias = Literal["Strict", "Warn", "Ignore"]
Subresource: TypeAlias = Literal["", "status"]
_VALIDATIONS = get_args(FieldValidation)

_EXCLUSIVE = (
    ("as_update", "server_side", "one replaces the whole object, the other only its own fields"),
    ("as_update", "create_only", "one rewrites the object, the other never touches it again"),
    ("create_only", "server_side", "an object that is never changed needs no field ownership"),
    ("create_only", "recreate", "an object that is never changed is never created again"),
    ("create_only", "optimistic_lock", "an object that is never changed needs no lock"),
    ("recreate", "optimistic_lock", "a new object has a new resourceVersion"),
    ("remove_undeclared", "as_update", "a full update removes every field that is not declared"),
    (
        "remove_undeclared",
        "server_side",
        "the server removes the fields that are not applied again",
    ),
    ("remove_undeclared", "create_only", "an object that is never changed loses no field"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """The options of ``out.apply`` for one object.

    The defaults suit a child that only this controller writes: create it, or merge-patch exactly
    the fields that were set, with a controller owner reference to the parent.
    """

    optimistic_lock: bool = False
    """Send the object's ``metadata.resourceVersion``, so that the write is a conflict if the object
    has changed since it was read, and never creates it.  Not with ``create_only`` or ``recreate``.
    Default: False."""
    as_update: bool = False
    """Replace the whole object, so that fields that are not in the output are removed; finalizers
    and owner references of others stay.  Not with ``server_side`` or ``create_only``.
    Default: False, a merge patch."""
    server_side: bool = False
    """Use server-side apply: the server records which fields are ours, and removes those that a
    later apply leaves out.  Not with ``as_update`` or ``create_only``.  Default: False."""
    field_manager: str | None = None
    """The field manager of a server-side apply; only with ``server_side``.  Default: the
    controller's name."""
    force: bool = False
    """Take over fields that another field manager owns; only with ``server_side``.  Default: False,
    such a field is a conflict."""
    owner_refs: bool = True
    """Set a controller owner reference to the parent.  With False, owner references are neither
    added nor changed; the child is tracked by a label and an annotation, and the controller
    deletes it with its parent.  Default: True."""
    cluster: str = ""
    """The name of the remote cluster on which the object should exist; the controller must manage
    the kind there (``kinds.CONFIG_MAP.at("edge")``).  Implies ``owner_refs=False``: an owner
    reference cannot reach another cluster.  Default: empty, the controller's own cluster."""
    owner: Any = field(default=None, hash=False)
    """Set a plain owner reference to this object, instead of the controller reference to the
    parent.  Not with ``owner_refs=False``.  Default: None."""
    adopt: bool = False
    """Make an existing object that names no parent, and that this controller did not write, a child
    of the parent, which is deleted with it.  With ``create_only`` the object is left as it is.  An
    object of another parent is refused either way.  Default: False, ``AdoptionRefused``."""
    field_validation: FieldValidation = "Strict"
    """What the server does with a field that is not in its schema: ``Strict`` refuses the write
    (``UnknownField``), ``Warn`` drops the field and the framework reports it as an Event
    ``ApiWarning``, ``Ignore`` drops it silently.  Default: ``Strict``."""
    create_only: bool = False
    """Create the object if it does not exist, and never change it.  Not with ``as_update``,
    ``server_side``, ``recreate`` or ``optimistic_lock``.  Default: False."""
    recreate: bool = False
    """Delete the object and create it again if the server refuses to change one of its fields but
    would accept the output as a new object, which a dry run finds out.  Not with ``create_only`` or
    ``optimistic_lock``.  Default: False, the refusal is reported."""
    remove_undeclared: bool | None = None
    """Remove fields and map entries that this state declared before and does not declare any more.
    What was declared is recorded on the object, in an annotation
    ``declared.myrmidon.dev/<controller>.<state>``.  A field that another field manager has written
    since, or that another state declares, stays.  Not with ``as_update``, ``server_side`` or
    ``create_only``.  Default: None, as ``ControllerOptions.remove_undeclared`` says."""
    subresource: Subresource = ""
    """``"status"``: write the status of an existing child, as a merge patch of the status fields
    that were set, and nothing else.  It is not created; without it the state waits with the reason
    ``ObjectMissing``.  Not with any other option.  Default: empty, the object itself."""

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
                    f"{dependent} has an effect only with server_side=True.\n"
                    f"  fix: add server_side=True, or drop {dependent}"
                )
        self._check_subresource()
        if self.owner is not None and not self.owner_refs:
            raise OutputError(
                "an output cannot have both owner and owner_refs=False.\n"
                "  fix: drop owner_refs=False to set the owner reference, or drop owner"
            )

    def _check_subresource(self) -> None:
        if not self.subresource:
            return
        if self.subresource not in get_args(Subresource):
            raise OutputError(
                f"subresource is {self.subresource!r}, which cannot be applied.\n"
                '  fix: use "status", or out.scale(...) for the number of replicas, '
                "or out.patch(..., subresource=...)"
            )
        for one in fields(self):
            if (
                one.name not in ("subresource", "cluster")
                and getattr(self, one.name) != one.default
            ):
                raise OutputError(
                    f"{one.name} has no effect with subresource={self.subresource!r}.\n"
                    f"  fix: drop {one.name}"
                )


class ApplyOptionsDict(TypedDict, total=False):
    """The options of ``out.apply`` as keyword arguments, for type checkers; see ``ApplyOptions``."""

    optimistic_lock: bool
    as_update: bool
    server_side: bool
    field_manager: str | None
    force: bool
    owner_refs: bool
    cluster: str
    owner: Any
    adopt: bool
    field_validation: FieldValidation
    create_only: bool
    recreate: bool
    remove_undeclared: bool | None
    subresource: Subresource


DEFAULT = ApplyOptions()
_NAMES = tuple(field.name for field in fields(ApplyOptions))


def chosen(options: ApplyOptionsDict) -> ApplyOptions:
    """Return the options as ``ApplyOptions``; raise ``OutputError`` for an unknown name."""
    if not options:
        return DEFAULT
    for name in options:
        if name not in _NAMES:
            close = get_close_matches(name, _NAMES, n=1)
            fix = f"did you mean {close[0]}?" if close else f"use one of {', '.join(_NAMES)}"
            raise OutputError(f"there is no option {name!r} for an output.\n  fix: {fix}")
    if options.get("cluster"):
        if options.get("owner") is not None:
            raise OutputError(
                "an output on a remote cluster cannot have an owner: owner references do not reach "
                "other clusters.\n  fix: drop owner"
            )
        if not options.get("subresource"):
            options = {**options, "owner_refs": False}
    return ApplyOptions(**options)


def removing(options: ApplyOptions) -> ApplyOptions:
    """Return the options with ``remove_undeclared``, unless they say otherwise or exclude it."""
    fixed = options.as_update or options.server_side or options.create_only
    if options.remove_undeclared is not None or fixed:
        return options
    return _REMOVING if options is DEFAULT else replace(options, remove_undeclared=True)


_REMOVING = ApplyOptions(remove_undeclared=True)
