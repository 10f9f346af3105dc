"""WorkQueue compared with a simple model; fairness; causes."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from myrmidon.fsm.context import Cause
from myrmidon.runtime.queue.queue import CAUSES_MAX, LIVE_TURNS_MAX, Turn, Urgency, WorkQueue

KEYS = st.sampled_from("abcd")
RELATIONS = st.sampled_from(["self", "child", "relative", "timer", "resync"])
ALARMS = ("timer", "resync")


class QueueModel(RuleBasedStateMachine):
    """The model: a key is owed work from its first add until the take that follows it.

    For each add it keeps when it is due, how urgent it is and why.
    """

    def __init__(self) -> None:
        super().__init__()
        self.queue: WorkQueue[str] = WorkQueue()
        self.now = 0.0
        self.due: dict[str, float] = {}
        self.urgency: dict[str, Urgency] = {}
        self.causes: dict[str, dict[Cause, None]] = {}
        self.working: set[str] = set()

    @rule(key=KEYS, delay=st.integers(0, 3), urgency=st.sampled_from(Urgency), relation=RELATIONS)
    def add(self, key: str, delay: int, urgency: Urgency, relation: str) -> None:
        """Add any key at any time."""
        cause = Cause(relation)  # type: ignore[arg-type]
        due = self.now + delay
        self.queue.add(key, now=self.now, due_at=due, urgency=urgency, cause=cause)
        known = self.causes.setdefault(key, {})
        if key in self.due and due < self.due[key]:
            self.causes[key] = known = {one: None for one in known if one.relation not in ALARMS}
        known[cause] = None
        self.due[key] = min(self.due.get(key, due), due)
        self.urgency[key] = min(self.urgency.get(key, urgency), urgency)

    @rule()
    def take(self) -> None:
        """Q1: a taken key is due, was owed, and no other worker has it."""
        turn = self.queue.take(self.now)
        ready = {key for key, due in self.due.items() if due <= self.now} - self.working
        if turn is None:
            assert not ready, f"held back {ready}"
            return
        assert turn.key in ready
        assert turn.due_at == self.due.pop(turn.key)
        assert turn.urgency == self.urgency.pop(turn.key)
        assert turn.causes == list(self.causes.pop(turn.key))
        self.working.add(turn.key)

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        """Finish any key that is in work."""
        key = data.draw(st.sampled_from(sorted(self.working)))
        self.queue.finish(key, now=self.now)
        self.working.remove(key)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        """Drop a key: no work is owed, and work under way continues."""
        self.queue.forget(key)
        for table in (self.due, self.urgency, self.causes):
            table.pop(key, None)

    @rule(seconds=st.integers(1, 3))
    def pass_time(self, seconds: int) -> None:
        """Time passes."""
        self.now += seconds

    @invariant()
    def wakes_in_time(self) -> None:
        """wake_at is the time at which the first idle key is due, and None without idle keys."""
        idle = [due for key, due in self.due.items() if key not in self.working]
        wake_at = self.queue.wake_at()
        if not idle:
            assert wake_at is None
        elif min(idle) <= self.now:
            assert wake_at is not None
            assert wake_at <= self.now
        else:
            assert wake_at == min(idle)

    @invariant()
    def counts(self) -> None:
        """Its counts are those of the model."""
        assert {turn.key for turn in self.queue.owed()} == set(self.due)
        assert set(self.queue.working) == self.working
        assert len(self.queue) == len(self.due) + len(self.working)

    @invariant()
    def forgets_what_is_over(self) -> None:
        """Q12: the size of the queue is bounded by the keys that are owed or in work."""
        keys = {*self.due, *self.working}
        assert entries(self.queue) <= 4 * len(keys)
        assert len(self.queue._delayed) <= len(keys)


def entries(queue: WorkQueue[str]) -> int:
    """Return how many entries the containers of a queue have together."""
    tables = [
        table
        for value in vars(queue).values()
        for table in (value if isinstance(value, tuple) else (value,))
    ]
    return sum(len(table) for table in tables if hasattr(table, "__len__"))


TestQueue = QueueModel.TestCase
TestQueue.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)


def taken(queue: WorkQueue[str], now: float = 0.0) -> Turn[str]:
    """Take and finish the next turn."""
    turn = queue.take(now)
    assert turn is not None
    queue.finish(turn.key, now=now)
    return turn


def test_q12_passes_leave_nothing_behind() -> None:
    """Ten thousand passes over one key, each with a resync in ten hours, keep one entry."""
    queue: WorkQueue[str] = WorkQueue()
    for number in range(10_000):
        now = float(number)
        queue.add("a", now=now)
        assert taken(queue, now).key == "a"
        queue.add("a", now=now, due_at=now + 36_000.0, urgency=Urgency.BACKGROUND)

    assert entries(queue) <= 4


def test_q12_a_key_that_is_owed_nothing_more_leaves_no_delay() -> None:
    """Also if another key is due before the time that it was once set for."""
    queue: WorkQueue[str] = WorkQueue()
    queue.add("b", now=0.0, due_at=1.0)
    queue.add("a", now=0.0, due_at=3.0)
    queue.add("a", now=0.0)
    assert taken(queue).key == "a"
    assert len(queue._delayed) == 1


def test_keys_that_are_due_at_the_same_time_keep_the_order_of_their_adds() -> None:
    """The key that was added first is taken first."""
    queue: WorkQueue[str] = WorkQueue()
    for key in "cab":
        queue.add(key, now=0.0, due_at=5.0)
    queue.add("d", now=1.0, due_at=5.0)
    assert [taken(queue, 5.0).key for _ in range(4)] == ["c", "a", "b", "d"]


def test_live_changes_go_first_and_the_rest_does_not_starve() -> None:
    """Q4: among endless live changes, one turn in eleven is for what was found at the start."""
    queue: WorkQueue[str] = WorkQueue()
    for number in range(5):
        queue.add(f"old-{number}", now=0.0, urgency=Urgency.BACKGROUND)
    order: list[str] = []
    for number in range(5 * (LIVE_TURNS_MAX + 1)):
        queue.add(f"new-{number}", now=0.0)
        order.append(taken(queue).key)

    places = [place for place, key in enumerate(order) if key.startswith("old")]
    assert places == [LIVE_TURNS_MAX + n * (LIVE_TURNS_MAX + 1) for n in range(5)]


def test_live_change_lifts_what_waited_in_the_background() -> None:
    """Q4: it does not wait for its old place."""
    queue: WorkQueue[str] = WorkQueue()
    for key in "abc":
        queue.add(key, now=0.0, urgency=Urgency.BACKGROUND)
    queue.add("c", now=0.0)
    assert [taken(queue).key for _ in range(3)] == ["c", "a", "b"]


def test_busy_key_keeps_its_place() -> None:
    """Q4: more events for a key do not move it back."""
    queue: WorkQueue[str] = WorkQueue()
    queue.add("busy", now=0.0)
    for key in "abc":
        queue.add(key, now=0.0)
        queue.add("busy", now=0.0)
    assert taken(queue).key == "busy"


def test_causes_are_bounded_and_counted() -> None:
    """Q3: the number of causes that were dropped is kept."""
    queue: WorkQueue[int] = WorkQueue()
    relations = ("self", "child", "relative", "channel")
    events = ("create", "update", "delete", "generic")
    causes = [Cause(relation, event) for relation in relations for event in events]  # type: ignore[arg-type]
    for cause in (*causes, causes[0]):
        queue.add(1, now=0.0, cause=cause)
    turn = queue.take(0.0)
    assert turn is not None
    assert turn.causes == causes[:CAUSES_MAX]
    assert turn.collapsed == len(causes) - CAUSES_MAX


def test_q3_the_waiting_time_of_a_change_does_not_begin_with_an_earlier_resync_timer() -> None:
    """Q3: a change waits since its watch event, not since a resync was scheduled hours before."""
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", now=0.0, due_at=36000.0, urgency=Urgency.BACKGROUND, cause=Cause("resync"))
    queue.add("a", now=500.0, cause=Cause("self", "update"))
    turn = queue.take(500.0)
    assert turn is not None
    assert (turn.added_at, turn.due_at) == (500.0, 500.0)
    assert turn.causes == [Cause("self", "update")]


@pytest.mark.parametrize(
    ("first", "since"),
    [(Cause("timer"), 7.0), (Cause("resync"), 7.0), (Cause("self", "update"), 0.0)],
    ids=["timer", "resync", "event"],
)
def test_a_key_waits_since_its_first_event_timers_excluded(first: Cause, since: float) -> None:
    """A timer that is not due yet does not count; an event with a delay does."""
    queue = WorkQueue[str]()
    queue.add("a", now=0.0, due_at=10.0, cause=first)
    queue.add("a", now=7.0, cause=Cause("child", "update"))
    turn = queue.take(7.0)

    assert turn is not None
    assert turn.added_at == since
