"""The ledger of an external resource, and the decision what to do about the resource next.

A controller that creates a resource outside the cluster must survive a crash, a lost answer and a
lost Lease between the request and the moment at which it knows the resource's id.  Otherwise the
resource is created twice, or left behind.  So each object keeps a ledger in ``status.externals``,
one entry for each external resource, and every entry is written *before* the effect that it is
about and confirmed by the API server:

    no entry, Removed    nothing exists; a create uses the next sequence number
    Pending              create was or is about to be called with this token; the outcome is unknown
    Created              the external system has answered with this id

The token is a function of the object's uid, the external's name and the sequence number.  An
attempt with unknown outcome is repeated with the same token; a resource that is gone is created
again with the next one.

``decide`` compares the entry with what the external system says (``Sight``) and returns the next
action.  It rests on these assumptions about the external system:

- It can be asked for a resource by its token (``can_find``), or it answers a second create with the
  same token by the id of the first.
- A resource is visible at the latest ``grace`` after its create was answered or given up.  Until
  then, a resource that is not found may exist all the same: it is neither created again nor taken
  for deleted.  A create is given up ``timeout`` after its entry was written, or earlier.

Under these, an object never has two resources, and none is left when its entry is ``Removed``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID, uuid5

from myrmidon.api.objects.accessors import Json, status_fields

EntryState: TypeAlias = Literal["Pending", "Created", "Removed"]
_STATES: tuple[EntryState, ...] = ("Pending", "Created", "Removed")
_NAMESPACE = UUID("6b6b7b0e-3f0a-5d0c-9f0b-2f4f6d3c1a77")  # of the tokens; must never change
_POLL = timedelta(seconds=5)  # between two looks at a resource that is not visible yet


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """The ledger entry of one external resource."""

    state: EntryState
    sequence: int
    """Counts the resources that were created under this name, one after the other."""
    token: str
    id: str | None = None
    at: datetime | None = None
    """Pending: when create was last called.  Created: when it was answered."""

    def to_json(self) -> Json:
        """Return the entry for a merge patch: a field without a value is removed."""
        at = None if self.at is None else f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
        return {
            "state": self.state,
            "sequence": self.sequence,
            "token": self.token,
            "id": self.id,
            "at": at,
        }


def entry_of(obj: Mapping[str, Any], name: str) -> LedgerEntry | None:
    """Return the entry of that name in the object's ledger; None if there is none."""
    return _entry(_entries(obj).get(name))


def unremoved(obj: Mapping[str, Any]) -> dict[str, LedgerEntry]:
    """Return the entries of resources that exist or may exist, by name."""
    read = {name: _entry(raw) for name, raw in _entries(obj).items()}
    return {name: one for name, one in read.items() if one and one.state != "Removed"}


def _entries(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    found = status_fields(obj).get("externals")
    return found if isinstance(found, dict) else {}


def _entry(raw: Any) -> LedgerEntry | None:
    """Read an entry; None for a value that is not one, such as a user's own status field."""
    if not isinstance(raw, dict) or raw.get("state") not in _STATES:
        return None
    sequence, token = raw.get("sequence"), raw.get("token")
    if not isinstance(sequence, int) or not isinstance(token, str):
        return None
    named = raw.get("id")
    state: EntryState = raw["state"]
    if state == "Created" and not named:
        state = "Pending"
    return LedgerEntry(state, sequence, token, named and str(named), _time(raw.get("at")))


def _time(value: Any) -> datetime | None:
    try:
        read = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return read.replace(tzinfo=read.tzinfo or UTC)


def token_of(uid: str, name: str, sequence: int) -> str:
    """Return the idempotency token: a UUID, which most systems accept as one."""
    return str(uuid5(_NAMESPACE, f"{uid}/{name}/{sequence}"))


# ------------------------------------------------------------------------------ decision


class Sight(Enum):
    """What the external system said about the resource in this run."""

    UNSEEN = "not asked since the last entry, update or delete"
    ABSENT = "it is not there"
    PRESENT = "it is there, and as the object wants it"
    DIFFERENT = "it is there, and has to be updated"


class Seen(NamedTuple):
    """What was seen, and when the external system was asked: an answer is as old as its question."""

    sight: Sight
    at: datetime


class Last(Enum):
    """What this run did last."""

    NOTHING = "nothing yet"
    FIRST = "wrote the Pending entry of a first create"
    AGAIN = "wrote that of another attempt, while an earlier one may still take effect"
    ALONE = "wrote that of another attempt, when earlier ones had had their time"
    UPDATED = "called update"
    DELETED = "called delete"


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for one external resource of one object."""

    uid: str
    name: str
    can_find: bool
    timeout: timedelta
    grace: timedelta
    recreate: bool

    @property
    def doubt(self) -> timedelta:
        """How long after its entry was written a create may still bring a resource to light."""
        return self.timeout + self.grace


@dataclass(frozen=True, slots=True)
class Look:
    """Ask for the resource: by id if there is one, else by token."""

    token: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class WriteEntry:
    """Write the entry to the ledger; go on when the API server has confirmed it."""

    entry: LedgerEntry


@dataclass(frozen=True, slots=True)
class CallCreate:
    """Call create with the token, then record the id.

    ``proof``: which refusals prove that no resource with this token exists.
    """

    entry: LedgerEntry
    proof: Literal["any", "terminal", "none"]


@dataclass(frozen=True, slots=True)
class CallUpdate:
    """Call update."""

    id: str


@dataclass(frozen=True, slots=True)
class CallDelete:
    """Call delete."""

    id: str


@dataclass(frozen=True, slots=True)
class Later:
    """Stop here and look again: after a time, or with backoff."""

    reason: str
    message: str
    after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """The resource was deleted by another party, and is not to be created again."""

    id: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The resource is as the object wants it, or gone."""


Action: TypeAlias = (
    Look | WriteEntry | CallCreate | CallUpdate | CallDelete | Later | Gone | Settled
)


def decide(
    entry: LedgerEntry | None, seen: Seen, last: Last, rules: Rules, *, wanted: bool, now: datetime
) -> Action:
    """Return what to do next about an external resource that is wanted, or is to be removed."""
    if entry is None or entry.state == "Removed":
        return _nothing(entry, seen, rules, now) if wanted else Settled()
    if entry.id is None:
        return _pending(entry, seen, last, rules, wanted=wanted, now=now)
    if seen.sight is Sight.UNSEEN:
        return Look(entry.token, entry.id)
    if seen.sight is Sight.ABSENT:
        return _absent(entry, entry.id, seen, rules, wanted=wanted, now=now)
    return _present(entry.id, seen, last, wanted=wanted)


def _nothing(entry: LedgerEntry | None, seen: Seen, rules: Rules, now: datetime) -> Action:
    """Nothing is on record, and the resource is wanted."""
    first = _next(entry, rules, now)
    if entry is None and rules.can_find and seen.sight is Sight.UNSEEN:
        return Look(first.token)  # finds the resource even if the status was lost
    return WriteEntry(first)


def _pending(
    entry: LedgerEntry, seen: Seen, last: Last, rules: Rules, *, wanted: bool, now: datetime
) -> Action:
    """Create was called, or was about to be called; whether it had an effect is not known."""
    if last is Last.FIRST:
        return CallCreate(entry, "any")
    if last is Last.ALONE:
        # A system that knows tokens answers with the id, or refuses because it has none.
        return CallCreate(entry, "any" if rules.can_find else "terminal")
    if last is Last.AGAIN:
        return CallCreate(entry, "none")
    if not rules.can_find:
        # Also in order to remove it: only the answer to the same create tells the id.
        return WriteEntry(replace(entry, at=now))
    if seen.sight is Sight.UNSEEN:
        return Look(entry.token)
    left = _look_again(entry, rules.doubt, seen)
    if left is not None:
        message = "a create got no answer; it may still take effect"
        return Later("ExternalUnknown", message, left)
    return WriteEntry(replace(entry, at=now) if wanted else removed(entry))


def _absent(
    entry: LedgerEntry, known: str, seen: Seen, rules: Rules, *, wanted: bool, now: datetime
) -> Action:
    """The resource was created, and the external system does not have it."""
    left = _look_again(entry, rules.grace, seen)
    if left is not None:
        return Later("ExternalNotVisible", f"{known} was created and is not visible yet", left)
    if not wanted:
        return WriteEntry(removed(entry))
    return WriteEntry(_next(entry, rules, now)) if rules.recreate else Gone(known)


def _present(known: str, seen: Seen, last: Last, *, wanted: bool) -> Action:
    """The external system has the resource."""
    if not wanted:
        if last is Last.DELETED:
            return Later("ExternalDeleting", f"waiting for {known} to be gone")
        return CallDelete(known)
    if seen.sight is Sight.PRESENT:
        return Settled()
    if last is Last.UPDATED:
        return Later("ExternalUpdating", f"{known} was updated and does not show it yet")
    return CallUpdate(known)


def planned(action: WriteEntry | CallCreate | CallUpdate | CallDelete) -> str:
    """Return what an action would do, for ``myrmidon plan``."""
    match action:
        case CallUpdate(known):
            return f"{known} would be updated"
        case CallDelete(known):
            return f"{known} would be deleted"
        case WriteEntry(LedgerEntry(state="Created", id=known)):
            return f"{known} would be recorded"
        case WriteEntry(LedgerEntry(state="Removed")):
            return "it is gone, and would be recorded as removed"
        case _:
            return "it would be created"


def after_record(before: LedgerEntry | None, entry: LedgerEntry, rules: Rules) -> Last:
    """Return what the run did last, after it has replaced the entry ``before``."""
    if entry.state != "Pending":
        return Last.NOTHING
    if before is None or before.state != "Pending":
        return Last.FIRST
    over = before.at is None or entry.at is None or entry.at >= before.at + rules.doubt
    return Last.ALONE if over else Last.AGAIN


def after_refusal(create: CallCreate, *, terminal: bool) -> LedgerEntry | None:
    """Return the entry to write after the external system refused a create; None to keep it."""
    proved = create.proof == "any" or (create.proof == "terminal" and terminal)
    return removed(create.entry) if proved else None


def created(entry: LedgerEntry, known: str, now: datetime) -> LedgerEntry:
    """Return the entry of a resource whose create was answered with this id."""
    return LedgerEntry("Created", entry.sequence, entry.token, known, now)


def found(entry: LedgerEntry | None, rules: Rules, known: str, now: datetime) -> LedgerEntry:
    """Return the entry of a resource that was found by its token."""
    return created(entry or _next(None, rules, now), known, now)


def removed(entry: LedgerEntry) -> LedgerEntry:
    """Return the entry of a resource that does not exist; it keeps the sequence number."""
    return LedgerEntry("Removed", entry.sequence, entry.token)


def _next(entry: LedgerEntry | None, rules: Rules, now: datetime) -> LedgerEntry:
    sequence = 1 if entry is None else entry.sequence + 1
    return LedgerEntry("Pending", sequence, token_of(rules.uid, rules.name, sequence), at=now)


def _look_again(entry: LedgerEntry, doubt: timedelta, seen: Seen) -> timedelta | None:
    """Return when to look again, while absence does not prove that there is nothing; else None."""
    if entry.at is None or seen.at >= entry.at + doubt:
        return None
    return min(entry.at + doubt - seen.at, _POLL)
