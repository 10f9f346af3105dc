"""S1, S2 and S5 for any interleaving of members, their Leases, the shard map, faults and edits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from myrmidon.runtime.leader.election import Create, Election, Follow, Terms
from myrmidon.runtime.shards.board import ShardBoard
from myrmidon.runtime.shards.peers import expelled, placeholder
from myrmidon.runtime.shards.shard_map import (
    LABEL,
    SLICES_ANNOTATION,
    is_map,
    map_name,
    read_map,
    written_map,
)
from myrmidon.runtime.shards.slices import SLICES

TERMS = st.sampled_from([Terms(15, 10, 2), Terms(4, 3.9, 1)])
MEMBERS_MAX = 5
WHO = st.integers(0, MEMBERS_MAX - 1)
TASKS = st.sampled_from(["elector", "loop"])
MAP = map_name("p")
Lease = dict[str, Any]


class Store:
    """A server with Leases, whose writes are bound to resourceVersions as on the real one."""

    def __init__(self) -> None:
        self.leases: dict[str, Lease] = {}
        self._numbers = count(1)

    def create(self, lease: Lease) -> Lease | None:
        """Create an object; None if it exists."""
        name = lease["metadata"]["name"]
        if name in self.leases:
            return None
        number = str(next(self._numbers))
        meta = {**lease["metadata"], "uid": f"u{number}", "resourceVersion": number}
        self.leases[name] = {**lease, "metadata": meta}
        return self.leases[name]

    def recover(self, lease: Lease) -> Lease:
        """Create an object, or give the existing one its label back."""
        found = self.leases.get(lease["metadata"]["name"])
        if found is None:
            return self.create(lease) or lease
        labels = lease["metadata"]["labels"]
        return self.edit({**found, "metadata": {**found["metadata"], "labels": labels}})

    def update(self, lease: Lease) -> Lease | None:
        """Store an object if its resourceVersion is current; None is a conflict."""
        found = self.leases.get(lease["metadata"]["name"])
        keys = ("uid", "resourceVersion")
        if found is None or any(lease["metadata"][key] != found["metadata"][key] for key in keys):
            return None
        return self.edit(lease)

    def edit(self, lease: Lease) -> Lease:
        """Store an object without looking at its resourceVersion, as a person does."""
        name = lease["metadata"]["name"]
        meta = {**lease["metadata"], "resourceVersion": str(next(self._numbers))}
        self.leases[name] = {**lease, "metadata": meta}
        return self.leases[name]

    def list(self) -> list[Lease]:
        """Return the objects that have the label."""
        return [one for one in self.leases.values() if LABEL in one["metadata"].get("labels", {})]


@dataclass
class Request:
    """A request: sent, perhaps executed by the server, perhaps answered."""

    action: str
    payload: Any
    sent_at: float
    is_done: bool = False
    answer: Any = None


@dataclass
class Member:
    """A process.  ``open`` are the slices for which it would send writes."""

    name: str
    election: Election
    board: ShardBoard
    offset: float
    open: frozenset[int] = frozenset()
    has_led: bool = False
    has_ended: bool = False
    wants_to_stop: frozenset[int] = frozenset()
    waits_for: dict[str, Request] = field(default_factory=dict)
    on_the_wire: list[Request] = field(default_factory=list)


class ShardModel(RuleBasedStateMachine):
    """True time is the model's.  Requests are sent, executed and answered in separate steps.

    A member without steps for a long time was paused.  A request that its sender gave up stays on
    the wire and may take effect at any later time.
    """

    @initialize(terms=TERMS)
    def begin(self, terms: Terms) -> None:
        """Start two members, and let them share all slices."""
        self.now, self.store, self.terms = 0.0, Store(), terms
        self.members: list[Member] = []
        self.names = count()
        for _ in range(2):
            self.join(0)
        for _ in range(2):
            self.live([0, 1], 1.3)
        assert self.served() == SLICES, "S2: every slice has an owner"

    # -------------------------------------------------------------------------- asking

    def clock(self, it: Member) -> float:
        """The monotonic clock of a member."""
        return self.now + it.offset

    def may_write(self, it: Member) -> frozenset[int]:
        """The slices for which the fence of a member is open."""
        now = self.clock(it)
        valid = it.election.leads(now) and now < it.board.valid_until
        return it.open if valid else frozenset()

    def served(self) -> int:
        """How many slices have an owner that may write."""
        return sum(len(self.may_write(it)) for it in self.members)

    @invariant()
    def one_writer(self) -> None:
        """S1: no slice is open in two members."""
        seen: frozenset[int] = frozenset()
        for it in getattr(self, "members", ()):
            mine = self.may_write(it)
            assert not seen & mine
            seen |= mine

    # ------------------------------------------------------------------ what a process does

    @rule(offset=st.integers(-1000, 1000))
    def join(self, offset: int) -> None:
        """Start another process; the oldest one is never heard of again if there are many."""
        name = f"m{next(self.names)}"
        it = Member(
            name,
            Election(name, self.terms, alone=True),
            ShardBoard(name, "uid", self.terms),
            offset,
        )
        if len(self.members) == MEMBERS_MAX:
            self.members.pop(0)
        self.members.append(it)

    @rule(who=WHO)
    def send_of_elector(self, who: int) -> None:
        """Decide about the own Lease, and send the request."""
        it = self.members[who % len(self.members)]
        if "elector" in it.waits_for or self._has_ended(it):
            return
        now = self.clock(it)
        step = it.election.step(now, f"{self.now}.{it.name}")
        meta = {"name": it.name, "labels": {LABEL: "p"}}
        if isinstance(step, Create):
            self._sent(it, "elector", Request("create", {"metadata": meta, "spec": step.spec}, now))
        elif isinstance(step, Follow):
            self._sent(it, "elector", Request("get", it.name, now))
        else:
            lease = {**step.lease, "metadata": {**step.lease["metadata"], **meta}}
            self._sent(it, "elector", Request("update", lease, now))

    @rule(who=WHO)
    def send_of_loop(self, who: int) -> None:
        """List the Leases."""
        it = self.members[who % len(self.members)]
        if "loop" not in it.waits_for and not self._has_ended(it):
            self._sent(it, "loop", Request("list", None, self.clock(it)))

    @rule(who=WHO)
    def send_change(self, who: int) -> None:
        """Create or write the map, or expel a member."""
        it = self.members[who % len(self.members)]
        if self._has_ended(it) or "loop" in it.waits_for:
            return
        if not it.election.leads(self.clock(it)):
            return
        now, board = self.clock(it), it.board
        others = [one for one in board.peers.expired(now) if one["metadata"]["name"] != it.name]
        if not board.has_map:
            self._sent(it, "loop", Request("create", written_map(MAP, "p", "uid"), now))
        elif missing := board.peers.missing(board.owners):
            made = placeholder(missing[0], {LABEL: "p"}, self.terms.lease_seconds)
            self._sent(it, "loop", Request("recover", made, now))
        elif others:
            payload = expelled(others[0], f"{self.now}.{it.name}")
            self._sent(it, "loop", Request("update", payload, now))
        elif (lease := board.next_map(board.owned - it.open, now)) is not None:
            self._sent(it, "loop", Request("update", lease, now))

    def _sent(self, it: Member, task: str, request: Request) -> None:
        it.waits_for[task] = request
        it.on_the_wire.append(request)

    @rule(who=WHO, which=st.integers(0, 5))
    def act(self, who: int, which: int) -> None:
        """The server executes a request, also one that its sender gave up."""
        it = self.members[who % len(self.members)]
        if not it.on_the_wire:
            return
        request = it.on_the_wire.pop(which % len(it.on_the_wire))
        request.is_done = True
        actions: dict[str, Callable[[Any], Any]] = {
            "get": self.store.leases.get,
            "create": self.store.create,
            "recover": self.store.recover,
            "update": self.store.update,
            "list": lambda _nothing: self.store.list(),
        }
        request.answer = actions[request.action](request.payload)

    @rule(who=WHO, task=TASKS)
    def hear(self, who: int, task: str) -> None:
        """The response arrives."""
        it = self.members[who % len(self.members)]
        request = it.waits_for.get(task)
        if request is None or not request.is_done or self._has_ended(it):
            return
        del it.waits_for[task]
        if task == "elector":
            self._hear_elector(it, request)
        elif request.action == "list":
            members = [one for one in request.answer if not is_map(one, "p")]
            shard_map = next((one for one in request.answer if is_map(one, "p")), None)
            it.board.listed(members, shard_map, request.sent_at, self.clock(it))
        elif request.answer is not None and request.action == "update":
            if is_map(request.answer, "p"):
                it.board.wrote(request.answer, request.sent_at, self.clock(it))
            else:
                it.board.peers.seen(request.answer, self.clock(it))
        if not self._has_ended(it):
            self._settle(it)

    def _has_ended(self, it: Member) -> bool:
        """Whether the process has ended, as it does when it has lost its Lease (``Elector.run``)."""
        now = self.clock(it)
        leads = it.election.leads(now)
        it.has_led |= leads
        if it.has_led and not leads and not it.election.is_in_doubt(now):
            it.has_ended, it.open = True, frozenset()
        return it.has_ended

    def _hear_elector(self, it: Member, request: Request) -> None:
        now, answer = self.clock(it), request.answer
        if request.action == "get":
            it.election.observe(answer, now)
        elif answer is None:
            it.election.refused()
        elif request.action == "create":
            it.election.observe(answer, now)
        else:
            it.election.wrote(answer, request.sent_at, now)

    def _settle(self, it: Member) -> None:
        """Close what was lost, note what should be drained, and open what was gained."""
        board = it.board
        it.open &= board.owned
        if not it.election.leads(self.clock(it)):
            return
        leaving = board.leaving(self.clock(it))
        it.wants_to_stop = leaving & it.open
        if not board.is_in_doubt:
            it.open |= board.owned - leaving

    @rule(who=WHO)
    def drained(self, who: int) -> None:
        """The passes of the slices that should go to another member have ended (S5)."""
        it = self.members[who % len(self.members)]
        if not self._has_ended(it):
            it.open -= it.wants_to_stop

    @rule(who=WHO, task=TASKS)
    def give_up(self, who: int, task: str) -> None:
        """The response is lost or too late; the request may still be on the wire."""
        it = self.members[who % len(self.members)]
        request = it.waits_for.pop(task, None)
        if request is None:
            return
        if task == "elector" and request.action != "get":
            it.election.unanswered()
        elif request.action == "update" and is_map(request.payload, "p"):
            it.board.unanswered()

    # -------------------------------------------------------------------- what happens to all

    @rule(who=st.lists(WHO, min_size=1, unique=True), part=st.sampled_from([0.3, 0.7, 1.1]))
    def live(self, who: list[int], part: float) -> None:
        """Let some members be healthy for a while; the others are paused."""
        until = self.now + part * self.terms.lease_seconds
        while self.now < until:
            for each in who:
                self._work(each)
            self.now += self.terms.retry_seconds / 2
            self.one_writer()

    def _work(self, who: int) -> None:
        steps = (self.send_of_elector, self.send_of_loop, self.send_change)
        for step, task in zip(steps, ("elector", "loop", "loop"), strict=True):
            step(who)
            it = self.members[who % len(self.members)]
            while it.on_the_wire:
                self.act(who, 0)
            self.hear(who, task)
            self.one_writer()
        self.drained(who)

    @rule(part=st.sampled_from([0.02, 0.2, 0.6, 0.9, 1.05]))
    def pass_time(self, part: float) -> None:
        """Part of a lease passes for all."""
        self.now += part * self.terms.lease_seconds

    @rule(name=st.integers(0, 5))
    def delete(self, name: int) -> None:
        """A person deletes the map or a member Lease."""
        names = sorted(self.store.leases)
        if names:
            del self.store.leases[names[name % len(names)]]

    @rule(text=st.sampled_from(["", "{}", "nonsense", "swap"]))
    def edit_map(self, text: str) -> None:
        """A person changes the owners in the map."""
        lease = self.store.leases.get(MAP)
        if lease is None:
            return
        if text == "swap":
            names = sorted({*read_map(lease).owners} - {""})
            text = lease["metadata"]["annotations"][SLICES_ANNOTATION]
            for old, new in zip(names, [*names[1:], *names[:1]], strict=True):
                text = text.replace(f'"{old}"', f'"?{new}"')
            text = text.replace("?", "")
        said = {**lease["metadata"]["annotations"], SLICES_ANNOTATION: text}
        self.store.edit({**lease, "metadata": {**lease["metadata"], "annotations": said}})

    @rule(name=st.integers(0, 5))
    def unlabel(self, name: int) -> None:
        """A person removes the label of a member Lease."""
        names = sorted(self.store.leases)
        if names and names[name % len(names)] != MAP:
            lease = self.store.leases[names[name % len(names)]]
            self.store.edit({**lease, "metadata": {**lease["metadata"], "labels": {}}})

    def teardown(self) -> None:
        """S2: whatever happened, new members get all slices when they are left in peace.

        Members that lost their Lease have ended, and requests that were given up took effect.
        """
        if not hasattr(self, "members"):
            return
        for who in range(len(self.members)):
            while self.members[who].on_the_wire:
                self.act(who, 0)
        self.members.clear()
        self.join(0)
        self.join(5)
        self.live([0, 1], 4.5)
        assert self.served() == SLICES


TestShards = ShardModel.TestCase
TestShards.settings = settings(
    max_examples=10,
    stateful_step_count=40,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes
)
