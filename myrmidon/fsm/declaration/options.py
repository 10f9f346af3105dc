"""ControllerOptions: the settings of one controller."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeAlias, get_args

from myrmidon.api.requests.selectors import parse_selector
from myrmidon.errors import DefinitionError, UsageError
from myrmidon.fsm.declaration.option_types import mistyped
from myrmidon.fsm.declaration.policies import POLICIES, Policy
from myrmidon.fsm.declaration.watches import Predicate, always

ConditionsIn: TypeAlias = Literal["status", "annotation", "off"]
"""Where a controller keeps its conditions."""


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
    conditions: ConditionsIn | None = None
    """Where the conditions are kept.  ``"status"``: in ``status.conditions``, beside those of other
    writers.  ``"annotation"``: with the record of children in one annotation of the object,
    ``status.myrmidon.dev/<controller>``, as JSON.  ``"off"``: nowhere; failures become Events.
    Default: None, the status for a Resource class that this program defines, off for built-in
    kinds and kinds of other projects, whose status belongs to their own controllers."""
    kstatus: bool = False
    """Write the conditions ``Reconciling`` and ``Stalled`` beside ``Ready``, as kstatus defines
    them: exactly one of the three is True.  Tools such as Flux, Argo CD and ``kubectl wait`` can
    then tell an object that is being worked on from one whose failure is not retried.  No state may
    own a condition of these types.  Default: False; ``Stalled`` is then written only for an output
    that another client changes back or deletes each time."""
    pass_timeout: timedelta = timedelta(minutes=2)
    """A pass that takes longer is cancelled and fails with ``PassTimeout``; it is retried with
    backoff.  Default: 2 minutes."""
    retry_min: timedelta = timedelta(seconds=1)
    """The delay after the first failure of an object; it doubles with each further failure, up to
    ``retry_max``.  Default: 1 second."""
    retry_max: timedelta = timedelta(minutes=5)
    """The longest delay between two attempts.  Default: 5 minutes."""
    max_attempts: int | None = None
    """Give up retrying an object after so many failures in a row: its failure is then terminal, as
    after ``Failed(retry=False)``, and the message says so.  A change of the spec, a reconcile token
    (``myrmidon reconcile``) or a restart begins the counting anew; a pass for another reason, such
    as a change of a child, still runs.  Default: None, no limit."""
    retry_for: timedelta | None = None
    """Give up retrying an object when it has failed for so long without a success, as with
    ``max_attempts``; whichever comes first.  Default: None, no limit."""
    report_attempts: bool = False
    """Write ``status.attempts``, the number of failures in a row, and ``status.nextAttempt``, the
    time of the next attempt, while an object fails; both are removed by a success.  Costs a status
    write per attempt.  The status class must not have fields of these names.  Default: False."""
    passes_per_minute: int | None = None
    """The most passes that one object gets in a minute; a change that comes sooner waits, and is
    not lost.  Protects the server from an object that changes all the time.  Default: None, no
    limit."""
    retries_per_second: float | None = None
    """The most retries per second of all objects of the controller together: passes that only a
    growing delay caused.  First attempts, changes and ``Wait(after=...)`` are not limited.  Protects
    the server when thousands of objects fail at once.  Default: None, no limit."""
    retries_burst: int = 10
    """How many retries may exceed ``retries_per_second`` at once.  Only with that option.  Default:
    10."""
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
    when: Predicate = always
    """A change of an object causes a pass only if it passes this predicate, for example
    ``generation_changed | labels_changed``.  New objects, deletions and changes of labels and
    annotations that begin with ``myrmidon.dev/`` always count, and so do children, reads and timers.
    Default: every change."""

    standard_labels: bool = False
    """Put the labels ``app.kubernetes.io/managed-by`` (the controller's name) and
    ``app.kubernetes.io/part-of`` (the name of the parent) on every child that is applied, unless
    the output sets them itself.  A value that is too long for a label is shortened, with a hash.
    Labels that were written stay if the option is turned off.  Default: False."""
    remove_undeclared: bool = False
    """Remove fields and map entries of children that an earlier pass declared and this one does
    not; ``ApplyOptions.remove_undeclared`` says how.  An output that sets the option itself takes
    precedence.  Default: False, they stay."""
    policy: Policy = "manage"
    """What the controller does for its objects.  ``"observe"``: states run, but children are only
    compared; a state whose outputs differ waits with the reason ``ObserveOnly``.  ``"orphan"``:
    when an object is deleted its children stay, without an owner, and no finalizer state runs.  The
    annotation ``myrmidon.dev/policy`` on an object takes precedence.  Default: ``"manage"``."""

    def __post_init__(self) -> None:
        for field, fix in self._problems():
            value = getattr(self, field)
            shown = str(value) if isinstance(value, timedelta) else repr(value)
            raise DefinitionError(f"ControllerOptions.{field} is {shown}.\n  fix: {fix}")
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

    def _problems(self) -> Iterator[tuple[str, str]]:
        """Yield the fields whose values are not possible, each with its fix; types come first."""
        yield from mistyped(self)
        for field in ("workers", "prune_max", "writes_max"):
            if getattr(self, field) < 1:
                yield field, "use 1 or more"
        for field in ("max_attempts", "passes_per_minute", "retries_burst"):
            number = getattr(self, field)
            if number is not None and number < 1:
                yield field, "use 1 or more, or drop it"
        if self.retries_per_second is not None and self.retries_per_second <= 0:
            yield "retries_per_second", "use a positive number, or drop it"
        if self.retry_for is not None and self.retry_for <= timedelta(0):
            yield "retry_for", "use a positive timedelta, or drop it"
        if self.policy not in POLICIES:
            yield "policy", f"use one of {', '.join(map(repr, POLICIES))}"
        if self.conditions not in (None, *get_args(ConditionsIn)):
            yield "conditions", 'use "status", "annotation" or "off"'
        when: object = self.when
        if not isinstance(when, Predicate):
            yield (
                "when",
                "use a predicate: generation_changed, or Predicate(lambda before, after: ...)",
            )
