"""Two managers and one lease, in virtual time; and how each of them stops."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.errors import LeadershipLostError
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.generate import crd
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, FaultyTransport, Hang, Harness, Lose, Refuse, is_write
from tests.runtime.things import Thing, Things, config_map, thing

TERMS = ManagerOptions().terms  # 15, 10 and 2 seconds
MINUTE = timedelta(minutes=1)
LEASE = "myrmidon-thing.test.myrmidon.dev"
FIRST = timedelta(
    seconds=TERMS.lease_seconds + 1
)  # a candidate waits for a Lease that was just created


def child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child."""
    out.apply(config_map(it.name, it.spec.value))
    return Done()


@dataclass
class Replica:
    """One of several processes on one server."""

    name: str
    cluster: Harness
    controller: Things
    options: ManagerOptions
    cut: bool = False
    writes: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        inner = LocalTransport(self.cluster.server)
        self.line = FaultyTransport(inner, self._fault, clock=self.cluster.clock)
        self.manager = Manager(self.options, transport=self.line, clock=self.cluster.clock)
        self.manager.add(self.controller)
        self.task = self.cluster.loop.create_task(self.manager.run())

    def _fault(self, request: HttpRequest) -> Fault | None:
        if self.cut:
            return Refuse()
        if is_write(request) and "/leases" not in request.path:
            self.writes.append(self.cluster.loop.time())
        return None

    @property
    def leads(self) -> bool:
        """Whether it runs passes."""
        return self.manager._working.is_set() and not self.task.done()


@contextmanager
def two(controller: Things | None = None) -> Iterator[tuple[Harness, Replica, Replica]]:
    """Return two replicas, the first of which leads."""
    with Harness() as cluster:
        assert not cluster.server.create(crd(Thing))
        replicas = [
            Replica(
                name,
                cluster,
                controller or Things(child),
                ManagerOptions(seed=number, leader_election=True, identity=name),
            )
            for number, name in enumerate(("one", "two"))
        ]
        with ended(cluster, replicas):
            cluster.advance(FIRST)
            yield cluster, replicas[0], replicas[1]


@contextmanager
def ended(cluster: Harness, replicas: list[Replica]) -> Iterator[None]:
    """Stop the replicas at the end of the block."""
    try:
        yield
    finally:
        for replica in replicas:
            replica.task.cancel()
        cluster.loop.run_until_complete(asyncio.wait([one.task for one in replicas]))
        for replica in replicas:
            if not replica.task.cancelled():
                replica.task.exception()


def holder(cluster: Harness) -> str:
    """Return the holder of the lease."""
    return str(cluster.require(kinds.LEASE, LEASE)["spec"]["holderIdentity"])


def apply(cluster: Harness, name: str) -> None:
    """Create an object; the harness itself runs no controller and does not know its kind."""
    path = "/apis/test.myrmidon.dev/v1/namespaces/default/things"
    answer = cluster.server.request("POST", path, thing(name).to_json())
    assert answer.status == 201


def test_one_leads_and_the_other_stands_by_with_warm_caches() -> None:
    """Q6: the standby has listed everything, is ready, and writes nothing."""
    with two() as (cluster, one, other):
        apply(cluster, "it")
        cluster.advance(MINUTE)

        assert holder(cluster) == "one"
        assert cluster.ready(Thing, "it")
        assert one.writes
        assert other.writes == []
        assert one.manager.checks()["leading"] is None
        assert other.manager.checks()["standby"] is None
        assert set(other.manager.checks().values()) == {None}
        assert len(other.manager.loops[0].view.list(kinds.CONFIG_MAP)) == 1


def test_leader_that_dies_is_replaced_within_a_lease() -> None:
    """The lease was not given back, so the other replica waits until it expires."""
    with two() as (cluster, one, other):
        one.line.die()
        died_at = cluster.loop.time()
        cluster.eventually(lambda: other.leads, MINUTE)
        assert cluster.loop.time() - died_at <= TERMS.lease_seconds + 2

        apply(cluster, "it")
        cluster.advance(timedelta(seconds=5))
        assert cluster.ready(Thing, "it")


def test_leader_that_is_cut_off_stops_before_another_may_begin() -> None:
    """Q6: it cannot renew, so it stops; its last write is before the first of the other replica."""
    with two() as (cluster, one, other):
        one.cut = True
        for number in range(40):
            apply(cluster, f"t{number}")
            cluster.advance(timedelta(seconds=1))
        cluster.advance(MINUTE)

        assert isinstance(one.task.exception(), LeadershipLostError)
        assert holder(cluster) == "two"
        assert other.writes
        assert all(cluster.ready(Thing, f"t{number}") for number in range(40))


def test_leader_whose_lease_runs_out_during_a_pass_writes_no_more() -> None:
    """Q6: a slow state finds the fence closed; nothing is sent, and the process ends."""

    async def slow(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        await asyncio.sleep(30)  # noqa: TID251 - virtual
        return child(it, out, _ctx)

    with two(Things(slow)) as (cluster, one, other):
        renewing = [True]
        inner_fault = one._fault

        def no_renewal(request: HttpRequest) -> Fault | None:
            if "/leases" in request.path and not renewing[0]:
                return Refuse()
            return inner_fault(request)

        one.line._faults = no_renewal
        apply(cluster, "it")
        cluster.advance(timedelta(seconds=1))
        renewing[0] = False
        cluster.advance(timedelta(minutes=2))

        assert one.writes == []
        assert isinstance(one.task.exception(), LeadershipLostError)
        assert other.writes


def test_process_that_was_paused_beyond_its_lease_writes_no_more() -> None:
    """Q6: it resumes in the middle of a pass, long after its lease, and the fence is closed.

    No task of the process runs during the pause, not even its elector, so the fence has to compare
    the time itself.
    """
    stops = [True]

    def stopped(it: Thing, out: OutputSet, ctx: Context) -> Result:
        if stops:
            stops.clear()
            cluster.loop.jump(20.0)
        return child(it, out, ctx)

    with two(Things(stopped)) as (cluster, one, other):
        apply(cluster, "it")
        cluster.advance(timedelta(minutes=2))

        assert one.writes == []
        assert isinstance(one.task.exception(), LeadershipLostError)
        assert other.writes
        assert cluster.ready(Thing, "it")


def test_leader_that_stops_gives_the_lease_back() -> None:
    """Q7: the pass under way finishes, no other begins, the other replica takes over at once."""
    began: list[str] = []

    async def slow(it: Thing, out: OutputSet, ctx: Context) -> Result:
        began.append(it.name)
        await asyncio.sleep(5)  # noqa: TID251 - virtual
        return child(it, out, ctx)

    with two(Things(slow, workers=1)) as (cluster, one, other):
        apply(cluster, "a")
        apply(cluster, "b")
        cluster.advance(timedelta(seconds=1))
        assert began == ["a"]
        stopped_at = cluster.loop.time()
        one.manager.stop()
        cluster.eventually(one.task.done, MINUTE)

        assert one.task.exception() is None
        assert len(one.writes) == 2, "the child and the status of the pass under way"
        assert began == ["a"]
        cluster.eventually(lambda: other.leads, MINUTE)
        assert cluster.loop.time() - stopped_at <= 5 + TERMS.retry_seconds
        cluster.advance(timedelta(minutes=1))
        assert max(one.writes) < min(other.writes)
        assert cluster.ready(Thing, "b")


def test_pass_that_does_not_end_is_cancelled_at_the_deadline() -> None:
    """Q7: the shutdown takes no longer than allowed, also if a state delays its cancellation."""

    async def stubborn(_it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)  # noqa: TID251 - virtual
        return Done()

    with two(Things(stubborn)) as (cluster, one, other):
        apply(cluster, "it")
        cluster.advance(timedelta(seconds=1))
        stopped_at = cluster.loop.time()
        one.manager.stop()
        cluster.eventually(one.task.done, MINUTE)

        assert cluster.loop.time() - stopped_at <= 15 + 2
        assert one.task.exception() is None
        cluster.eventually(lambda: other.leads, timedelta(seconds=3))


def test_lease_is_not_given_back_while_a_write_has_no_response() -> None:
    """Q6: a cancelled write may still take effect, so no other replica leads before its time."""
    with two() as (cluster, one, other):
        inner_fault = one._fault

        def hang(request: HttpRequest) -> Fault | None:
            is_child = is_write(request) and "/configmaps" in request.path
            return Hang() if is_child else inner_fault(request)

        one.line._faults = hang
        apply(cluster, "it")
        cluster.advance(timedelta(seconds=1))
        one.manager.stop()
        cluster.eventually(one.task.done, MINUTE)
        stopped_at = cluster.loop.time()

        assert one.task.exception() is None
        assert holder(cluster) == "one"
        cluster.eventually(lambda: other.leads, MINUTE)
        assert cluster.loop.time() - stopped_at >= TERMS.lease_seconds - TERMS.retry_seconds - 2


def test_lease_is_not_taken_again_by_the_replica_that_gave_it_back() -> None:
    """Q7: at any moment of stopping between two renewals."""
    for moment in range(0, 21, 4):
        with two() as (cluster, one, _other):
            cluster.advance(timedelta(seconds=moment / 10))
            one.manager.stop()
            cluster.eventually(one.task.done, MINUTE)
            assert holder(cluster) in ("", "two")
            cluster.advance(timedelta(seconds=3))
            assert holder(cluster) == "two"


LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{LEASE}"


def is_there(cluster: Harness) -> bool:
    """Whether the Lease exists."""
    return cluster.server.request("GET", LEASE_PATH).status == 200


def overlap(cluster: Harness, one: Replica, other: Replica, seconds: float) -> tuple[float, float]:
    """Let time pass in small steps; return how long both led, and how long neither did."""
    both = neither = 0.0
    for _ in range(int(seconds * 10)):
        cluster.advance(timedelta(seconds=0.1))
        electors = [each.manager._clients.elector for each in (one, other)]
        leading = [elector.leads for elector in electors if elector]
        both += 0.1 * all(leading)
        neither += 0.1 * (not any(leading))
    return both, neither


@pytest.mark.parametrize("times", [1, 2])
def test_lease_that_was_deleted_by_hand_never_makes_two_leaders(times: int) -> None:
    """Q6, Q11: the leader stops at its next renewal, and the other waits at least until then."""
    with two() as (cluster, one, other):
        for _ in range(times):
            cluster.eventually(lambda: is_there(cluster), MINUTE)
            assert cluster.server.request("DELETE", LEASE_PATH).status == 200
        both, neither = overlap(cluster, one, other, 30)

        assert both == 0.0
        assert neither <= TERMS.lease_seconds + 2 * TERMS.retry_seconds
        error = one.task.exception()
        assert isinstance(error, LeadershipLostError)
        assert "was deleted" in str(error)
        assert holder(cluster) == "two"
        apply(cluster, "it")
        cluster.advance(timedelta(seconds=5))
        assert cluster.ready(Thing, "it")


def edit_lease(cluster: Harness, **change: object) -> None:
    """Edit the Lease by hand."""
    found = cluster.require(kinds.LEASE, LEASE)
    spec = {**found["spec"], **change}
    assert cluster.server.request("PUT", LEASE_PATH, {**found, "spec": spec}).status == 200


def test_leader_stops_when_it_reads_that_another_holds_the_lease() -> None:
    """Q11: a person gave it to another replica; the leader's own lease has eight seconds left."""
    with two() as (cluster, one, other):
        edit_lease(cluster, holderIdentity="two")
        both, _ = overlap(cluster, one, other, 3)
        assert both == 0.0
        assert isinstance(one.task.exception(), LeadershipLostError)
        assert "is held by two" in str(one.task.exception())
        assert not other.leads
        both, neither = overlap(cluster, one, other, 30)
        assert both == 0.0
        assert neither <= TERMS.lease_seconds


@pytest.mark.parametrize("holder_identity", ["", "two"])
def test_an_edited_holder_does_not_shorten_the_wait(holder_identity: str) -> None:
    """Q6: whatever a person wrote into the Lease, a candidate waits for the old leader."""
    with two() as (cluster, one, other):
        one.cut = True  # it cannot read that it has lost the Lease
        edit_lease(cluster, holderIdentity=holder_identity)
        both, _ = overlap(cluster, one, other, 40)
        assert both == 0.0
        assert holder(cluster) == "two"


def test_label_on_the_lease_does_not_cost_the_leadership() -> None:
    """After a conflict the Lease is read again: it is still ours, and passes continue."""
    with two() as (cluster, one, _other):
        for number in range(10):
            found = cluster.require(kinds.LEASE, LEASE)
            found["metadata"]["labels"] = {"touched": str(number)}
            cluster.server.request("PUT", LEASE_PATH, found)
            apply(cluster, f"t{number}")
            cluster.advance(timedelta(seconds=1.7))
        cluster.advance(timedelta(seconds=5))
        assert not one.task.done()
        assert holder(cluster) == "one"
        assert all(cluster.ready(Thing, f"t{number}") for number in range(10))


def test_no_write_is_sent_while_the_holder_is_unknown() -> None:
    """After a conflict on the Lease nothing is written until it was read; then passes continue."""
    with two() as (cluster, one, _other):
        inner_fault = one._fault
        blocked: list[float] = []

        def no_reading(request: HttpRequest) -> Fault | None:
            if request.method == "GET" and "/leases/" in request.path and len(blocked) < 4:
                blocked.append(cluster.loop.time())
                return Refuse()
            return inner_fault(request)

        one.line._faults = no_reading
        edit_lease(cluster, renewTime=None)
        cluster.eventually(lambda: bool(blocked), MINUTE)
        before = len(one.writes)
        apply(cluster, "it")
        cluster.eventually(lambda: len(blocked) == 4, MINUTE)
        assert len(one.writes) == before
        cluster.advance(timedelta(seconds=20))
        assert not one.task.done()
        assert cluster.ready(Thing, "it")


def test_answers_to_renewals_that_are_lost_do_not_cost_the_leadership() -> None:
    """The renewal is confirmed by reading it back."""
    with two() as (cluster, one, _other):
        inner_fault = one._fault

        def lost(request: HttpRequest) -> Fault | None:
            return (
                Lose() if "/leases/" in request.path and is_write(request) else inner_fault(request)
            )

        one.line._faults = lost
        cluster.advance(MINUTE)
        assert not one.task.done()
        assert holder(cluster) == "one"
        assert one.leads


def test_lease_in_a_namespace_that_does_not_exist_is_retried_with_pauses() -> None:
    """Each attempt to create it is a 404, and is followed by a pause."""
    with Harness() as cluster:
        assert not cluster.server.create(crd(Thing))
        options = ManagerOptions(
            leader_election=True, identity="one", leader_election_namespace="missing"
        )
        one = Replica("one", cluster, Things(child), options)
        attempts: list[str] = []

        def count(request: HttpRequest) -> Fault | None:
            if "/leases" in request.path:
                attempts.append(request.method)
            return None

        one.line._faults = count
        with ended(cluster, [one]):
            cluster.advance(MINUTE)
            assert 10 <= len(attempts) <= 130
            assert not one.task.done()


def test_programs_that_choose_no_lease_do_not_share_one() -> None:
    """Each default name comes from the program's first controller, whatever its namespaces."""

    class Others(Things):
        name = "other"

    with Harness() as cluster:
        assert not cluster.server.create(crd(Thing))
        options = ManagerOptions(leader_election=True, identity="one")
        replicas = [
            Replica("one", cluster, controller, options)
            for controller in (Things(child), Others(child))
        ]
        with ended(cluster, replicas):
            cluster.advance(FIRST)
            names = {lease["metadata"]["name"] for lease in cluster.list(kinds.LEASE)}
            assert names == {LEASE, "myrmidon-other.test.myrmidon.dev"}
            assert all(each.leads for each in replicas)


@pytest.mark.parametrize("qps", [0.0, 1.0], ids=["free", "throttled"])
def test_rate_limit_does_not_cost_the_lease(qps: float) -> None:
    """Q6: a long queue behind the rate limit delays writes, but not the renewal."""
    with Harness() as cluster:
        assert not cluster.server.create(crd(Thing))
        options = ManagerOptions(
            seed=1, leader_election=True, identity="one", client_qps=qps, client_burst=1
        )
        one = Replica("one", cluster, Things(child), options)
        with ended(cluster, [one]):
            cluster.advance(timedelta(seconds=30))
            for number in range(20):
                apply(cluster, f"t{number}")
            cluster.advance(timedelta(minutes=2))
            assert not one.task.done()
            assert holder(cluster) == "one"
