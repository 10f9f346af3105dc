"""A parent whose output is refused because of an object in the way gets a pass when that object goes.

The parent waits for the object to be deleted or to change hands, so this causes a pass at once.  The
backoff of the refusals, which grows to five minutes, is not waited for.
"""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.io.watch.changes import Change, Source, encode
from myrmidon.runtime.wakeups.refused_outputs import RefusedOutputs
from myrmidon.sets import OutputSet
from myrmidon.testing import Delay, Harness
from tests.runtime.things import WAYS, Thing, Things, applying, config_map, thing

MAP = kinds.CONFIG_MAP


def owner(name: str, uid: str, kind: str = "Thing", group: str = Thing.KIND.group) -> Json:
    """Return the metadata of an object that names its controller."""
    reference = {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
    }
    return {"ownerReferences": [reference]}


def refused(cluster: Harness, reason: str) -> None:
    """Let the output be refused until the backoff is long."""
    cluster.advance(timedelta(minutes=20))
    found = cluster.condition(Thing, "it", "First")
    assert found is not None
    assert (found.status, found.reason) == ("False", reason)


def converges_at_once(cluster: Harness) -> None:
    """Check that the parent is Ready without any time having passed."""
    began_at = cluster.loop.time()
    cluster.step()
    assert cluster.loop.time() == began_at
    assert cluster.ready(Thing, "it")
    assert cluster.require(MAP, "child")["data"] == {"value": "b"}


@pytest.mark.parametrize("way", [way for way in WAYS if way != "tracked"])
def test_a_successor_gets_a_pass_when_the_child_of_its_predecessor_is_deleted(way: str) -> None:
    """The garbage collector is late: the child with the uid of the deleted parent still exists."""
    with Harness(Things(applying(**WAYS[way])), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(MAP, "child") is not None
        cluster.apply(thing(value="b"))
        refused(cluster, "AlreadyOwned")

        cluster.delete(MAP, "child")
        converges_at_once(cluster)


FOREIGN = {
    "parent of the same kind": (owner("other", "of-other"), "AlreadyOwned"),
    "parent of another kind": (owner("it", "of-other", "Other", "other.example"), "AlreadyOwned"),
    "tracked by another parent": (
        {
            "labels": {"myrmidon.dev/parent-uid": "of-other"},
            "annotations": {
                "myrmidon.dev/parent": f"{Thing.KIND.plural}.{Thing.KIND.group}/default/other"
            },
        },
        "AlreadyOwned",
    ),
    "no parent": ({}, "AdoptionRefused"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("whose", FOREIGN)
def test_the_parent_gets_a_pass_when_an_object_that_another_owns_is_deleted(
    whose: str, way: str
) -> None:
    """Only the parent's output names that object; no owner reference leads to the parent."""
    metadata, reason = FOREIGN[whose]
    child = config_map("child", "foreign", namespace="default", **metadata)
    with Harness(Things(applying(**WAYS[way])), manifests=[child], actors=()) as cluster:
        cluster.apply(thing(value="b"))
        refused(cluster, reason)

        cluster.delete(MAP, "child")
        converges_at_once(cluster)


def test_the_parent_gets_a_pass_when_the_adoption_is_allowed() -> None:
    """The refusal names the command to allow it; the user need not wait for the backoff."""
    child = config_map("child", "foreign", namespace="default")
    with Harness(Things(applying()), manifests=[child], actors=()) as cluster:
        cluster.apply(thing(value="b"))
        refused(cluster, "AdoptionRefused")
        cluster.patch(MAP, "child", {"metadata": {"annotations": {"myrmidon.dev/adopt": "true"}}})
        converges_at_once(cluster)


def test_the_parent_gets_a_pass_when_an_object_that_is_being_deleted_is_gone() -> None:
    """This holds also if that object never named the parent."""
    child = config_map("child", "foreign", namespace="default", finalizers=["test.example/hold"])
    with Harness(Things(applying()), manifests=[child], actors=()) as cluster:
        cluster.delete(MAP, "child")
        cluster.apply(thing(value="b"))
        refused(cluster, "ObjectTerminating")
        cluster.patch(MAP, "child", {"metadata": {"finalizers": None}})
        converges_at_once(cluster)


def test_other_changes_of_the_object_in_the_way_cause_no_pass() -> None:
    """Frequent writes to it would defeat the backoff."""
    entered: list[None] = []

    def act(it: Thing, out: OutputSet, ctx: Context) -> Any:
        entered.append(None)
        return applying()(it, out, ctx)

    child = config_map("child", "foreign", namespace="default", **owner("other", "of-other"))
    with Harness(Things(act), manifests=[child], actors=()) as cluster:
        cluster.apply(thing(value="b"))
        refused(cluster, "AlreadyOwned")
        before = len(entered)
        for number in range(5):
            cluster.patch(MAP, "child", {"data": {"value": str(number)}})
            cluster.step()
        assert len(entered) == before


@pytest.mark.parametrize("change", ["deleted", "given up"])
def test_an_object_that_goes_while_the_other_outputs_are_written_is_noticed(change: str) -> None:
    """Its watch event arrives after the refusal and before the pass records it."""

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(config_map("child", "b"))
        out.apply(config_map("slow"))
        return Done()

    def slow(request: HttpRequest) -> Delay | None:
        is_create = request.method == "POST" and b"slow" in (request.body or b"")
        return Delay(10.0) if is_create else None

    child = config_map("child", "foreign", namespace="default", **owner("other", "of-other"))
    with Harness(Things(act), manifests=[child], actors=(), faults=slow) as cluster:
        cluster.apply(thing(value="b"))
        cluster.advance(timedelta(seconds=5))
        if change == "deleted":
            cluster.delete(MAP, "child")
        else:
            adopt = {"myrmidon.dev/adopt": "true"}
            cluster.patch(
                MAP, "child", {"metadata": {"ownerReferences": None, "annotations": adopt}}
            )
        cluster.advance(timedelta(seconds=5))
        assert cluster.ready(Thing, "it")
        assert cluster.require(MAP, "child")["data"] == {"value": "b"}


def test_two_parents_that_want_one_name_are_both_woken() -> None:
    """The first one gets the name; the second one is refused because of it and waits again."""
    child = config_map("child", "foreign", namespace="default", **owner("other", "of-other"))
    with Harness(Things(applying()), manifests=[child], actors=()) as cluster:
        for name in ("one", "two"):
            cluster.apply(thing(name, value="b"))
        cluster.advance(timedelta(minutes=20))
        cluster.delete(MAP, "child")
        cluster.step()
        assert [cluster.ready(Thing, name) for name in ("one", "two")].count(True) == 1
        winner, loser = ("one", "two") if cluster.ready(Thing, "one") else ("two", "one")

        cluster.patch(Thing, winner, {"spec": {"value": "c"}})
        cluster.advance(timedelta(minutes=20))
        cluster.delete(Thing, winner)
        cluster.step()
        cluster.delete(MAP, "child")
        cluster.step()
        assert cluster.ready(Thing, loser)


# ------------------------------------------------------------------------------ the notes

PARENTS = [ObjectRef(Thing.KIND, name, "default") for name in "abc"]
OUTPUTS = [ObjectRef(MAP, name, "default") for name in "xyz"]


def deletion(ref: ObjectRef) -> Change:
    """Return a change that ends every refusal."""
    obj = config_map(ref.name, namespace=ref.namespace)
    return Change(ref, encode(obj, "uid", 1), None, Source.WATCH)


@given(
    st.lists(st.tuples(st.sampled_from(PARENTS), st.none() | st.sampled_from(OUTPUTS)), max_size=30)
)
def test_the_notes_are_those_of_the_last_pass(steps: list[tuple[ObjectRef, Any]]) -> None:
    """None stands for a new pass of the parent; entries of earlier passes are dropped."""
    notes, model = RefusedOutputs(), set[tuple[ObjectRef, ObjectRef]]()
    for parent, output in steps:
        if output is None:
            notes.drop(parent)
            model = {pair for pair in model if pair[0] != parent}
        else:
            notes.note(parent, output)
            model.add((parent, output))
        for ref in OUTPUTS:
            expected = {noted for noted, wanted in model if wanted == ref}
            assert set(notes.woken_by(deletion(ref))) == expected
        assert len(notes) == len({noted for noted, _ in model})
    for parent in PARENTS:
        notes.drop(parent)
    assert not notes
    assert not notes._parents


def test_nothing_is_kept_for_a_parent_that_converged_or_was_deleted() -> None:
    """Q12: memory depends on the objects that exist."""
    child = config_map("child", "foreign", namespace="default", **owner("other", "of-other"))
    with Harness(Things(applying()), manifests=[child], actors=()) as cluster:
        cluster.apply(thing(value="b"))
        refused(cluster, "AlreadyOwned")
        (loop,) = cluster.manager.loops
        notes = loop._triggers._refused
        assert len(notes) == 1
        cluster.delete(Thing, "it")
        cluster.settle()
        assert not notes
        cluster.apply(thing(value="b"))
        cluster.advance(timedelta(minutes=1))
        cluster.delete(MAP, "child")
        converges_at_once(cluster)
        assert not notes
