"""Q6 and Q11 for any interleaving of several candidates, one Lease, faults and manual edits."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from myrmidon.errors import UsageError
from myrmidon.runtime.leader.election import Create, Election, Follow, Terms, Update
from myrmidon.runtime.leader.lease_record import (
    SECONDS_MAX,
    default_lease_name,
    granted_seconds,
    read_lease,
)

TERMS = st.sampled_from(
    [Terms(15, 10, 2), Terms(2.5, 2.2, 0.5), Terms(4, 3.9, 1), Terms(1.2, 1, 0.3)]
)
# The third process has the identity of the second: a restart with a fixed identity, or a mistake.
IDENTITIES = ("one", "two", "two")
WHO = st.integers(0, len(IDENTITIES) - 1)
DURATIONS: list[Any] = [None, 0, -3, 2, 7, 40, True, "15", float("nan"), [], {}]
HOLDERS: list[Any] = ["one", "two", "stranger", "", None, 7, {"a": 1}]
Lease = dict[str, Any]


class Store:
    """A server with one object, whose writes are bound to resourceVersions as on the real one."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self._numbers = count(1)

    def create(self, spec: Any) -> Lease | None:
        """Create the object; None if it exists."""
        if self.lease is not None:
            return None
        number = next(self._numbers)
        self.lease = {
            "metadata": {"uid": f"u{number}", "resourceVersion": str(number)},
            "spec": spec,
        }
        return self.lease

    def update(self, lease: Lease) -> Lease | None:
        """Store the object if its resourceVersion is current; None is a conflict."""
        if self.lease is None or lease["metadata"] != self.lease["metadata"]:
            return None
        return self.edit(lease["spec"])

    def edit(self, spec: Any) -> Lease | None:
        """Write the spec without a resourceVersion, as a person does."""
        if self.lease is None:
            return None
        meta = {**self.lease["metadata"], "resourceVersion": str(next(self._numbers))}
        self.lease = {"metadata": meta, "spec": spec}
        return self.lease


@dataclass
class Request:
    """A request of one candidate: sent, perhaps executed by the server, perhaps answered."""

    action: str
    payload: Any
    sent_at: float
    is_done: bool = False
    answer: Lease | None = None


@dataclass
class Candidate:
    """A process: its election, and clocks that measure the same durations but show other times."""

    election: Election
    offset: float
    skew: int = 0
    waits_for: Request | None = None
    on_the_wire: list[Request] = field(default_factory=list)


class ElectionModel(RuleBasedStateMachine):
    """True time is the model's.  Requests are sent, executed and answered in separate steps.

    A candidate without steps for a long time was paused.  A request that its sender gave up stays
    on the wire and may take effect at any later time.
    """

    @initialize(terms=TERMS, offsets=st.tuples(*[st.integers(-1000, 1000)] * len(IDENTITIES)))
    def begin(self, terms: Terms, offsets: tuple[int, ...]) -> None:
        """Start candidates with unrelated clocks; the first one leads."""
        self.now, self.store, self.terms = 0.0, Store(), terms
        self.candidates = [
            Candidate(Election(identity, terms), offset)
            for identity, offset in zip(IDENTITIES, offsets, strict=True)
        ]
        self.take_part(0)
        self.now += granted_seconds(terms.lease_seconds)
        self.take_part(0)
        assert self.leading() == [0]

    def leading(self) -> list[int]:
        """The candidates that lead now."""
        return [who for who, it in enumerate(self.candidates) if it.election.leads(self.clock(who))]

    def clock(self, who: int) -> float:
        """The monotonic clock of a candidate."""
        return self.now + self.candidates[who].offset

    def stamp(self, who: int) -> str:
        """The wall clock of a candidate, which may jump; the last digit is the process."""
        return f"{round(self.now * 1000) + self.candidates[who].skew}.{who}"

    # ------------------------------------------------------------------- what a process does

    @rule(who=WHO)
    def send(self, who: int) -> None:
        """Decide, and send the request; reading is a request, too."""
        it = self.candidates[who]
        if it.waits_for is not None:
            return
        now = self.clock(who)
        step = it.election.step(now, self.stamp(who))
        if isinstance(step, Create):
            self._sent(it, Request("create", step.spec, now))
        elif isinstance(step, Update):
            self._sent(it, Request("update", step.lease, now))
        else:
            assert isinstance(step, Follow)
            assert step.seconds >= 0
            self._sent(it, Request("read", None, now))

    def _sent(self, it: Candidate, request: Request) -> None:
        it.waits_for = request
        it.on_the_wire.append(request)

    @rule(who=WHO, which=st.integers(0, 5))
    def act(self, who: int, which: int) -> None:
        """The server executes a request, also one that its sender gave up."""
        it = self.candidates[who]
        if not it.on_the_wire:
            return
        request = it.on_the_wire.pop(which % len(it.on_the_wire))
        request.is_done = True
        if request.action == "read":
            request.answer = self.store.lease
        elif request.action == "create":
            request.answer = self.store.create(request.payload)
        else:
            request.answer = self.store.update(request.payload)

    @rule(who=WHO)
    def hear(self, who: int) -> None:
        """The response arrives."""
        it = self.candidates[who]
        request = it.waits_for
        if request is None or not request.is_done:
            return
        it.waits_for = None
        if request.action == "read":
            it.election.observe(request.answer, self.clock(who))
            self._check_q11(who, request.answer)
        elif request.answer is None:
            it.election.refused()
            assert not it.election.leads(self.clock(who)), "it may write without knowing the holder"
        elif request.action == "create":
            it.election.observe(request.answer, self.clock(who))
        else:
            it.election.wrote(request.answer, request.sent_at, self.clock(who))

    def _check_q11(self, who: int, lease: Lease | None) -> None:
        election = self.candidates[who].election
        if lease is None or read_lease(lease).holder != election.identity:
            assert not election.leads(self.clock(who)), (
                "it leads although it has read another holder"
            )

    @rule(who=WHO)
    def give_up(self, who: int) -> None:
        """The response is lost or too late; the request may still be on the wire."""
        it = self.candidates[who]
        if it.waits_for is not None and it.waits_for.action != "read":
            it.election.unanswered()
        it.waits_for = None

    @rule(who=WHO)
    def take_part(self, who: int) -> None:
        """Do what a healthy candidate does: send, and get the response at once."""
        for _ in range(2):
            self.send(who)
            while self.candidates[who].on_the_wire:
                self.act(who, 0)
            self.hear(who)

    @rule(who=st.lists(WHO, min_size=1, unique=True), part=st.sampled_from([0.3, 0.7, 1.1, 2.5]))
    def live(self, who: list[int], part: float) -> None:
        """Let some candidates be healthy for a while; the others are paused."""
        until = self.now + part * self.terms.lease_seconds
        while self.now < until:
            for each in who:
                self.take_part(each)
                self.one_may_write()
            self.now += self.terms.retry_seconds / 2

    @rule(who=WHO, others=st.lists(WHO, unique=True), part=st.sampled_from([0.3, 0.7, 1.1]))
    def hear_late(self, who: int, others: list[int], part: float) -> None:
        """The server executes the request at once, and its response takes a while."""
        self.send(who)
        self.act(who, 5)
        if who in others:
            others.remove(who)
        if others:
            self.live(others, part)
        self.hear(who)

    @rule(who=WHO, is_delivered=st.booleans())
    def resign(self, who: int, is_delivered: bool) -> None:
        """Shut the process down in order, and start it again with a new election."""
        it = self.candidates[who]
        lease = it.election.resignation(self.clock(who), self.stamp(who))
        it.election.resign()
        assert not it.election.leads(self.clock(who))
        if lease is not None and is_delivered:
            self.store.update(lease)
        self.restart(who)

    @rule(who=WHO)
    def restart(self, who: int) -> None:
        """Kill the process, and start one with the same identity.

        Old requests are still on the wire.
        """
        it = self.candidates[who]
        it.election, it.waits_for = Election(it.election.identity, self.terms), None

    # --------------------------------------------------------------- what happens to all of them

    @rule(part=st.sampled_from([0.02, 0.2, 0.5, 0.6, 0.9, 1.05]))
    def pass_time(self, part: float) -> None:
        """Part of a lease passes for all; a candidate without steps in this time was paused."""
        self.now += part * self.terms.lease_seconds

    @rule(who=WHO, skew=st.integers(-5000, 5000))
    def set_wall_clock(self, who: int, skew: int) -> None:
        """Let a wall clock jump, forward or back."""
        self.candidates[who].skew = skew

    @rule()
    def delete_by_hand(self) -> None:
        """`kubectl delete lease`."""
        self.store.lease = None

    @rule(
        holder=st.sampled_from(HOLDERS),
        seconds=st.sampled_from(DURATIONS),
        transitions=st.sampled_from([None, 0, 3, -1, "x", 2**31 - 1]),
        is_created=st.booleans(),
    )
    def edit_by_hand(self, holder: Any, seconds: Any, transitions: Any, is_created: bool) -> None:
        """`kubectl edit lease` or `kubectl replace --force`, with right or wrong values.

        Except for the values that only a resigning leader writes: no holder, and a duration of 1.
        """
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": seconds,
            "renewTime": "by hand",
            "leaseTransitions": transitions,
        }
        if is_created:
            self.store.lease = None
            self.store.create(spec)
        else:
            self.store.edit(spec)

    @rule(spec=st.sampled_from([None, "spec", [], 3, {}]))
    def write_nonsense(self, spec: Any) -> None:
        """Write a Lease with an invalid spec."""
        self.store.edit(spec)

    @rule()
    def touch_by_hand(self) -> None:
        """`kubectl label lease`: another version, the same content."""
        if self.store.lease is not None:
            self.store.edit(self.store.lease["spec"])

    # ------------------------------------------------------------------------------ the laws

    @precondition(lambda self: hasattr(self, "candidates"))
    @invariant()
    def one_may_write(self) -> None:
        """At most one candidate may write, and its writes end before another one may begin."""
        leading = self.leading()
        assert len(leading) <= 1, leading
        for who in leading:
            election = self.candidates[who].election
            assert election.leads_until < election.safe_until
            assert election.safe_until - election.leads_until < (
                self.terms.lease_seconds - self.terms.renew_seconds
            )

    def teardown(self) -> None:
        """A leader is found in bounded time once there are no more faults."""
        if not hasattr(self, "candidates"):
            return
        longest = max(self.terms.lease_seconds, *(s for s in DURATIONS if type(s) is int))
        until = self.now + 2 * longest + 4 * self.terms.lease_seconds
        for it in self.candidates:
            it.waits_for = None
        while not self.leading():
            assert self.now < until, "no leader"
            for who in range(len(self.candidates)):
                self.take_part(who)
                self.one_may_write()
            self.now += self.terms.retry_seconds / 2


TestElection = ElectionModel.TestCase
TestElection.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)


# ------------------------------------------------------------------------- single histories


def leader(store: Store, terms: Terms | None = None, identity: str = "old") -> Election:
    """Return an election that took the Lease at second 0."""
    election = Election(identity, terms)
    patience = float(granted_seconds(election.terms.lease_seconds))
    election.observe(store.lease, -patience)
    if store.lease is None:
        step = election.step(-patience, "s")
        assert isinstance(step, Create)
        election.observe(store.create(step.spec), -patience)
    step = election.step(0.0, "s0")
    assert isinstance(step, Update)
    stored = store.update(step.lease)
    assert stored is not None
    election.wrote(stored, 0.0, 0.0)
    assert election.leads(0.0)
    return election


def first_takeover(election: Election, store: Store, now: float) -> float:
    """Return the time at which a candidate that reads continuously takes the Lease."""
    for _ in range(200):
        election.observe(store.lease, now)
        step = election.step(now, "s")
        if isinstance(step, Update):
            return now
        if isinstance(step, Create):
            election.observe(store.create(step.spec), now)
            continue
        now += step.seconds
    raise AssertionError("no takeover")


def test_takeover_in_time() -> None:
    """A candidate that reads the Lease leads as soon as it expires, and not before."""
    store = Store()
    old = leader(store)
    taken_at = first_takeover(Election("new"), store, 0.0)
    assert 15.0 <= taken_at <= 15.0 + Terms().retry_seconds
    assert not old.leads(taken_at)


def test_lease_that_was_given_back_is_taken_at_once() -> None:
    """A resignation says that its writer has stopped."""
    store = Store()
    old, new = leader(store), Election("new")
    given = old.resignation(0.5, "s")
    assert given is not None
    old.resign()
    store.update(given)

    new.observe(store.lease, 1.0)
    step = new.step(1.0, "s")
    assert isinstance(step, Update)
    assert step.lease["spec"]["holderIdentity"] == "new"
    assert step.lease["spec"]["leaseTransitions"] == 1
    assert not old.leads(1.0)


@pytest.mark.parametrize("terms", [Terms(), Terms(0.9, 0.5, 0.1)], ids=["usual", "very short"])
def test_holder_that_was_removed_by_hand_is_not_a_resignation(terms: Terms) -> None:
    """The leader may not know yet, so a candidate waits as for any holder."""
    store = Store()
    leader(store, terms)
    assert store.lease is not None
    store.edit({**store.lease["spec"], "holderIdentity": ""})
    assert first_takeover(Election("new", terms), store, 1.0) >= 1.0 + terms.lease_seconds


def test_lease_that_was_deleted_is_waited_for_like_a_held_one() -> None:
    """Its leader may not know yet; a candidate that has just started waits, too."""
    store = Store()
    old, new = leader(store), Election("new")
    new.observe(store.lease, 1.0)
    store.lease = None
    assert first_takeover(new, store, 2.0) >= 17.0
    assert first_takeover(Election("fresh"), store, 3.0) >= 18.0
    assert old.leads(9.9)
    old.observe(None, 3.0)
    assert not old.leads(3.0)
    assert old.loss == "was deleted"


def test_a_lease_deleted_twice_between_two_reads_is_noticed() -> None:
    """A missing Lease has no version, so a candidate creates one without a holder, and waits."""
    store = Store()
    new = Election("new")
    new.observe(None, 0.0)
    old = leader(store)
    store.lease = None  # before ``new`` reads again
    step = new.step(14.9, "s")
    assert isinstance(step, Create)
    assert "holderIdentity" not in step.spec
    new.observe(store.create(step.spec), 14.9)
    assert isinstance(new.step(15.1, "s"), Follow)
    assert not old.leads(10.0)


def test_own_identity_on_a_lease_that_this_process_did_not_write() -> None:
    """A person wrote it, or an earlier process has the same identity: its leader may still run."""
    store = Store()
    leader(store)
    assert store.lease is not None
    store.edit({**store.lease["spec"], "holderIdentity": "new"})
    assert first_takeover(Election("new"), store, 1.0) >= 16.0


@pytest.mark.parametrize("seconds", [1, 2, 0, -1, None, "x", float("nan"), True])
def test_a_duration_that_was_shortened_by_hand_has_no_effect(seconds: Any) -> None:
    """The leader uses its own terms."""
    store = Store()
    leader(store)
    assert store.lease is not None
    store.edit({**store.lease["spec"], "leaseDurationSeconds": seconds})
    assert first_takeover(Election("new"), store, 1.0) >= 16.0


def test_duration_that_another_version_of_the_program_chose_is_obeyed() -> None:
    """In a roll-out with other terms the Lease says how long its holder may lead."""
    store = Store()
    leader(store, Terms(60, 40, 8))
    assert first_takeover(Election("new"), store, 0.0) >= 60.0
    store.lease = None
    new = Election("new")
    leader(store, Terms(60, 40, 8))
    new.observe(store.lease, 0.0)
    store.lease = None
    assert first_takeover(new, store, 1.0) >= 16.0


@pytest.mark.parametrize(
    "seconds", [10**12, 1e300, float("inf"), 10**400], ids=lambda it: f"{len(str(it))} digits"
)
def test_a_huge_duration_is_limited_to_an_hour(seconds: Any) -> None:
    """Liveness: a candidate waits at most an hour."""
    record = read_lease({"metadata": {"uid": "u"}, "spec": {"leaseDurationSeconds": seconds}})
    assert record.seconds == SECONDS_MAX


def test_a_renewal_whose_response_was_lost_is_confirmed_by_a_read() -> None:
    """The lease counts from when the renewal was sent."""
    store = Store()
    election = leader(store)
    step = election.step(8.0, "s8")
    assert isinstance(step, Update)
    store.update(step.lease)  # the response is lost
    again = election.step(9.0, "s9")
    assert isinstance(again, Update)
    assert store.update(again.lease) is None
    election.refused()
    assert not election.leads(9.0)
    assert election.is_in_doubt(9.0)
    election.observe(store.lease, 9.0)
    assert election.leads(17.9)
    assert not election.leads(18.0)


def test_equal_stamps_count_from_the_earliest() -> None:
    """The wall clock was set back between two attempts: which of them took effect is unknown."""
    store = Store()
    election = leader(store)
    steps = [election.step(at, "same") for at in (2.0, 7.0)]
    assert isinstance(steps[0], Update)
    store.update(steps[0].lease)
    election.observe(store.lease, 8.0)
    assert election.leads(11.9)
    assert not election.leads(12.0)


def test_a_late_response_counts_from_the_sending() -> None:
    """The server, and so a candidate, may have seen the renewal long before."""
    store = Store()
    election = leader(store)
    step = election.step(1.0, "s1")
    assert isinstance(step, Update)
    stored = store.update(step.lease)
    assert stored is not None
    election.wrote(stored, 1.0, 6.0)
    assert election.leads(10.9)
    assert not election.leads(11.0)
    assert election.safe_until == 13.5


def test_a_conflict_by_a_label_does_not_end_the_leadership() -> None:
    """The leader reads that it still holds the Lease, and continues with the time it had."""
    store = Store()
    election = leader(store)
    assert store.lease is not None
    store.edit(store.lease["spec"])
    election.refused()
    election.observe(store.lease, 5.0)
    assert election.leads(9.9)
    assert not election.leads(10.0)
    assert isinstance(election.step(5.0, "s"), Update)


@pytest.mark.parametrize(
    ("change", "loss"),
    [
        ({"holderIdentity": "other"}, "is held by other, written by another client"),
        ({"holderIdentity": None}, "is held by no replica, written by another client"),
        ({"holderIdentity": 7}, "is held by unreadable: 7, written by another client"),
        ({"leaseTransitions": 2}, "was replaced by an older one"),
    ],
    ids=str,
)
def test_leader_that_reads_that_it_does_not_hold_the_lease_stops(change: Any, loss: str) -> None:
    """Q11: this holds whatever time it has left."""
    store = Store()
    store.create({"renewTime": "t", "leaseTransitions": 2})
    election = leader(store)
    assert store.lease is not None
    store.edit({**store.lease["spec"], **change})
    assert election.leads(1.0)
    election.observe(store.lease, 1.0)
    assert not election.leads(1.0)
    assert election.loss == loss


def test_a_leader_whose_lease_was_created_again_stops() -> None:
    """Q11: between deletion and creation it did not hold the Lease."""
    store = Store()
    election = leader(store)
    assert store.lease is not None
    spec, store.lease = store.lease["spec"], None
    store.create(spec)
    election.observe(store.lease, 1.0)
    assert not election.leads(1.0)
    assert election.loss == "was deleted and created again"


def test_a_response_to_a_write_that_names_another_holder_is_believed() -> None:
    """An admission webhook may have changed it."""
    store = Store()
    election = leader(store)
    step = election.step(1.0, "s")
    assert isinstance(step, Update)
    changed = {**step.lease, "spec": {**step.lease["spec"], "holderIdentity": "other"}}
    election.wrote(changed, 1.0, 1.0)
    assert not election.leads(1.0)


def test_lease_without_a_version_is_never_written() -> None:
    """Without a resourceVersion the write could overwrite that of another candidate."""
    election = Election("one")
    election.observe({"metadata": {"uid": "u"}, "spec": {}}, 0.0)
    assert isinstance(election.step(1000.0, "s"), Follow)


def test_transitions_stay_within_the_field() -> None:
    """The server refuses numbers beyond 32 bits: no replica could ever take the Lease."""
    store = Store()
    store.create({"renewTime": "t", "leaseTransitions": 2**31 - 1})
    leader(store)
    assert store.lease is not None
    assert store.lease["spec"]["leaseTransitions"] == 2**31 - 1


@settings(max_examples=50, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists))
def test_any_json_can_be_read_as_a_lease(value: Any) -> None:
    """K7: a server can send any JSON, and a candidate waits."""
    for lease in (value, {"metadata": value, "spec": value}):
        assert read_lease(lease).is_released is False
    spec = dict.fromkeys(
        ("holderIdentity", "leaseDurationSeconds", "leaseTransitions", "renewTime"), value
    )
    record = read_lease({"metadata": {"uid": value, "resourceVersion": value}, "spec": spec})
    assert 0.0 <= record.seconds <= SECONDS_MAX
    assert record == read_lease(
        {"metadata": {"uid": value, "resourceVersion": value}, "spec": spec}
    )


def test_granted_lease_is_never_shorter_than_counted_on() -> None:
    """The Lease has whole seconds only, and 1 marks a resignation."""
    for terms, seconds in ((Terms(2.5, 2.2, 0.5), 3), (Terms(0.9, 0.5, 0.1), 2)):
        store = Store()
        leader(store, terms)
        assert store.lease is not None
        assert store.lease["spec"]["leaseDurationSeconds"] == seconds


@pytest.mark.parametrize(
    "terms",
    [(10, 15, 2), (15, 10, 11), (15, 10, 0), (7200, 10, 2), (float("nan"), 10, 2)],
    ids=str,
)
def test_invalid_terms_are_refused(terms: tuple[float, float, float]) -> None:
    """A renewal after the end of the lease would allow two writers."""
    with pytest.raises(UsageError, match="fix: keep the proportions of 2, 10 and 15 seconds"):
        Terms(*terms)


@pytest.mark.parametrize(
    ("controllers", "name"),
    [
        ([("web-app", "shop.example.com")], "myrmidon-web-app.shop.example.com"),
        ([("web-app", "shop.example.com"), ("a", "b.c")], "myrmidon-web-app.shop.example.com"),
        ([("config-map", "")], "myrmidon-config-map"),
        ([("Über_Name", "x.y")], "myrmidon-ber-name.x.y"),
        ([("x" * 300, "y.z")], "myrmidon-" + "x" * 244),
        ([], "myrmidon"),
    ],
    ids=["one", "more", "core group", "odd letters", "long", "none"],
)
def test_default_name_is_that_of_the_first_controller(
    controllers: list[tuple[str, str]], name: str
) -> None:
    """It differs between programs, but not between versions of a program."""
    assert default_lease_name(controllers) == name
