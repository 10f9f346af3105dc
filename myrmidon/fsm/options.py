"""ControllerOptions: how one controller runs, every limit with its unit."""

from dataclasses import dataclass
from datetime import timedelta

from myrmidon.errors import DefinitionError


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Choices of one controller.  The defaults suit a controller of a few thousand objects."""

    workers: int = 4
    """Passes at the same time, each for another object."""
    prune: bool = False
    """Delete what the object managed and no longer emits, after a walk that reached an end."""
    prune_max: int = 10
    """At most so many deletions by pruning in one pass; more is refused as a likely mistake."""
    sync_period: timedelta | None = timedelta(hours=10)
    """Every object is looked at again after this time, spread by jitter; None for never."""
    create_if_not_found: bool = False
    """Ask ``Controller.create`` for an object when a watch names one that does not exist."""
    ready_condition: bool = True
    """Write the condition Ready, which sums up all states."""
    pass_timeout: timedelta = timedelta(minutes=2)
    """A pass that runs longer is cancelled and counts as failed."""
    retry_min: timedelta = timedelta(seconds=1)
    """The delay after the first failure of an object; it doubles with each further one."""
    retry_max: timedelta = timedelta(minutes=5)
    """The longest delay between two attempts."""
    writes_max: int = 8
    """Outputs of one state that are written at the same time."""
    namespaces: tuple[str, ...] = ()
    """Only these namespaces; empty for all of them."""
    selector: str = ""
    """Only objects with these labels."""

    def __post_init__(self) -> None:
        for field in ("workers", "prune_max", "writes_max"):
            if getattr(self, field) < 1:
                raise DefinitionError(
                    f"ControllerOptions.{field} is {getattr(self, field)}.\n  fix: use 1 or more"
                )
        if not timedelta(0) < self.retry_min <= self.retry_max:
            raise DefinitionError(
                f"ControllerOptions.retry_min ({self.retry_min}) and retry_max ({self.retry_max}) "
                "must be positive and in that order.\n  fix: swap them or drop one"
            )
