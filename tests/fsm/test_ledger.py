"""The decision about an external resource, against a model of a system with unknown outcomes.

The model loses answers before and after the effect, carries requests out after they were given up,
shows resources late, and forgets nothing.  Whatever it does: an object never has two resources,
none is left after a removal, and the run ends when the faults do.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.fsm.external.ledger import (
    Action,
    CallCreate,
    CallDelete,
    CallUpdate,
    Gone,
    Last,
    Later,
    LedgerEntry,
    Look,
    Rules,
    Seen,
    Settled,
    Sight,
    WriteEntry,
    after_record,
    after_refusal,
    created,
    decide,
    entry_of,
    found,
    planned,
    removed,
    token_of,
    unremoved,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
RULES = Rules("uid", "store", True, timedelta(seconds=30), timedelta(seconds=20), True)
BY_TOKEN = replace(RULES, can_find=False)

# ------------------------------------------------------------------------------ the model

Fate = Literal[
    "fine", "refused", "busy", "lost before", "lost after", "late", "crash before", "crash after"
]  # fmt: skip
FATES: tuple[Fate, ...] = get_args(Fate)


class Unanswered(Exception):  # noqa: N818 - not an error of ours
    """A call or a ledger write got no response, or the process died: the run is over."""


class Refused(Unanswered):
    """The external system answered that it did not act."""

    def __init__(self, *, terminal: bool) -> None:
        self.terminal = terminal


@dataclass
class Made:
    """A resource in the modelled external system."""

    token: str
    size: int
    visible_at: datetime
    exists: bool = True


@dataclass
class World:
    """The external system, the ledger as the API server has it, and the time."""

    rules: Rules
    fates: Iterator[Fate]
    honours_tokens: bool
    now: datetime = NOW
    made: list[Made] = field(default_factory=list)
    late: list[tuple[datetime, Callable[[], Any]]] = field(default_factory=list)
    ledger: LedgerEntry | None = None
    size: int = 1

    def living(self) -> list[Made]:
        """The resources that exist, visible or not."""
        return [one for one in self.made if one.exists]

    def pass_time(self, duration: timedelta) -> None:
        """Let requests that were given up take effect."""
        self.now += duration
        due = [act for at, act in self.late if at <= self.now]
        self.late = [(at, act) for at, act in self.late if at > self.now]
        for act in due:
            act()
        assert len(self.living()) <= 1

    def call(self, act: Callable[[], Any], *, creates: bool = False) -> Any:
        """Carry out a request with the next outcome of the list."""
        fate = next(self.fates, "fine")
        if fate == "refused" and self.honours_tokens and self.ledger and self._has(self.ledger):
            fate = "fine"  # it knows the token, and returns the same response as before
        if fate in ("refused", "busy") and creates:
            raise Refused(terminal=fate == "refused")
        if fate in ("lost before", "crash before", "refused", "busy"):
            raise Unanswered
        if fate == "late" and creates:
            # Given up after the timeout; it takes effect before it has to be visible.
            self.late.append((self.now + self.rules.timeout + self.rules.grace / 2, act))
            raise Unanswered
        answer = act()
        assert len(self.living()) <= 1
        if fate in ("lost after", "crash after"):
            raise Unanswered
        return answer

    def _has(self, entry: LedgerEntry) -> bool:
        return any(one.token == entry.token for one in self.made)

    def create(self, token: str) -> str:
        """Make a resource; visible within the grace period."""
        if self.honours_tokens:
            for number, one in enumerate(self.made):
                if one.token == token:
                    return str(number)
        self.made.append(Made(token, self.size, self.now + self.rules.grace / 2))
        return str(len(self.made) - 1)

    def find(self, token: str) -> str | None:
        """Find a resource by its token."""
        for number, one in enumerate(self.made):
            if one.token == token and one.exists and self.now >= one.visible_at:
                return str(number)
        return None

    def observe(self, known: str) -> Made | None:
        """Read a resource."""
        one = self.made[int(known)]
        return one if one.exists and self.now >= one.visible_at else None

    def delete(self, known: str) -> None:
        """Delete a resource that is visible; the call says nothing about one that is not."""
        if self.observe(known):
            self.made[int(known)].exists = False

    def write(self, entry: LedgerEntry) -> None:
        """Write the ledger."""
        self.ledger = entry


def run(world: World, *, wanted: bool) -> Action:
    """Act as a pass would, until there is nothing to do or the run has to wait."""
    seen, last = Seen(Sight.UNSEEN, world.now), Last.NOTHING
    for _ in range(20):
        entry = world.ledger
        action = decide(entry, seen, last, world.rules, wanted=wanted, now=world.now)
        match action:
            case WriteEntry(new):
                world.call(partial(world.write, new))
                seen, last = Seen(Sight.UNSEEN, world.now), after_record(entry, new, world.rules)
            case Look(token, None):
                known = world.call(partial(world.find, token))
                seen = Seen(Sight.ABSENT, world.now)
                if known is not None:
                    new = found(entry, world.rules, known, world.now)
                    world.call(partial(world.write, new))
                    seen, last = Seen(Sight.UNSEEN, world.now), Last.NOTHING
            case Look(_, str(known)):
                one = world.call(partial(world.observe, known))
                sight = Sight.ABSENT if one is None else Sight.PRESENT
                if one is not None and one.size != world.size:
                    sight = Sight.DIFFERENT
                seen = Seen(sight, world.now)
            case CallCreate():
                world.call(partial(world.write, _create(world, action)))
                seen, last = Seen(Sight.UNSEEN, world.now), Last.NOTHING
            case CallUpdate(known):
                world.call(partial(setattr, world.made[int(known)], "size", world.size))
                seen, last = Seen(Sight.UNSEEN, world.now), Last.UPDATED
            case CallDelete(known):
                world.call(partial(world.delete, known))
                seen, last = Seen(Sight.UNSEEN, world.now), Last.DELETED
            case _:
                return action
    raise AssertionError("the run does not end")


def _create(world: World, create: CallCreate) -> LedgerEntry:
    """Return the entry after a create; raise if it was refused or got no answer."""
    try:
        known = world.call(partial(world.create, create.entry.token), creates=True)
    except Refused as error:
        without = after_refusal(create, terminal=error.terminal)
        if without is not None:
            world.call(partial(world.write, without))
        raise
    return created(create.entry, known, world.now)


def settle(world: World, *, wanted: bool) -> None:
    """Run until the resource is settled; the faults end, so this must, too."""
    for _ in range(200):
        with suppress(Unanswered):
            if run(world, wanted=wanted) == Settled():
                return
        world.pass_time(5 * SECOND)
    raise AssertionError("it does not converge")


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("want"), st.booleans()),
        st.tuples(st.just("resize"), st.integers(1, 3)),
        st.tuples(st.just("wait"), st.integers(0, 60)),
    ),
    max_size=12,
)


@pytest.mark.law("X2")
@given(
    fates=st.lists(st.sampled_from(FATES), max_size=30),
    steps=STEPS,
    can_find=st.booleans(),
    honours_tokens=st.booleans(),
)
def test_never_two_resources_and_none_left(
    fates: list[Fate], steps: list[tuple[str, Any]], *, can_find: bool, honours_tokens: bool
) -> None:
    """Whatever is lost: never more than one resource, finally the right one, none after removal."""
    world = World(replace(RULES, can_find=can_find), iter(fates), honours_tokens or not can_find)
    wanted = True
    for step, value in steps:
        match step:
            case "want":
                wanted = value
            case "resize":
                world.size = value
            case _:
                world.pass_time(value * SECOND)
        with suppress(Unanswered):
            run(world, wanted=wanted)

    world.fates = iter(())
    settle(world, wanted=True)
    assert [one.size for one in world.living()] == [world.size]
    settle(world, wanted=False)
    world.pass_time(timedelta(hours=1))
    assert world.living() == []
    assert world.ledger is not None
    assert world.ledger.state == "Removed"


@pytest.mark.law("X2")
@given(fates=st.lists(st.sampled_from(FATES), max_size=12), can_find=st.booleans())
def test_a_removal_after_a_first_attempt_leaves_nothing(
    fates: list[Fate], *, can_find: bool
) -> None:
    """This holds also if the first attempt got no response and the resource appears later."""
    world = World(replace(RULES, can_find=can_find), iter(fates), honours_tokens=not can_find)
    with suppress(Unanswered):
        run(world, wanted=True)
    settle(world, wanted=False)
    world.pass_time(timedelta(hours=1))
    assert world.living() == []


def test_the_model_finds_duplicates() -> None:
    """A system that ignores tokens and cannot be asked for them gets a second resource."""
    world = World(BY_TOKEN, iter(("fine", "lost after")), honours_tokens=False)
    with pytest.raises(Unanswered):
        run(world, wanted=True)
    with pytest.raises(AssertionError):
        run(world, wanted=True)


# ---------------------------------------------------------------------------- single cases

FIRST = LedgerEntry("Pending", 1, token_of("uid", "store", 1), at=NOW)
MADE = LedgerEntry("Created", 1, FIRST.token, "id", NOW)


def seen(sight: Sight, seconds: float = 0) -> Seen:
    """Return an observation, made so many seconds after NOW."""
    return Seen(sight, NOW + seconds * SECOND)


@pytest.mark.parametrize(
    ("entry", "saw", "last", "wanted", "action"),
    [
        (None, seen(Sight.UNSEEN), Last.NOTHING, True, Look(FIRST.token)),
        (None, seen(Sight.ABSENT), Last.NOTHING, True, WriteEntry(FIRST)),
        (None, seen(Sight.UNSEEN), Last.NOTHING, False, Settled()),
        (removed(FIRST), seen(Sight.UNSEEN), Last.NOTHING, False, Settled()),
        (FIRST, seen(Sight.UNSEEN), Last.FIRST, True, CallCreate(FIRST, "any")),
        (FIRST, seen(Sight.UNSEEN), Last.ALONE, True, CallCreate(FIRST, "any")),
        (FIRST, seen(Sight.UNSEEN), Last.AGAIN, True, CallCreate(FIRST, "none")),
        (FIRST, seen(Sight.UNSEEN), Last.NOTHING, True, Look(FIRST.token)),
        (FIRST, seen(Sight.ABSENT, 50), Last.NOTHING, True, WriteEntry(FIRST)),
        (FIRST, seen(Sight.ABSENT, 50), Last.NOTHING, False, WriteEntry(removed(FIRST))),
        (MADE, seen(Sight.UNSEEN), Last.NOTHING, True, Look(FIRST.token, "id")),
        (MADE, seen(Sight.PRESENT), Last.NOTHING, True, Settled()),
        (MADE, seen(Sight.DIFFERENT), Last.NOTHING, True, CallUpdate("id")),
        (MADE, seen(Sight.PRESENT), Last.NOTHING, False, CallDelete("id")),
        (MADE, seen(Sight.ABSENT, 20), Last.NOTHING, False, WriteEntry(removed(MADE))),
    ],
)
def test_what_is_done(
    entry: LedgerEntry | None, saw: Seen, last: Last, action: Action, *, wanted: bool
) -> None:
    """One row for each decision that needs no wait."""
    assert decide(entry, saw, last, RULES, wanted=wanted, now=NOW) == action


@pytest.mark.parametrize(
    ("entry", "saw", "last", "wanted", "reason", "after"),
    [
        (FIRST, seen(Sight.ABSENT, 49), Last.NOTHING, True, "ExternalUnknown", SECOND),
        (FIRST, seen(Sight.ABSENT), Last.NOTHING, False, "ExternalUnknown", 5 * SECOND),
        (MADE, seen(Sight.ABSENT, 19), Last.NOTHING, True, "ExternalNotVisible", SECOND),
        (MADE, seen(Sight.ABSENT, 19), Last.DELETED, False, "ExternalNotVisible", SECOND),
        (MADE, seen(Sight.DIFFERENT), Last.UPDATED, True, "ExternalUpdating", None),
        (MADE, seen(Sight.PRESENT), Last.DELETED, False, "ExternalDeleting", None),
    ],
)
def test_what_is_waited_for(
    entry: LedgerEntry, saw: Seen, last: Last, reason: str, after: timedelta | None, *, wanted: bool
) -> None:
    """A missing resource proves nothing before the grace period is over."""
    late = NOW + timedelta(hours=1)  # the time of the decision is not the time of the observation
    action = decide(entry, saw, last, RULES, wanted=wanted, now=late)
    assert isinstance(action, Later)
    assert (action.reason, action.after) == (reason, after)


def test_a_resource_that_another_party_deleted() -> None:
    """It is created again with another token, unless it holds data."""
    again = decide(MADE, seen(Sight.ABSENT, 20), Last.NOTHING, RULES, wanted=True, now=NOW)
    assert again == WriteEntry(LedgerEntry("Pending", 2, token_of("uid", "store", 2), at=NOW))
    keeps = replace(RULES, recreate=False)
    gone = decide(MADE, seen(Sight.ABSENT, 20), Last.NOTHING, keeps, wanted=True, now=NOW)
    assert gone == Gone("id")


def test_a_system_that_honours_tokens_is_not_asked_by_token() -> None:
    """Repeating the create returns the id, also for a resource that is to be removed."""
    late = NOW + 9 * SECOND
    again = replace(FIRST, at=late)
    for wanted in (True, False):
        action = decide(FIRST, seen(Sight.UNSEEN), Last.NOTHING, BY_TOKEN, wanted=wanted, now=late)
        assert action == WriteEntry(again)
        action = decide(again, seen(Sight.UNSEEN), Last.ALONE, BY_TOKEN, wanted=wanted, now=late)
        assert action == CallCreate(again, "terminal")
    start = decide(None, seen(Sight.UNSEEN), Last.NOTHING, BY_TOKEN, wanted=True, now=NOW)
    assert start == WriteEntry(FIRST)


# ------------------------------------------------------------------------------ the ledger


@given(
    state=st.sampled_from(["Pending", "Created", "Removed"]),
    sequence=st.integers(1, 99),
    at=st.none() | st.datetimes(NOW.replace(tzinfo=None), timezones=st.just(UTC)),
)
def test_an_entry_is_read_as_it_was_written(state: Any, sequence: int, at: datetime | None) -> None:
    """With the time to the microsecond."""
    entry = LedgerEntry(state, sequence, "t", "id" if state == "Created" else None, at)
    obj = {"status": {"externals": {"store": entry.to_json()}}}
    assert entry_of(obj, "store") == entry
    assert set(unremoved(obj)) == (set() if state == "Removed" else {"store"})


@pytest.mark.parametrize(
    "raw",
    [None, [], {"state": "Odd"}, {"state": "Pending"}, {"state": "Pending", "sequence": 1}],
)
def test_a_value_that_is_not_an_entry_is_ignored(raw: Any) -> None:
    """A user's own status field may have the same name."""
    assert entry_of({"status": {"externals": {"store": raw}}}, "store") is None
    assert unremoved({"status": {"externals": raw}}) == {}


def test_an_entry_that_was_edited_by_hand() -> None:
    """Without an id the outcome is unknown; a time that cannot be read counts as none."""
    raw = {"state": "Created", "sequence": 1, "token": "t", "at": "yesterday"}
    assert entry_of({"status": {"externals": {"store": raw}}}, "store") == LedgerEntry(
        "Pending", 1, "t"
    )
    raw = {"state": "Pending", "sequence": 1, "token": "t", "at": "2026-01-01T00:00:00"}
    assert entry_of({"status": {"externals": {"store": raw}}}, "store") == LedgerEntry(
        "Pending", 1, "t", at=NOW
    )


def test_which_refusals_prove_that_nothing_exists() -> None:
    """It depends on whether an earlier attempt can still take effect, and whether it is known."""
    for proof, terminal, entry in (
        ("any", False, removed(FIRST)),
        ("terminal", True, removed(FIRST)),
        ("terminal", False, None),
        ("none", True, None),
    ):
        create = CallCreate(FIRST, proof)  # type: ignore[arg-type]
        assert after_refusal(create, terminal=terminal) == entry


def test_what_a_ledger_write_means_for_the_next_decision() -> None:
    """Whether an earlier attempt with the same token can still take effect."""
    assert after_record(None, FIRST, RULES) is Last.FIRST
    assert after_record(removed(FIRST), FIRST, RULES) is Last.FIRST
    assert after_record(FIRST, MADE, RULES) is Last.NOTHING
    assert after_record(FIRST, replace(FIRST, at=NOW + 49 * SECOND), RULES) is Last.AGAIN
    assert after_record(FIRST, replace(FIRST, at=NOW + 50 * SECOND), RULES) is Last.ALONE
    assert after_record(replace(FIRST, at=None), FIRST, RULES) is Last.ALONE


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (WriteEntry(FIRST), "it would be created"),
        (CallCreate(FIRST, "any"), "it would be created"),
        (WriteEntry(MADE), "id would be recorded"),
        (WriteEntry(removed(MADE)), "it is gone, and would be recorded as removed"),
        (CallUpdate("id"), "id would be updated"),
        (CallDelete("id"), "id would be deleted"),
    ],
)
def test_what_would_be_done(action: Any, said: str) -> None:
    """The decision as a sentence, for `myrmidon plan`."""
    assert planned(action) == said


def test_a_token_belongs_to_one_resource() -> None:
    """It depends on the object, the name and the sequence, and must not change between versions."""
    assert FIRST.token == "27016ce1-c5bb-5095-82bd-9fb4cf8ef3ac"
    tokens = {token_of(uid, name, n) for uid in "ab" for name in "cd" for n in (1, 2)}
    assert len(tokens) == 8
