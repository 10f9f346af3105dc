"""ControllerOptions: the settings of one controller."""

from dataclasses import dataclass
from datetime import timedelta

from myrmidon.api.selectors import parse_selector
from myrmidon.errors import DefinitionError, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """The settings of one controller.  The defaults suit a controller of a few thousand objects."""

    workers: int = 4
    """How many objects are reconciled at the same time; an object never has two passes at once.
    Default: 4."""
    prune: bool = False
    """Delete children that an earlier pass applied and this one did not, after a walk that reached
    an end.  ``prune_max`` limits how many.  Default: False, they stay until their parent goes."""
    prune_max: int = 10
    """The most children that one pass may prune.  If there are more, none is deleted and the pass
    fails with ``PruneRefused``, because a mistake is likely.  Only with ``prune``.  Default: 10."""
    sync_period: timedelta | None = timedelta(hours=10)
    """Every object gets a pass after this time, give or take 10 %, even if nothing changes.
    Default: 10 hours; None for never."""
    create_if_not_found: bool = False
    """Create the object with ``Controller.create`` when a ``Watch`` maps a change to an object that
    does not exist.  Default: False, the change is ignored."""
    ready_condition: bool = True
    """Write the condition ``Ready``, which sums up the conditions of all states.  Default: True."""
    pass_timeout: timedelta = timedelta(minutes=2)
    """A pass that takes longer is cancelled and fails with ``PassTimeout``; it is retried with
    backoff.  Default: 2 minutes."""
    retry_min: timedelta = timedelta(seconds=1)
    """The delay after the first failure of an object; it doubles with each further failure, up to
    ``retry_max``.  Default: 1 second."""
    retry_max: timedelta = timedelta(minutes=5)
    """The longest delay between two attempts.  Default: 5 minutes."""
    writes_max: int = 8
    """How many outputs of one state are written at the same time.  Default: 8."""
    namespaces: tuple[str, ...] = ()
    """Handle, read and write only objects in these namespaces.  Takes precedence over the manager's
    namespaces (``--namespace``).  Default: empty, the manager's; if it has none, all namespaces."""
    namespace_selector: str = ""
    """A label selector: handle, read and write only objects in namespaces whose labels match it.  A
    namespace that begins to match is listed and its objects get passes; the objects of one that
    matches no more are forgotten and stay as they are, with their finalizers.  Needs cluster-wide
    rights, because rights cannot follow labels.  Not together with ``namespaces``.  Default: empty,
    the manager's."""
    selector: str = ""
    """Handle only objects whose labels match this selector.  Default: empty, all objects."""

    def __post_init__(self) -> None:
        for field in ("workers", "prune_max", "writes_max"):
            if getattr(self, field) < 1:
                raise DefinitionError(
                    f"ControllerOptions.{field} is {getattr(self, field)}.\n  fix: use 1 or more"
                )
        if self.namespaces and self.namespace_selector:
            raise DefinitionError(
                "ControllerOptions has both namespaces and namespace_selector.\n  fix: drop one of them"
            )
        try:
            parse_selector(self.namespace_selector)
        except UsageError as error:
            raise DefinitionError(f"ControllerOptions.namespace_selector: {error}") from None
        if not timedelta(0) < self.retry_min <= self.retry_max:
            raise DefinitionError(
                f"ControllerOptions.retry_min ({self.retry_min}) and retry_max ({self.retry_max}) "
                "must be positive, and retry_min must not be larger.\n  fix: swap them or drop one"
            )
