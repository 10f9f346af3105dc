"""Q6 for any interleaving: candidates with clocks of their own, pauses, lost answers; one Lease."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from myrmidon.errors import UsageError
from myrmidon.runtime.election import Create, Election, Follow, Terms, Update

TERMS = st.sampled_from(
    [Terms(15, 10, 2), Terms(2.5, 2.2, 0.5), Terms(4, 3.9, 1), Terms(1.2, 1, 0.3)]
)
NAMES = ("one", "two")


class Store:
    """A server that knows one object, with versions that must match."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self._version = 0

    def write(self, lease: dict[str, Any]) -> dict[str, Any] | None:
        """Store it if it was made from what is there; None is a conflict."""
        seen = (lease.get("metadata") or {}).get("resourceVersion")
        there = self.lease["metadata"]["resourceVersion"] if self.lease else None
        if seen != there:
            return None
        self._version += 1
        self.lease = {**lease, "metadata": {"resourceVersion": str(self._version)}}
        return self.lease


@dataclass
class Candidate:
    """An election and its clock: started at another time than others, and never set."""

    election: Election
    offset: float
    under_way: tuple[dict[str, Any], float] | None = None
    writes: list[float] = field(default_factory=list)


class ElectionModel(RuleBasedStateMachine):
    """True time is the model's; each candidate sees its own.

    A request is sent in one step and answered in another; in between anything may happen, and a
    candidate that is not stepped for long is paused.
    """

    @initialize(terms=TERMS, offsets=st.tuples(*[st.integers(-1000, 1000)] * 2))
    def begin(self, terms: Terms, offsets: tuple[int, ...]) -> None:
        """Nobody leads, nobody knows the others' clocks."""
        self.now, self.store, self.terms = 0.0, Store(), terms
        self.candidates = {
            name: Candidate(Election(name, terms), offset)
            for name, offset in zip(NAMES, offsets, strict=True)
        }

    def clock(self, name: str) -> float:
        """What a candidate's own clock says."""
        return self.now + self.candidates[name].offset

    @rule(name=st.sampled_from(NAMES))
    def look(self, name: str) -> None:
        """Read the Lease."""
        self.candidates[name].election.observe(self.store.lease, self.clock(name))

    @rule(name=st.sampled_from(NAMES))
    def send(self, name: str) -> None:
        """Decide, and send what was decided; the answer comes later."""
        it = self.candidates[name]
        if it.under_way is not None:
            return
        step = it.election.step(self.clock(name), "stamp")
        if isinstance(step, Create):
            it.under_way = ({"spec": step.spec}, self.clock(name))
        elif isinstance(step, Update):
            it.under_way = (step.lease, self.clock(name))
        else:
            assert isinstance(step, Follow)

    @rule(name=st.sampled_from(NAMES), heard=st.booleans())
    def arrive(self, name: str, heard: bool) -> None:
        """The server acts on a request; its answer may be lost."""
        it = self.candidates[name]
        if it.under_way is None:
            return
        lease, sent_at = it.under_way
        it.under_way = None
        stored = self.store.write(lease)
        if stored is not None and heard:
            it.election.wrote(stored, sent_at)

    @rule(name=st.sampled_from(NAMES))
    def take_part(self, name: str) -> None:
        """What a healthy candidate does each time: look, decide, send, hear."""
        self.look(name)
        self.send(name)
        self.arrive(name, heard=True)

    @rule(name=st.sampled_from(NAMES), heard=st.booleans())
    def resign(self, name: str, heard: bool) -> None:
        """Give the lease back, or at least try to."""
        it = self.candidates[name]
        if it.under_way is not None:
            return
        lease = it.election.resignation("stamp")
        it.election.resign()
        if lease is not None and heard:
            self.store.write(lease)

    @rule(part=st.sampled_from([0.02, 0.2, 0.5, 0.6, 0.9, 1.05]))
    def pass_time(self, part: float) -> None:
        """Part of a lease passes for all; whoever is not stepped meanwhile was paused."""
        self.now += part * self.terms.lease_seconds

    @precondition(lambda self: hasattr(self, "candidates"))
    @invariant()
    def one_may_write(self) -> None:
        """Never two at once; and what one has under way ends before another may begin."""
        leading = [n for n, it in self.candidates.items() if it.election.leads(self.clock(n))]
        assert len(leading) <= 1, leading
        for name in leading:
            election = self.candidates[name].election
            assert election.leads_until <= election.safe_until


TestElection = ElectionModel.TestCase
TestElection.settings = settings(max_examples=400, stateful_step_count=40, deadline=None)


def test_takeover_in_time() -> None:
    """A candidate that looks at the lease leads as soon as it is over, and not before."""
    terms, store = Terms(15, 10, 2), Store()
    old, new = Election("old", terms), Election("new", terms)
    old.observe(None, 0.0)
    step = old.step(0.0, "s")
    assert isinstance(step, Create)
    lease = store.write({"spec": step.spec})
    assert lease is not None
    old.wrote(lease, 0.0)

    now, looks = 0.0, 0
    while isinstance(step := new.step(now, "s") if looks else Follow(0.0), Follow):
        now += step.seconds
        new.observe(store.lease, now)
        looks += 1
        assert looks < 100
    assert isinstance(step, Update)
    assert 15.0 <= now <= 15.0 + terms.retry_seconds
    assert not old.leads(now)


def test_lease_that_was_given_back_is_taken_at_once() -> None:
    """Nobody has to wait for its end."""
    terms, store = Terms(15, 10, 2), Store()
    old, new = Election("old", terms), Election("new", terms)
    step = old.step(0.0, "s")
    assert isinstance(step, Create)
    lease = store.write({"spec": step.spec})
    assert lease is not None
    old.wrote(lease, 0.0)
    given = old.resignation("s")
    assert given is not None
    old.resign()
    store.write(given)

    new.observe(store.lease, 1.0)
    step = new.step(1.0, "s")
    assert isinstance(step, Update)
    assert step.lease["spec"]["holderIdentity"] == "new"
    assert step.lease["spec"]["leaseTransitions"] == 1
    assert not old.leads(1.0)


def test_granted_lease_is_never_shorter_than_counted_on() -> None:
    """The Lease knows whole seconds only."""
    step = Election("a", Terms(2.5, 2.2, 0.5)).step(0.0, "s")
    assert isinstance(step, Create)
    assert step.spec["leaseDurationSeconds"] == 3


@pytest.mark.parametrize("terms", [(10, 15, 2), (15, 10, 11), (15, 10, 0)], ids=str)
def test_terms_that_cannot_hold_are_refused(terms: tuple[float, float, float]) -> None:
    """A renewal later than the end of the lease would be two writers."""
    with pytest.raises(UsageError, match="fix: keep the proportions of 2, 10 and 15 seconds"):
        Terms(*terms)
