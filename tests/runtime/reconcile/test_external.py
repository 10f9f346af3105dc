"""Resources outside the cluster are created once, updated and removed, whatever is lost."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon import (
    Context,
    Done,
    ExternalRefusedError,
    Failed,
    ManagerOptions,
    Result,
    Wait,
    kinds,
    state,
)
from myrmidon.api.objects.accessors import Json, finalizers_of
from myrmidon.api.requests.request import Patch
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.sets import OutputSet
from myrmidon.testing import (
    Crash,
    Delay,
    ExternalStandIn,
    Fault,
    Hang,
    Harness,
    Lose,
    Refuse,
    Script,
    Status,
    is_write,
)
from myrmidon.testing.faults.external_stand_in import StandInResource
from myrmidon.testing.harness.cluster import Cluster
from tests.runtime.claims import ByTag, ByToken, Claim, Claims, claim

LIFE: dict[str, Callable[[Cluster], object]] = {
    "create": lambda cluster: cluster.apply(claim()),
    "resize": lambda cluster: cluster.patch(Claim, "it", {"spec": {"size": 2}}),
    "delete": lambda cluster: cluster.delete(Claim, "it"),
}
SIZES: dict[str, list[int]] = {"create": [1], "resize": [2], "delete": []}
LATE = timedelta(seconds=20)


def stand_in(store: type[ByToken], **options: Any) -> ExternalStandIn:
    """Build a system with tokens, or one without them and with late reads, as the store expects."""
    if store is ByTag:
        options |= {"honours_tokens": False, "visible_after": LATE}
    return ExternalStandIn(**options)


def live(cluster: Harness, system: ExternalStandIn) -> int:
    """Run the whole life, with a new process after each crash; return the number of crashes."""
    crashes = 0
    for name, step in LIFE.items():
        step(cluster)
        cluster.settle()
        while cluster.crashed:
            crashes += 1
            cluster.restart()
            cluster.settle()
        assert [one["size"] for one in system.resources.values()] == SIZES[name], name
        assert (cluster.get(Claim, "it") is None) == (name == "delete")
    assert len(system.ever) == 1, "it was created twice"
    return crashes


def calm(store: type[ByToken]) -> tuple[int, int]:
    """Return the number of writes to the API server and of external calls without faults."""
    system = stand_in(store)
    with Harness(Claims(store(system))) as cluster:
        assert live(cluster, system) == 0
        return len(cluster.writes), len(system.calls)


WRITES = {ByToken: 7, ByTag: 9}
CALLS = {ByToken: 10, ByTag: 17}
STORES = pytest.mark.parametrize("store", [ByToken, ByTag])


@STORES
def test_the_sweeps_cover_every_request_of_a_life_without_faults(store: type[ByToken]) -> None:
    """A smaller number would leave requests untested."""
    assert calm(store) == (WRITES[store], CALLS[store])


@pytest.mark.law("X2")
@pytest.mark.parametrize("fault", [Crash(), Crash(acted=True), Lose(), Refuse()], ids=repr)
@pytest.mark.parametrize(
    ("store", "at"), [(store, at) for store, last in WRITES.items() for at in range(1, last + 1)]
)
def test_any_write_to_the_api_server_fails(store: type[ByToken], at: int, fault: Fault) -> None:
    """The process dies or the response is lost, before or after the effect: still one resource."""
    system = stand_in(store)
    with Harness(Claims(store(system)), faults=Script({at: fault}, is_write)) as cluster:
        assert live(cluster, system) == isinstance(fault, Crash)


@pytest.mark.law("X2")
@pytest.mark.parametrize(
    "fault", [Crash(), Crash(acted=True), Lose(), Refuse(), Hang(), Status(503)], ids=repr
)
@pytest.mark.parametrize(
    ("store", "at"), [(store, at) for store, last in CALLS.items() for at in range(1, last + 1)]
)
def test_any_call_of_the_external_system_fails(store: type[ByToken], at: int, fault: Fault) -> None:
    """The same for every create, read, update and delete."""
    system = stand_in(store, faults=Script({at: fault}))
    with Harness(Claims(store(system))) as cluster:
        system.crash = cluster.crash
        assert live(cluster, system) == isinstance(fault, Crash)


FAULTS = st.sampled_from([Crash(), Crash(acted=True), Lose(), Refuse(), Hang(), Status(503)])
PLANS = st.dictionaries(st.integers(1, 25), FAULTS, max_size=8)


@pytest.mark.law("X2")
@settings(max_examples=40)
@given(store=st.sampled_from([ByToken, ByTag]), writes=PLANS, calls=PLANS)
def test_many_faults_in_one_life(
    store: type[ByToken], writes: dict[int, Fault], calls: dict[int, Fault]
) -> None:
    """Several faults of both systems in any combination: never two resources, none left."""
    system = stand_in(store, faults=Script(calls))
    with Harness(Claims(store(system)), faults=Script(writes, is_write)) as cluster:
        system.crash = cluster.crash
        live(cluster, system)


@pytest.mark.law("X2")
@STORES
def test_the_claim_is_deleted_before_its_resource_is_known(store: type[ByToken]) -> None:
    """The create got no response; the finalizer stays until the resource is found and deleted."""
    system = stand_in(store, faults=Script({1: Lose()}, is_write))
    with Harness(Claims(store(system))) as cluster:
        cluster.apply(claim())
        cluster.step()
        assert len(system.resources) == 1
        assert cluster.require(Claim, "it").status.externals["store"]["state"] == "Pending"

        cluster.delete(Claim, "it")
        cluster.step()
        assert cluster.get(Claim, "it") is None or finalizers_of(cluster.require(Claim, "it").raw)
        cluster.settle()
        assert cluster.get(Claim, "it") is None
        assert system.resources == {}


@pytest.mark.law("X2")
def test_a_finalizer_state_that_forgets_the_resource_does_not_release_the_claim() -> None:
    """The ledger keeps the finalizer, and the condition names the resource."""
    system = stand_in(ByToken)
    with Harness(Claims(ByToken(system), removes=False)) as cluster:
        cluster.apply(claim())
        cluster.settle()
        cluster.delete(Claim, "it")
        cluster.settle()

        ready = cluster.condition(Claim, "it", "Ready")
        assert ready is not None
        assert ready.reason == "ExternalNotRemoved"
        assert "store (ext-1)" in ready.message
        assert "myrmidon release claims.test.myrmidon.dev it" in ready.message


def test_it_is_created_again_if_another_party_deletes_it() -> None:
    """With another token, and an Event; not within the grace period."""
    system = stand_in(ByTag)
    with Harness(Claims(ByTag(system))) as cluster:
        cluster.apply(claim())
        cluster.settle()
        cluster.advance(timedelta(minutes=1))
        system.ever[0].deleted = True
        cluster.patch(Claim, "it", {"spec": {"size": 3}})
        cluster.settle()

        assert system.resources == {"ext-2": {"size": 3}}
        assert system.ever[0].token != system.ever[1].token
        assert cluster.require(Claim, "it").status.externals["store"]["sequence"] == 2
        events = [one["reason"] for one in cluster.list(kinds.EVENT)]
        assert "ExternalGone" in events


def test_it_is_not_created_again_if_it_holds_data() -> None:
    """``recreate = False``: the state fails, and is tried again only when the object changes."""

    class Data(ByToken):
        recreate = False

    system = stand_in(ByToken)
    with Harness(Claims(Data(system))) as cluster:
        cluster.apply(claim())
        cluster.settle()
        system.ever[0].deleted = True
        cluster.patch(Claim, "it", {"spec": {"size": 3}})
        cluster.settle()

        assert system.resources == {}
        condition = cluster.condition(Claim, "it", "Stored")
        assert condition is not None
        assert condition.reason == "ExternalGone"
        cluster.delete(Claim, "it")
        cluster.settle()
        assert cluster.get(Claim, "it") is None


# ------------------------------------------------------------------------------ refusals


def refusing(**how: Any) -> Callable[[HttpRequest], None]:
    """Refuse creates until ``refusals`` is empty."""
    refusals = [1, 2]

    def fault(request: HttpRequest) -> None:
        if request.method == "POST" and refusals:
            refusals.pop()
            raise ExternalRefusedError("QuotaExceeded", "two databases at most", **how)

    return fault


@STORES
def test_a_terminal_refusal_is_tried_again_when_the_object_changes(store: type[ByToken]) -> None:
    """Not before; the object can be deleted, because no resource exists."""
    system = stand_in(store, faults=refusing())
    with Harness(Claims(store(system))) as cluster:
        cluster.apply(claim())
        cluster.settle()
        condition = cluster.condition(Claim, "it", "Stored")
        assert condition is not None
        assert (condition.reason, condition.message) == ("QuotaExceeded", "two databases at most")
        assert cluster.require(Claim, "it").status.externals["store"]["state"] == "Removed"
        assert cluster.writes_during(timedelta(hours=1)) == []

        cluster.delete(Claim, "it")
        cluster.settle()
        assert cluster.get(Claim, "it") is None


@pytest.mark.parametrize("how", [{"retry": True}, {"after": timedelta(seconds=7)}], ids=str)
@STORES
def test_a_temporary_refusal_is_retried(store: type[ByToken], how: Json) -> None:
    """With backoff, or after the time that the system asks for."""
    system = stand_in(store, faults=refusing(**how))
    with Harness(Claims(store(system))) as cluster:
        cluster.apply(claim())
        cluster.settle()
        assert cluster.ready(Claim, "it")
        assert len(system.ever) == 1


def test_a_create_that_returns_no_id_is_an_error() -> None:
    """It is a mistake of the author; the create took effect, so the entry stays Pending."""

    class Nameless(ByToken):
        async def create(self, claim: Claim, token: str) -> str:
            await super().create(claim, token)
            return ""

    system = stand_in(ByToken)
    with Harness(Claims(Nameless(system))) as cluster:
        cluster.apply(claim())
        cluster.settle()
        condition = cluster.condition(Claim, "it", "Stored")
        assert condition is not None
        assert "fix: return the id" in condition.message
        assert cluster.require(Claim, "it").status.externals["store"]["state"] == "Pending"


# ---------------------------------------------------------------------------- the ledger


@pytest.mark.law("X1")
def test_a_create_is_not_sent_after_a_slow_ledger_write() -> None:
    """It would take effect later than other processes expect for the entry's time."""
    system = stand_in(ByTag)

    def is_ledger(request: HttpRequest) -> bool:
        return is_write(request) and b'"externals"' in request.body

    slow = Script({1: Delay(40)}, is_ledger)
    with Harness(Claims(ByTag(system)), faults=slow) as cluster:
        cluster.apply(claim())
        cluster.advance(timedelta(seconds=45))
        assert cluster.require(Claim, "it").status.externals["store"]["state"] == "Pending"
        assert not any(call.startswith("POST") for call in system.calls)
        cluster.settle()
        assert len(system.ever) == 1


@pytest.mark.law("X1")
def test_a_server_that_drops_the_ledger_stops_the_create() -> None:
    """A server with an older CRD does so: without the entry, the resource could be lost."""
    system = stand_in(ByToken)
    with Harness(Claims(ByToken(system))) as cluster:
        name = "claims.test.myrmidon.dev"
        definition = cluster.require(kinds.CUSTOM_RESOURCE_DEFINITION, name)
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        del schema["properties"]["status"]["properties"]["externals"]
        versions = definition["spec"]["versions"]
        cluster.patch(kinds.CUSTOM_RESOURCE_DEFINITION, name, {"spec": {"versions": versions}})
        cluster.apply(claim())
        cluster.advance(timedelta(minutes=1))

        condition = cluster.condition(Claim, "it", "Stored")
        assert condition is not None
        assert condition.reason == "LedgerNotStored"
        assert system.calls == []


def test_a_state_cannot_overwrite_the_ledger() -> None:
    """The framework owns it: what a state assigns to ``status.externals`` is not written."""

    class Careless(Claims):
        async def stored(self, claim: Claim, out: OutputSet, ctx: Context) -> Result:
            result = await super().stored(claim, out, ctx)
            claim.status.externals = {}
            return result

    system = stand_in(ByToken)
    with Harness(Careless(ByToken(system))) as cluster:
        cluster.apply(claim())
        cluster.settle()
        cluster.patch(Claim, "it", {"spec": {"size": 2}})
        cluster.settle()
        assert cluster.require(Claim, "it").status.externals["store"]["id"] == "ext-1"
        assert sum(call.startswith("POST") for call in system.calls) == 1


@pytest.mark.law("X1")
def test_an_entry_that_another_process_wrote_is_not_overwritten() -> None:
    """The pass stops, and the next one decides on the new entry."""
    system = stand_in(ByToken)
    entry = {"state": "Created", "sequence": 1, "token": "theirs", "id": "ext-9"}
    system.ever.append(StandInResource("ext-9", "theirs", {"size": 1}, visible_at=0))
    done: list[str] = []

    def meddle(request: HttpRequest) -> None:
        if request.path.endswith("/status") and not done:
            done.append(request.path)
            change = {"status": {"externals": {"store": entry}}}
            merge = Patch.MERGE.value
            answer = cluster.server.request("PATCH", request.path, change, content_type=merge)
            assert answer.status == 200

    with Harness(Claims(ByToken(system)), faults=meddle) as cluster:
        cluster.apply(claim())
        cluster.settle()
        assert done
        assert list(system.resources) == ["ext-9"]
        assert cluster.require(Claim, "it").status.externals["store"]["id"] == "ext-9"


def test_a_converged_pass_writes_nothing() -> None:
    """It reads the resource once."""
    system = stand_in(ByToken)
    with Harness(Claims(ByToken(system))) as cluster:
        cluster.apply(claim())
        cluster.settle()
        cluster.at_rest()
        system.calls.clear()
        cluster.restart()
        cluster.settle()
        assert system.calls == ["GET /ext-1"]


@STORES
def test_a_plan_only_reads(store: type[ByToken]) -> None:
    """Neither create, update nor delete is called, and the ledger is not written."""
    system = stand_in(store)
    options = ManagerOptions(seed=0, planning=True)
    with Harness(Claims(store(system)), options=options) as cluster:
        cluster.apply(claim())
        cluster.step()
        condition = cluster.condition(Claim, "it", "Stored")
        assert condition is not None
        assert (condition.reason, condition.message) == ("Planned", "store: it would be created")
        assert cluster.require(Claim, "it").status.externals == {}
        assert not any(call.startswith(("POST", "PATCH", "DELETE")) for call in system.calls)


# --------------------------------------------------------------------------- late values


class Zoned(ByToken):
    """An External whose system chooses the zone."""

    async def create(self, claim: Claim, token: str) -> str:
        """Make it in the zone of the claim, or in one of its own choice."""
        zone = claim.spec.zone or "z1"
        return await self.system.create({"size": claim.spec.size, "zone": zone}, token)

    def late_init(self, claim: Claim, observed: Json) -> Json:
        """Return the zone, and the size, which is always set."""
        return {"zone": observed["zone"], "size": 99}


def test_values_that_the_system_chose_are_written_to_unset_fields() -> None:
    """Once; the next pass has seen the new generation."""
    system = stand_in(ByToken)
    with Harness(Claims(Zoned(system))) as cluster:
        cluster.apply(claim())
        cluster.settle()
        seen = cluster.require(Claim, "it")
        assert (seen.spec.zone, seen.spec.size) == ("z1", 1)
        assert seen.raw["metadata"]["generation"] == 2
        assert seen.status.observed_generation == 2
        assert cluster.ready(Claim, "it")
        cluster.at_rest()

        cluster.patch(Claim, "it", {"spec": {"zone": None}})
        cluster.settle()
        seen = cluster.require(Claim, "it")
        assert seen.spec.zone == "z1"
        assert seen.status.observed_generation == seen.raw["metadata"]["generation"] == 4


def test_a_field_that_is_set_is_never_changed() -> None:
    """This holds also if the external system reports another value."""
    system = stand_in(ByToken)
    with Harness(Claims(Zoned(system))) as cluster:
        cluster.apply(claim(zone="z7"))
        cluster.settle()
        system.ever[0].body["zone"] = "z1"
        cluster.patch(Claim, "it", {"spec": {"size": 2}})
        cluster.settle()
        assert cluster.require(Claim, "it").spec.zone == "z7"


@pytest.mark.parametrize("fault", [Lose(), Refuse(), Status(409, "Conflict")], ids=repr)
def test_the_late_write_fails(fault: Fault) -> None:
    """It is retried; a conflict means that the object was read too early."""

    def is_late(request: HttpRequest) -> bool:
        return is_write(request) and b'"zone"' in request.body

    system = stand_in(ByToken)
    with Harness(Claims(Zoned(system)), faults=Script({1: fault}, is_late)) as cluster:
        cluster.apply(claim())
        cluster.settle()
        assert cluster.require(Claim, "it").spec.zone == "z1"
        assert cluster.ready(Claim, "it")


# ---------------------------------------------------------------------------- mistakes


def test_a_class_that_is_not_declared_is_refused() -> None:
    """The error is like that for an undeclared kind."""

    class Undeclared(Claims):
        externals: ClassVar[tuple[type[ByToken], ...]] = ()

    with Harness(Undeclared(ByToken(stand_in(ByToken)))) as cluster:
        cluster.apply(claim())
        cluster.settle()
        condition = cluster.condition(Claim, "it", "Stored")
        assert condition is not None
        assert condition.reason == "UndeclaredExternal"
        assert condition.message == (
            "Undeclared.stored used ByToken, which Undeclared.externals does not list.\n"
            "  fix: add the class to externals"
        )


def test_ensure_in_a_finalizer_state_is_refused() -> None:
    """Nothing may be created for an object that is being deleted."""

    class Confused(Claims):
        @state(finalizer=True, condition="Removed")
        async def removed(self, claim: Claim, out: OutputSet, ctx: Context) -> Result:
            found = await ctx.ensure(self.store)
            return found if isinstance(found, Wait | Failed) else Done()

    with Harness(Confused(ByToken(stand_in(ByToken)))) as cluster:
        cluster.apply(claim())
        cluster.settle()
        cluster.delete(Claim, "it")
        cluster.settle()
        condition = cluster.condition(Claim, "it", "Removed")
        assert condition is not None
        assert "fix: call ctx.remove" in condition.message
