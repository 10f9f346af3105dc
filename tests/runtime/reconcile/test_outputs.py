"""Outputs end to end: options, ownership, pruning."""

from datetime import timedelta
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field

from myrmidon.api import Model, Resource, Rule, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.fsm import Done, Result, Wait
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, Lose
from tests.runtime.things import Act, Thing, Things, applying, config_map, first, thing

HOUR = timedelta(hours=1)
MAP = kinds.CONFIG_MAP


def owned_by_another(name: str) -> Json:
    """Build a child of another controller's object."""
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "theirs",
        "uid": "0000-1111",
        "controller": True,
    }
    return config_map(name, "theirs", ownerReferences=[owner])


def test_an_object_that_another_controller_owns_is_left_alone() -> None:
    """O2: it is neither adopted nor patched; the condition names the owner."""
    with Harness(Things(applying()), actors=()) as cluster:
        cluster.apply(owned_by_another("child"))
        cluster.apply(thing())
        cluster.advance(HOUR)

        assert cluster.require(MAP, "child")["data"] == {"value": "theirs"}
        assert first(cluster).reason == "AlreadyOwned"
        assert "ReplicaSet theirs (uid 0000-1111)" in first(cluster).message
        assert len(cluster.writes) == 1, "the status and nothing else"


def test_the_first_refused_output_is_the_reason_and_the_others_are_written() -> None:
    """They are recorded in the order in which they were declared."""

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply_all(config_map(name) for name in ("d", "a", "b", "c"))
        return Done()

    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(owned_by_another("a"))
        cluster.apply(owned_by_another("b"))
        cluster.apply(thing())
        cluster.advance(HOUR)

        assert first(cluster).reason == "AlreadyOwned"
        assert first(cluster).message.startswith("ConfigMap default/a ")
        refs = cluster.require(Thing, "it").status.resource_refs
        assert [ref["name"] for ref in refs] == ["d", "c"]


def test_an_object_that_another_controller_owns_is_not_deleted() -> None:
    """O2: neither by out.delete nor by pruning."""

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.delete(MAP, "child")
        return Done()

    with Harness(Things(act), actors=()) as cluster:
        cluster.apply(owned_by_another("child"))
        cluster.apply(thing())
        cluster.advance(HOUR)

        assert cluster.get(MAP, "child") is not None
        assert first(cluster).reason == "AlreadyOwned"


def test_an_adopted_object_keeps_its_other_owners() -> None:
    """O1: owner references of others survive."""
    plain = {"apiVersion": "v1", "kind": "Service", "name": "s", "uid": "2222"}
    with Harness(Things(applying(adopt=True)), actors=()) as cluster:
        cluster.apply(config_map("child", "old", ownerReferences=[plain]))
        cluster.apply(thing())
        cluster.settle()

        owners = cluster.require(MAP, "child")["metadata"]["ownerReferences"]
        assert [(one["name"], one.get("controller")) for one in owners] == [
            ("s", None),
            ("it", True),
        ]


def test_owner_reference_across_namespaces_is_refused() -> None:
    """O3: it is never sent; the condition says what to write instead, and it is not retried."""

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(config_map("child", namespace="kube-system"))
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(thing())
        cluster.advance(HOUR)

        assert first(cluster).reason == "InvalidOwnerReference"
        assert "fix: apply it with owner_refs=False" in first(cluster).message
        assert len(cluster.writes) == 1
        assert cluster.get(MAP, "child", "kube-system") is None


def test_create_only() -> None:
    """It is created when absent, and never changed afterwards."""
    with Harness(Things(applying(create_only=True))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(MAP, "child", {"data": {"value": "x"}})
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        assert cluster.require(MAP, "child")["data"] == {"value": "x"}

        cluster.delete(MAP, "child")
        cluster.settle()
        assert cluster.require(MAP, "child")["data"] == {"value": "b"}


def test_as_update_removes_undeclared_fields() -> None:
    """A7: a full replace keeps only finalizers and owner references of other parties."""
    with Harness(Things(applying(as_update=True))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(MAP, "child", {"data": {"other": "x"}, "metadata": {"labels": {"a": "b"}}})
        cluster.settle()

        child = cluster.require(MAP, "child")
        assert child["data"] == {"value": "a"}
        assert "labels" not in child["metadata"]
        assert cluster.writes_during(HOUR) == []


def test_recreate_where_a_field_is_immutable() -> None:
    """The server refuses a change of it, so the object is deleted and created again."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply({**config_map("child", it.spec.value), "immutable": True}, recreate=True)
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        uid = cluster.require(MAP, "child")["metadata"]["uid"]
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()

        assert cluster.require(MAP, "child")["data"] == {"value": "b"}
        assert cluster.require(MAP, "child")["metadata"]["uid"] != uid
        assert cluster.ready(Thing, "it")


class Frozen(Model):
    """A value that a rule of the CRD protects, with a message of its own."""

    value: Annotated[str, Rule("self == oldSelf", message="pick another name")]
    size: Annotated[int, Field(ge=0)] = 0


class Ice(Resource[Frozen, Status], group="test.myrmidon.dev", version="v1", plural="ices"):
    """A child with a transition rule."""


class IceMakers(Things):
    """Manages a kind with a transition rule."""

    manages: ClassVar[tuple[Any, ...]] = (Ice,)


def making_ice(**options: Any) -> Act:
    """A state that applies one Ice."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        spec = {"value": it.spec.value, "size": it.spec.size}
        ice = {"apiVersion": "test.myrmidon.dev/v1", "kind": "Ice", "metadata": {"name": "child"}}
        out.apply({**ice, "spec": spec}, **options)
        return Done()

    return act


@pytest.mark.parametrize("way", [{}, {"as_update": True}, {"server_side": True}], ids=str)
def test_recreate_follows_the_causes_of_a_transition_rule(way: dict[str, Any]) -> None:
    """Its message does not mention immutability; the output is valid as a new object."""
    with Harness(IceMakers(making_ice(recreate=True, **way))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        uid = cluster.require(Ice, "child").uid
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        assert cluster.require(Ice, "child").spec.value == "b"
        assert cluster.require(Ice, "child").uid != uid
        assert cluster.ready(Thing, "it")


def test_recreate_keeps_an_object_whose_new_value_is_plainly_wrong() -> None:
    """The create would be refused as well, and the object would be lost."""
    with Harness(IceMakers(making_ice(recreate=True))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        uid = cluster.require(Ice, "child").uid
        cluster.patch(Thing, "it", {"spec": {"value": "b", "size": -1}})
        cluster.advance(HOUR)
        assert cluster.require(Ice, "child").uid == uid
        assert first(cluster).reason == "Invalid"
        assert "spec.size" in first(cluster).message


def test_refused_change_without_recreate_says_which_field() -> None:
    """A8: the message names object and field."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply({**config_map("child", it.spec.value), "immutable": True})
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.advance(timedelta(seconds=1))

        assert first(cluster).reason == "Invalid"
        assert first(cluster).message.startswith("ConfigMap default/child: data: ")


def test_a_lost_lock_is_a_conflict_and_not_an_error() -> None:
    """A6, A8: nothing is overwritten; the condition says so, and the next pass reads again."""
    held: list[Json] = []

    async def act(it: Thing, out: OutputSet, ctx: Context) -> Result:
        child = held[0] if held else await ctx.get(MAP, "child")
        assert child is not None
        out.apply({**child, "data": {"value": it.spec.value}}, optimistic_lock=True, adopt=True)
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(config_map("child", "theirs"))
        held.append(cluster.require(MAP, "child"))
        cluster.patch(MAP, "child", {"data": {"other": "x"}})
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=10))
        assert first(cluster).reason == "ApplyOutputsConflict"
        assert cluster.require(MAP, "child")["data"] == {"value": "theirs", "other": "x"}

        held.clear()
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert cluster.require(MAP, "child")["data"] == {"value": "a", "other": "x"}


def test_lock_without_a_version_is_refused_before_anything_is_sent() -> None:
    """A6: it is not retried, because it would be refused again."""
    with Harness(Things(applying(optimistic_lock=True))) as cluster:
        cluster.apply(thing())
        cluster.advance(HOUR)

        assert first(cluster).reason == "InvalidOutput"
        assert len(cluster.writes) == 1


def test_a_server_side_apply_conflict_is_reported_unless_forced() -> None:
    """A disputed field stays with its field manager, unless it is taken by force."""
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}}
    with Harness(Things(applying(server_side=True, adopt=True))) as cluster:
        cluster.server.request(
            "PATCH",
            "/api/v1/namespaces/default/configmaps/child",
            {**theirs, "data": {"value": "theirs"}},
            content_type="application/apply-patch+yaml",
            query=(("fieldManager", "them"),),
        )
        cluster.apply(thing())
        cluster.advance(timedelta(minutes=1))
        assert cluster.require(MAP, "child")["data"] == {"value": "theirs"}
        assert (first(cluster).reason, first(cluster).message) == (
            "FieldConflict",
            (
                'ConfigMap default/child was not applied: .data.value: conflict with "them".\n'
                "  fix: apply it with force=True to take these fields, stop declaring them, "
                "or let the other field manager give them up"
            ),
        )
        tried = [write for write in cluster.writes if write.path.endswith("/configmaps/child")]
        assert len(tried) < 10, "it is retried after a growing delay"

    with Harness(Things(applying(server_side=True, force=True, adopt=True))) as cluster:
        cluster.apply(config_map("child", "theirs"))
        cluster.apply(thing())
        cluster.settle()
        assert cluster.require(MAP, "child")["data"] == {"value": "a"}
        assert cluster.ready(Thing, "it")
        assert cluster.writes_during(HOUR) == []


# ------------------------------------------------------------------------------ pruning


def letters(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child per letter of the value."""
    out.apply_all(config_map(letter) for letter in it.spec.value)
    return Done()


def left(cluster: Harness) -> list[str]:
    """Return the children that exist."""
    return sorted(one["metadata"]["name"] for one in cluster.list(MAP))


def test_a_deleted_child_leaves_the_record_although_the_walk_continues() -> None:
    """A delete of an absent object is counted as one."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if it.spec.value == "a":
            out.apply(config_map("child"))
        else:
            out.delete(MAP, "child")
        return Done()

    def wait(it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        return Done() if it.spec.value == "a" else Wait("Waiting", after=HOUR)

    with Harness(Things(act, wait)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.advance(timedelta(minutes=1))
        assert cluster.require(Thing, "it").status.resource_refs == []

        cluster.advance(HOUR)
        writes = cluster.manager.metrics.writes
        assert writes.labels("ConfigMap", "delete", "changed").count == 1
        skipped = writes.labels("ConfigMap", "delete", "skipped")
        assert skipped.count >= 1
        before = skipped.count
        cluster.advance(HOUR)
        assert skipped.count > before  # in each pass, also if it repeats an earlier decision


def test_prune_after_a_walk_that_ended() -> None:
    """A12: children that are no longer emitted are deleted."""
    with Harness(Things(letters, prune=True)) as cluster:
        cluster.apply(thing(value="abc"))
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()

        assert left(cluster) == ["b"]
        assert cluster.ready(Thing, "it")
        assert cluster.writes_during(HOUR) == []


def test_prune_never_after_an_interrupted_walk() -> None:
    """A12: a state that fails has not emitted all of its outputs."""

    def fails(it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        if it.spec.value == "b":
            raise RuntimeError("no")
        return Done()

    with Harness(Things(letters, fails, prune=True)) as cluster:
        cluster.apply(thing(value="abc"))
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.advance(HOUR)
        assert left(cluster) == ["a", "b", "c"]


def test_prune_spares_children_that_changed_their_owner() -> None:
    """A12, O2: an object with another owner is recorded, and stays."""
    with Harness(Things(letters, prune=True), actors=()) as cluster:
        cluster.apply(thing(value="ab"))
        cluster.settle()
        theirs = owned_by_another("a")["metadata"]["ownerReferences"]
        cluster.patch(MAP, "a", {"metadata": {"ownerReferences": theirs}})
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        assert left(cluster) == ["a", "b"]


def test_prune_guard() -> None:
    """A12: more deletions at once than allowed are refused, and nothing is deleted."""
    with Harness(Things(letters, prune=True, prune_max=2)) as cluster:
        cluster.apply(thing(value="abcd"))
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "a"}})
        cluster.advance(timedelta(minutes=1))

        ready = cluster.condition(Thing, "it")
        assert ready is not None
        assert ready.reason == "PruneRefused"
        assert "fix: delete them by hand, or raise ControllerOptions.prune_max" in ready.message
        assert left(cluster) == ["a", "b", "c", "d"]

        cluster.delete(MAP, "d")
        cluster.settle()
        assert left(cluster) == ["a"]
        assert cluster.ready(Thing, "it")


def test_a_pruned_child_whose_delete_got_no_response_leaves_the_record() -> None:
    """A9, C8: it is read live, is gone, and is removed from the list."""
    lost: list[str] = []

    def faults(request: HttpRequest) -> Lose | None:
        if request.method != "DELETE" or lost:
            return None
        lost.append(request.path)
        return Lose()

    with Harness(Things(letters, prune=True), faults=faults) as cluster:
        cluster.apply(thing(value="ab"))
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()

        assert lost
        assert left(cluster) == ["b"]
        refs = cluster.require(Thing, "it").raw["status"]["resourceRefs"]
        assert [ref["name"] for ref in refs] == ["b"]
        assert cluster.ready(Thing, "it")
