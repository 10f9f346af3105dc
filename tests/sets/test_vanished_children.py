"""A16: when a child that vanished is created again, decided by times alone."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from myrmidon.sets.stalls import vanished_children
from myrmidon.sets.stalls.vanished_children import CHILD, Vanishing

MINUTE, HOUR = 60.0, 3600.0


class Fight:
    """Ours creates the child whenever it may; another client deletes it ``life`` seconds later."""

    def __init__(self, *, life: float) -> None:
        self.stalled: dict[tuple[str, str], None] = {}
        self.children: Vanishing[str] = Vanishing(self.stalled)
        self.now, self.life = 1000.0, life
        self.created: list[float] = []

    def create(self, declaration: int = 1) -> float | None:
        """Create the child, if that is allowed; else return the seconds to wait."""
        wait = self.children.check("key", "uid", declaration, self.now)
        if wait is None:
            self.children.created("key", "uid", declaration, self.now)
            self.created.append(self.now)
        return wait

    def round(self, declaration: int = 1) -> float:
        """Wait and create, then let the child live and vanish; return the seconds waited in all."""
        waited = 0.0
        while (wait := self.create(declaration)) is not None:
            assert 0 < wait <= 10 * MINUTE
            self.now += wait
            waited += wait
        self.now += self.life
        return waited


@given(life=st.floats(0.001, 59.0), hours=st.integers(1, 5))
def test_a16_a_child_that_vanishes_soon_is_not_created_for_ever(life: float, hours: int) -> None:
    """Six creations at most without a pause, and then one in 1, 2, 4, 8, 10, 10, ... minutes."""
    fight = Fight(life=life)
    while fight.now < 1000 + hours * HOUR:
        fight.round()
    gaps = [later - earlier for earlier, later in pairwise(fight.created)]
    slow = gaps[5:]
    assert slow[0] >= MINUTE - 0.001
    assert all(later >= earlier - 0.001 for earlier, later in pairwise(slow))
    assert len(fight.created) <= 6 + 4 + hours * 6


@given(
    lives=st.lists(st.floats(0.001, 30 * MINUTE), min_size=20, max_size=60),
    changes=st.lists(st.booleans(), min_size=60, max_size=60),
)
def test_a16_never_more_than_one_creation_a_minute(lives: list[float], changes: list[bool]) -> None:
    """Beside eleven at once: whatever the child's lives, and however the declaration changes."""
    fight, declaration = Fight(life=0.0), 0
    for life, changed in zip(lives, changes, strict=False):
        declaration += changed
        fight.life = life
        fight.round(declaration)
    for start in fight.created:
        for minutes in (1, 5):
            soon = [at for at in fight.created if start <= at < start + minutes * MINUTE]
            assert len(soon) <= 11 + minutes


@given(life=st.floats(0.001, 9.0))
def test_a16_a_declaration_that_differs_in_each_pass_does_not_evade_the_pauses(life: float) -> None:
    """A state may declare the time of day; the pauses grow all the same."""
    fight = Fight(life=life)
    for number in range(30):
        fight.round(number)
    gaps = [later - earlier for earlier, later in pairwise(fight.created)]
    assert gaps[-1] >= 10 * MINUTE - 0.001


def test_a16_the_first_repetitions_are_sent_at_once() -> None:
    """A user who deletes a child a few times does not wait."""
    fight = Fight(life=0.5)
    assert [fight.round() for _ in range(6)] == [0.0] * 6
    assert fight.create() == 59.5


def test_a_child_that_lives_longer_than_the_pause_does_not_wait() -> None:
    """An eviction every two minutes costs no availability."""
    fight = Fight(life=2 * MINUTE)
    assert not any(fight.round() for _ in range(50))
    assert not fight.stalled


def stalled_fight() -> Fight:
    """Return a fight whose next creation has to wait."""
    fight = Fight(life=0.5)
    while fight.create() is None:
        pass
    return fight


def test_a16_a_stall_is_reported_until_the_child_has_lived_for_a_while() -> None:
    """Ten seconds; but the next pause is twice as long all the same."""
    fight = stalled_fight()
    assert list(fight.stalled) == [("key", CHILD)]
    fight.now += MINUTE
    assert fight.children.check("key", "uid", 1, fight.now) is None
    assert fight.children.created("key", "uid", 1, fight.now) == 10.0
    assert fight.children.held("key", fight.now + 4) == 6.0
    assert fight.children.held("key", fight.now + 10) is None
    assert not fight.stalled
    assert fight.children.held("key", fight.now + 11) is None
    assert fight.children.check("key", "uid", 1, fight.now + 12) == 2 * MINUTE - 12


def test_a_user_who_changes_the_declaration_waits_for_ten_seconds_at_most() -> None:
    """The change may be what ends the conflict, such as a longer time to live."""
    fight = stalled_fight()
    assert fight.children.check("key", "uid", 2, fight.now + 4) == 6.0
    assert fight.children.check("key", "uid", 2, fight.now + 10) is None


def test_a_child_of_another_parent_of_the_same_name_is_new() -> None:
    """And so is one that this process has deleted itself, or that has lived for long."""
    fight = stalled_fight()
    assert fight.children.knows("key", "uid")
    assert not fight.children.knows("key", "other")
    assert fight.children.check("key", "other", 1, fight.now) is None
    assert fight.children.created("key", "other", 1, fight.now) is None
    assert not fight.stalled

    fight = stalled_fight()
    fight.children.forget("key")
    fight.children.forget("another")
    assert not fight.children.knows("key", "uid")
    assert not fight.stalled

    fight = stalled_fight()
    fight.now += 11 * MINUTE
    assert fight.children.created("key", "uid", 1, fight.now) is None
    assert fight.create() is None


def test_a_stall_without_further_passes_is_not_reported_for_ever() -> None:
    """Its parent is gone; a stall of another kind under another key stays."""
    fight = stalled_fight()
    fight.stalled["key", "field"] = None
    fight.children.expire(fight.now)
    assert list(fight.stalled) == [("key", CHILD), ("key", "field")]
    fight.children.expire(fight.now + HOUR)
    assert list(fight.stalled) == [("key", "field")]


def test_the_memory_of_children_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child that was created first is forgotten."""
    monkeypatch.setattr(vanished_children, "_CHILDREN_MAX", 2)
    children: Vanishing[int] = Vanishing({})
    for key in (1, 2, 1, 3):
        children.created(key, "uid", 1, 0.0)
    assert [key for key in (1, 2, 3) if children.knows(key, "uid")] == [1, 3]


class AnyHistory(RuleBasedStateMachine):
    """A16 over any order of creations, checks, sightings and deletions of several children."""

    def __init__(self) -> None:
        super().__init__()
        self.children: Vanishing[int] = Vanishing({})
        self.now = 0.0
        self.mine: dict[int, str] = {}

    @rule(seconds=st.sampled_from((0.0, 0.5, 11.0, 61.0, 700.0, 2000.0)))
    def passes_time(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds

    @rule(key=st.integers(0, 2), parent=st.sampled_from("ab"), declaration=st.integers(0, 1))
    def is_missing(self, key: int, parent: str, declaration: int) -> None:
        """The child has to be created, and is if that is allowed."""
        wait = self.children.check(key, parent, declaration, self.now)
        if wait is None:
            wait = self.children.created(key, parent, declaration, self.now)
            self.mine[key] = parent
        assert wait is None or 0 < wait <= 600

    @rule(key=st.integers(0, 2))
    def is_there(self, key: int) -> None:
        """The child is seen."""
        left = self.children.held(key, self.now)
        assert left is None or 0 < left <= 10

    @rule(key=st.integers(0, 2))
    def is_deleted_by_us(self, key: int) -> None:
        """This process deletes the child."""
        self.children.forget(key)
        self.mine.pop(key, None)

    @invariant()
    def knowledge(self) -> None:
        """Exactly the children that this process created and did not delete are known."""
        for key in range(3):
            for parent in "ab":
                assert self.children.knows(key, parent) is (self.mine.get(key) == parent)
        assert {key for key, _ in self.children.stalled} <= set(self.mine)


TestAnyHistory = AnyHistory.TestCase
