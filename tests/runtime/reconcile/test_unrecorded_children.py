"""A13: pruning and deletion see children that no status records, whatever interrupted the pass."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson
import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, controller_of, labels_of
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.fsm import (
    Controller,
    ControllerOptions,
    Done,
    Result,
    delete_children_foreground,
    state,
)
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Crash, Fault, Harness, Lose, Script, Stall, Status, is_watch, is_write
from tests.runtime.things import Thing, Things, config_map, thing
from tests.runtime.webapps import cluster_role

PATH = "/apis/test.myrmidon.dev/v1/namespaces/default/things/it"
KINDS = (kinds.CONFIG_MAP, kinds.SECRET, kinds.CLUSTER_ROLE)
MANY, FEW = "abc", "a"
WRITES = 12
"""Writes until a Thing with MANY children is Ready; the first test holds it to that."""

FAULTS: dict[str, Fault] = {
    "killed before": Crash(),
    "killed after": Crash(acted=True),
    "unavailable": Status(503),
    "conflict": Status(409, "Conflict"),
    "answer lost": Lose(),
}


def owned(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one ConfigMap and one Secret per letter, with owner references."""
    for letter in it.spec.value:
        out.apply(config_map(letter, it.spec.value))
        out.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": letter}})
    return Done()


def tracked(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one ClusterRole per letter, which cannot have an owner reference."""
    for letter in it.spec.value:
        out.apply(cluster_role(letter), owner_refs=False)
    return Done()


def children(cluster: Harness) -> list[str]:
    """Return every object on the server that names the Thing as its parent."""
    uid = next((obj["metadata"]["uid"] for obj in cluster.stored() if obj["kind"] == "Thing"), None)
    found = [obj for obj in cluster.stored() if obj["kind"] in {kind.kind for kind in KINDS}]
    return sorted(f"{obj['kind']} {obj['metadata']['name']}" for obj in found if _is_of(obj, uid))


def _is_of(obj: Json, uid: str | None) -> bool:
    owner = controller_of(obj)
    return uid == (owner["uid"] if owner else labels_of(obj).get("myrmidon.dev/parent-uid"))


def wanted(letters: str) -> list[str]:
    """Return the children that a spec asks for."""
    return sorted(f"{kind.kind} {letter}" for kind in KINDS for letter in letters)


class Honest:
    """Checks every status with Ready=True when it is sent, then passes the request on."""

    def __init__(self, inner: Callable[[HttpRequest], Fault | None]) -> None:
        self._inner = inner
        self.cluster: Any = None
        self.claims = 0

    def __call__(self, request: HttpRequest) -> Fault | None:
        """Check the request; return its fault."""
        body: Any = orjson.loads(request.body) if request.body.startswith(b"{") else {}
        for one in (body.get("status") or {}).get("conditions") or ():
            if one["type"] == "Ready" and one["status"] == "True":
                self._check(one["observedGeneration"])
        return self._inner(request)

    def _check(self, generation: int) -> None:
        letters = MANY if generation == 1 else FEW
        assert children(self.cluster) == wanted(letters), f"Ready=True for generation {generation}"
        self.claims += 1


def live(faults: Callable[[HttpRequest], Fault | None], step: Callable[[Harness], Any]) -> Harness:
    """Apply a Thing with many children, disturb it, ask for fewer, and settle."""
    honest = Honest(faults)
    with Harness(Things(owned, tracked, prune=True), faults=honest) as cluster:
        honest.cluster = cluster
        cluster.apply(thing(value=MANY))
        step(cluster)
        cluster.patch(Thing, "it", {"spec": {"value": FEW}})
        for _ in range(2):
            cluster.settle()
            if cluster.crashed:
                cluster.restart()
        cluster.settle()
        assert children(cluster) == wanted(FEW)
        assert cluster.ready(Thing, "it")
        recorded = cluster.require(Thing, "it").raw["status"]["resourceRefs"]
        assert sorted(f"{ref['kind']} {ref['name']}" for ref in recorded) == wanted(FEW)
        assert honest.claims
        assert cluster.writes_during(timedelta(minutes=10)) == []
    return cluster


def test_undisturbed() -> None:
    """The sweep covers every write until Ready."""
    first: list[int] = []

    def settle(cluster: Harness) -> None:
        cluster.settle()
        first.append(len(cluster.writes))

    live(lambda _request: None, settle)
    assert first[0] == WRITES


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_a_smaller_spec_after_a_fault_leaves_nothing(at: int, fault: Fault) -> None:
    """After a fault at any write, surplus children are deleted before Ready is True."""

    def disturbed(cluster: Harness) -> None:
        cluster.step()
        if cluster.crashed:
            cluster.restart()

    live(Script({at: fault}, is_write), disturbed)


@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_a_smaller_spec_during_the_pass_leaves_nothing(at: int) -> None:
    """An edit between two writes of one pass: the children created until then are not forgotten."""
    cluster: list[Harness] = []
    writes = [0]

    def edit(request: HttpRequest) -> None:
        writes[0] += is_write(request)
        if is_write(request) and writes[0] == at:
            answer = cluster[0].server.request(
                "PATCH",
                PATH,
                {"spec": {"value": FEW}},
                content_type="application/merge-patch+json",
            )
            assert answer.status == 200

    def settled(running: Harness) -> None:
        cluster.append(running)
        running.settle()

    live(edit, settled)


def first_create_lost() -> Callable[[HttpRequest], Fault | None]:
    """Return faults that lose the answer to the first create of a ConfigMap, and show none by a watch."""
    creates = [0]

    def faults(request: HttpRequest) -> Fault | None:
        if "/configmaps" not in request.path:
            return None
        if is_watch(request):
            return Stall(lines=1)  # the end of the first list
        creates[0] += request.method == "POST"
        return Lose() if request.method == "POST" and creates[0] == 1 else None

    return faults


def test_a_create_whose_response_is_lost_is_looked_up_before_ready_is_true() -> None:
    """No watch reports the child, no record names it, and the next pass does not want it."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if it.spec.value == "a":
            out.apply(config_map("late"))
        return Done()

    with Harness(Things(act, prune=True), faults=first_create_lost()) as cluster:
        cluster.apply(thing())
        cluster.step()
        cluster.patch(Thing, "it", {"spec": {"value": "none"}})
        cluster.advance(timedelta(minutes=1))
        assert cluster.ready(Thing, "it")
        assert cluster.get(kinds.CONFIG_MAP, "late") is None


def foreign_child(cluster: Harness, name: str) -> Json:
    """A ConfigMap that another controller made for the Thing, with a controller reference to it."""
    it = cluster.require(Thing, "it").raw
    owner = {
        "apiVersion": it["apiVersion"],
        "kind": it["kind"],
        "name": "it",
        "uid": it["metadata"]["uid"],
        "controller": True,
    }
    return cluster.apply(config_map(name, ownerReferences=[owner]))


def test_a_child_that_another_controller_made_for_the_object_is_not_pruned() -> None:
    """A controller of a foreign kind shares its objects with that kind's own controller."""
    with Harness(Things(owned, prune=True)) as cluster:
        cluster.apply(thing(value=FEW))
        cluster.settle()
        foreign_child(cluster, "theirs")
        cluster.settle()
        cluster.at_rest()
        assert cluster.get(kinds.CONFIG_MAP, "theirs") is not None
        cluster.restart()
        cluster.settle()
        assert cluster.get(kinds.CONFIG_MAP, "theirs") is not None
        recorded = cluster.require(Thing, "it").raw["status"]["resourceRefs"]
        assert "theirs" not in [ref["name"] for ref in recorded]


def test_an_unrecorded_child_counts_for_the_guard() -> None:
    """A12: never more deletions at once than prune_max, recorded or not."""
    faults = Script({7: Crash()}, is_write)  # six children exist, the status is not written
    with Harness(Things(owned, prune=True, prune_max=3), faults=faults) as cluster:
        cluster.apply(thing(value=MANY))
        cluster.settle()
        assert len(children(cluster)) == 6
        cluster.patch(Thing, "it", {"spec": {"value": FEW}})
        cluster.restart()
        cluster.advance(timedelta(seconds=5))
        assert len(children(cluster)) == 6
        ready = cluster.condition(Thing, "it")
        assert ready is not None
        assert ready.reason == "PruneRefused"


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("at", range(2, 9))
def test_children_deleted_in_the_foreground_though_no_status_records_them(
    at: int, fault: Fault
) -> None:
    """A finalizer state that deletes all children misses none."""
    left: list[str] = []

    class Emptied(Controller[Thing]):
        """Deletes its children before it goes."""

        manages = (kinds.CONFIG_MAP, kinds.SECRET)
        options = ControllerOptions()
        emptied = delete_children_foreground(finalizer=True, then="checked")

        @state(initial=True)
        def made(self, it: Thing, out: OutputSet, ctx: Context) -> Result:
            """Children."""
            return owned(it, out, ctx)

        @state()
        def checked(self, _it: Thing, _out: OutputSet) -> Result:
            """Nothing is left."""
            left.extend(children(cluster))
            return Done()

    with Harness(Emptied(), faults=Script({at: fault}, is_write)) as cluster:
        cluster.apply(thing(value=MANY))
        cluster.step()
        cluster.delete(Thing, "it")
        if cluster.crashed:
            cluster.restart()
        cluster.settle()
        if cluster.crashed:
            cluster.restart()
            cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert left == []
        assert children(cluster) == []


class Looking:
    """A state that creates the ConfigMap ``late`` or, once the spec says ``none``, looks at the children."""

    def __init__(self) -> None:
        self.seen: list[list[str]] = []

    async def __call__(self, it: Thing, out: OutputSet, ctx: Context) -> Result:
        """Apply or look."""
        if it.spec.value == "none":
            self.seen.append(sorted(ref.name for ref in await ctx.children()))
        else:
            out.apply(config_map("late"))
        return Done()


def recorded_in(cluster: Harness) -> list[str]:
    """Return the names in ``status.resourceRefs``."""
    refs = cluster.require(Thing, "it").raw["status"].get("resourceRefs") or []
    return [ref["name"] for ref in refs]


def test_a13_a_state_sees_a_child_whose_create_got_no_answer() -> None:
    """No watch event shows the child, no status records it, and the next pass does not apply it."""
    look = Looking()
    with Harness(Things(look), faults=first_create_lost()) as cluster:
        cluster.apply(thing())
        cluster.step()
        cluster.patch(Thing, "it", {"spec": {"value": "none"}})
        cluster.advance(timedelta(minutes=1))
        assert look.seen[0] == ["late"]
        assert recorded_in(cluster) == ["late"]


def test_a13_a_state_sees_a_child_that_a_killed_process_created() -> None:
    """The next process knows only the owner reference; what it found is recorded with one write."""
    look = Looking()
    faults = Script({1: Crash(acted=True)}, lambda request: request.method == "POST")
    with Harness(Things(look), faults=faults) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "none"}})
        cluster.restart()
        cluster.settle()
        assert look.seen[0] == ["late"]
        assert recorded_in(cluster) == ["late"]
        cluster.at_rest()


def test_a_state_does_not_see_a_child_that_another_controller_made() -> None:
    """It is read once to find out who made it, and not again in later passes."""
    look = Looking()
    with Harness(Things(look)) as cluster:
        cluster.apply(thing(value="none"))
        cluster.settle()
        foreign_child(cluster, "theirs")
        cluster.settle()
        assert look.seen[-1] == []
        before = len(cluster.transport.log)
        cluster.patch(Thing, "it", {"spec": {"size": 2}})
        cluster.settle()
        assert look.seen[-1] == []
        assert [one for one in cluster.transport.log[before:] if one.request.method == "GET"] == []
        assert recorded_in(cluster) == []


def test_a_child_that_one_state_finds_and_another_applies_is_not_pruned() -> None:
    """Found before it was applied: it is a wanted child at the end of the pass."""
    look = Looking()
    faults = Script({1: Crash(acted=True)}, lambda request: request.method == "POST")

    def apply_late(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if it.spec.value == "none":
            out.apply(config_map("late"))
        return Done()

    with Harness(Things(look, apply_late, prune=True), faults=faults) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "none"}})
        cluster.restart()
        cluster.settle()
        assert look.seen[0] == ["late"]
        assert cluster.get(kinds.CONFIG_MAP, "late") is not None
        assert recorded_in(cluster) == ["late"]
        assert [str(one) for one in cluster.writes if "DELETE" in str(one)] == []
