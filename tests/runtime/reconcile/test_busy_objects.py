"""C11, W4: another client writes to the object between each of our reads and writes."""

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, Stall, is_watch
from tests.runtime.things import FinalThings, Thing, Things, config_map, thing
from tests.runtime.webapps import cluster_role

PATH = "/apis/test.myrmidon.dev/v1/namespaces/default/things/it"
OURS = "test.myrmidon.dev/thing"
MINUTE = timedelta(minutes=1)

Meddle = Callable[["Party"], None]


class Party:
    """Another client, which acts before our writes to the object, as often as it is told to."""

    def __init__(self, *acts: Meddle, times: int = 60) -> None:
        self._acts, self._left = acts, times
        self.numbers = count(2)
        self.cluster: Any = None
        self.meddled = 0

    def __call__(self, request: HttpRequest) -> None:
        """Act, if the request is a write to the object or to its status."""
        if request.method == "GET" or not request.path.startswith(PATH) or not self._left:
            return
        self._left -= 1
        self.meddled += 1
        self._acts[self.meddled % len(self._acts)](self)

    def read(self) -> Json:
        """Return the object as it is now."""
        found: Json = orjson.loads(self.cluster.server.request("GET", PATH).body)
        return found

    def patch(self, body: Any, subresource: str = "", how: str = "merge") -> None:
        """Write to the object."""
        answer = self.cluster.server.request(
            "PATCH", f"{PATH}{subresource}", body, content_type=f"application/{how}-patch+json"
        )
        assert answer.status == 200, answer.body


def annotate(party: Party) -> None:
    """Change an annotation, as a heartbeat does."""
    party.patch({"metadata": {"annotations": {"beat": str(next(party.numbers))}}})


def edit(party: Party) -> None:
    """Change the spec."""
    party.patch({"spec": {"size": next(party.numbers)}})


def report(party: Party) -> None:
    """Change the message of its own condition."""
    known = (party.read().get("status") or {}).get("conditions") or []
    own = {"type": "Scanned", "status": "True", "message": str(next(party.numbers))}
    kept = [one for one in known if one["type"] != "Scanned"]
    place = next((at for at, one in enumerate(known) if one["type"] == "Scanned"), len(kept))
    kept.insert(place, own)
    party.patch({"status": {"conditions": kept}}, "/status")


def crowd_in(party: Party) -> None:
    """Insert a condition before all others."""
    known = (party.read().get("status") or {}).get("conditions") or []
    own = {"type": f"Front{next(party.numbers)}", "status": "True"}
    party.patch({"status": {"conditions": [own, *known]}}, "/status")


def hold(party: Party) -> None:
    """Insert a finalizer of its own before all others."""
    obj = party.read()
    if obj["metadata"].get("deletionTimestamp"):
        annotate(party)
        return
    there = obj["metadata"].get("finalizers") or []
    party.patch({"metadata": {"finalizers": [f"other.dev/{next(party.numbers)}", *there]}})


def let_go(party: Party) -> None:
    """Remove one of its finalizers."""
    there = party.read()["metadata"].get("finalizers") or []
    theirs = [one for one in there if one != OURS][1:]
    party.patch({"metadata": {"finalizers": [*theirs, *(one for one in there if one == OURS)]}})


def conditions(obj: Json) -> dict[str, Json]:
    """Return the conditions by type."""
    return {one["type"]: one for one in (obj.get("status") or {}).get("conditions") or ()}


def tracked(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply a child that must be recorded, and whose parent needs a finalizer, before it exists."""
    out.apply(cluster_role("wide"), owner_refs=False)
    it.status.note = "noted"
    return Done()


@pytest.mark.parametrize("act", [annotate, edit, report])
def test_the_status_is_written_in_the_first_pass(act: Meddle) -> None:
    """C11: whatever the number of its writes; C6: its conditions survive."""
    party = Party(act)
    with Harness(Things(), faults=party) as cluster:
        party.cluster = cluster
        cluster.apply(thing())
        cluster.step()
        obj = cluster.require(Thing, "it").raw
        assert conditions(obj)["Ready"]["status"] == "True"
        assert act is not report or "Scanned" in conditions(obj)
        sent = [one.status for one in cluster.writes if one.path.endswith("/status")]
        assert sent[:2] == [409, 200]
        assert obj["metadata"]["generation"] >= conditions(obj)["Ready"]["observedGeneration"]


@pytest.mark.parametrize("act", [annotate, edit, report, hold])
def test_tracked_children_are_recorded_and_deleted(act: Meddle) -> None:
    """C11: finalizer, record, status and release work while the object keeps changing."""
    party = Party(act)
    with Harness(Things(tracked), faults=party) as cluster:
        party.cluster = cluster
        cluster.apply(thing())
        cluster.step()
        assert cluster.get(kinds.CLUSTER_ROLE, "wide") is not None
        obj = cluster.require(Thing, "it").raw
        assert OURS in obj["metadata"]["finalizers"]
        assert [ref["name"] for ref in obj["status"]["resourceRefs"]] == ["wide"]
        assert conditions(obj)["Ready"]["status"] == "True"
        assert obj["status"]["note"] == "noted"

        cluster.delete(Thing, "it")
        cluster.advance(MINUTE)
        assert cluster.get(kinds.CLUSTER_ROLE, "wide") is None
        left = cluster.get(Thing, "it")
        assert left is None or OURS not in left.finalizers


def test_a_pass_never_claims_a_generation_that_it_did_not_read() -> None:
    """C1, C4: the spec changes before the status write.

    The status is for the spec that was read.
    """
    party = Party(edit, times=1)
    seen: list[int] = []

    def look(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        seen.append(it.generation)
        out.apply(config_map("child", str(it.spec.size)))
        return Done()

    with Harness(Things(look), faults=party) as cluster:
        party.cluster = cluster
        cluster.apply(thing())
        cluster.step()
        sent = [one for one in cluster.writes if one.path.endswith("/status") and one.status == 200]
        generations = [one.answer["status"]["observedGeneration"] for one in sent]
        assert generations == seen == [1, 2]
        assert cluster.ready(Thing, "it")
        cluster.at_rest()


def test_a_finalizer_for_tracked_children_does_not_make_the_pass_claim_a_newer_generation() -> None:
    """C1: the response to the finalizer write has a spec that no state of this pass has seen."""
    party = Party(edit, times=1)
    with Harness(Things(tracked), faults=party) as cluster:
        party.cluster = cluster
        cluster.apply(thing())
        cluster.step()
        sent = [one for one in cluster.writes if one.path.endswith("/status") and one.status == 200]
        claimed = [one.answer["status"].get("observedGeneration") for one in sent]
        assert [each for each in claimed if each] == [1, 2]


def test_a_change_that_only_the_response_to_our_own_write_shows_causes_another_pass() -> None:
    """Its watch event is older than our own write, so no later watch event reports it."""
    party = Party(edit, times=1)
    seen: list[int] = []

    def look(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        seen.append(it.generation)
        out.apply(cluster_role("wide"), owner_refs=False)
        return Done()

    def faults(request: HttpRequest) -> Stall | None:
        party(request)
        silent = is_watch(request) and request.path.endswith("/things")
        return Stall(lines=2) if silent else None  # the object, and the end of the list

    there = thing().to_json()
    there["metadata"]["namespace"] = "default"
    with Harness(Things(look), manifests=[there], faults=faults) as cluster:
        party.cluster = cluster
        cluster.step()
        assert seen == [1, 2]
        assert cluster.ready(Thing, "it")


@settings(max_examples=40, deadline=None)
@given(
    acts=st.lists(
        st.sampled_from([annotate, edit, report, crowd_in, hold, let_go]), min_size=1, max_size=8
    ),
    times=st.integers(1, 40),
)
def test_whatever_the_other_party_does_nothing_of_either_is_lost(
    acts: list[Meddle], times: int
) -> None:
    """C6, C11, W4: all conditions and finalizers are there at the end, and ours are current."""
    party = Party(*acts, times=times)
    with Harness(FinalThings(tracked), faults=party) as cluster:
        party.cluster = cluster
        cluster.apply(thing())
        cluster.settle()
        obj = cluster.require(Thing, "it").raw
        assert cluster.ready(Thing, "it")
        assert obj["metadata"]["finalizers"].count(OURS) == 1
        theirs = {one for one in conditions(obj) if one.startswith("Front")}
        assert len(theirs) == sum(
            acts[number % len(acts)] is crowd_in for number in range(1, party.meddled + 1)
        )
        cluster.at_rest()

        cluster.delete(Thing, "it")
        cluster.advance(timedelta(minutes=10))
        left = cluster.get(Thing, "it")
        assert left is None or OURS not in left.finalizers
        assert cluster.get(kinds.CLUSTER_ROLE, "wide") is None
