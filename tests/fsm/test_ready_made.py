"""Ready-made states and controllers: children and claims."""

from typing import Any, cast

import pytest

from myrmidon.api import Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import DefinitionError
from myrmidon.fsm import ClaimController, Done, Wait
from myrmidon.fsm.children.child_states import waits_for_children
from myrmidon.fsm.children.readiness import is_ready
from myrmidon.fsm.claims import Claim, Claimed, claimed_name
from myrmidon.sets import Apply, OutputSet
from tests.fsm.things import Thing, ThingSpec, define, marked

from myrmidon.fsm import (  # isort: skip
    delete_children_foreground,
    delete_children_in_reverse,
    when_children_ready,
)


class Bucket(Resource[ThingSpec, Status], group="example.com", version="v1", namespaced=False):
    """The resource that is claimed."""


class Buckets(ClaimController[Thing, Bucket]):
    """Gives every Thing a Bucket."""


def test_a_claim_controller_may_manage_one_more_kind() -> None:
    """``manages`` may be one kind without a comma, as for every controller."""

    class More(ClaimController[Thing, Bucket]):
        manages = kinds.SECRET  # type: ignore[assignment]

    assert More.managed_kinds == (Bucket.KIND, kinds.SECRET)


class Reader:
    """A context whose cache has these objects."""

    def __init__(self, objects: dict[ObjectRef, Json | None]) -> None:
        self.objects = objects
        self.live = self

    async def children(self) -> dict[ObjectRef, Json | None]:
        """Return all objects."""
        return self.objects

    async def get(self, kind: Any, name: str, namespace: str = "") -> Json | None:
        """Return one object."""
        return self.objects.get(ObjectRef(kind, name, namespace))

    is_ready = staticmethod(is_ready)


def run(waiting: Any) -> Any:
    """Return the result of a coroutine that never waits."""
    try:
        waiting.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


def thing() -> Thing:
    """Build a claim as read from the server."""
    return Thing.from_json(
        {"metadata": {"name": "a", "namespace": "default", "uid": "u"}, "spec": {"size": 3}}
    )


POD = ObjectRef(kinds.POD, "p", "default")
READY_POD: Json = {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Succeeded"}}
PENDING_POD: Json = {"apiVersion": "v1", "kind": "Pod", "status": {}}


def test_a_state_can_wait_for_children_or_delete_them() -> None:
    """They are states like any other, with their own edges and conditions."""
    made = define(
        a=when_children_ready(initial=True, then="b"),
        b=marked(),
        c=delete_children_foreground(finalizer=True),
    )

    assert made.graph.conditions == ("ChildrenReady", "B", "ChildrenDeleted")
    assert made.graph.states["a"].takes_context
    assert made.graph.states["a"].is_async
    assert made.graph.finalizer == "c"


@pytest.mark.parametrize(
    ("children", "waiting"),
    [({}, None), ({POD: READY_POD}, None), ({POD: PENDING_POD}, "Pod default/p"),
     ({POD: None}, None)],
    ids=["none", "ready", "pending", "gone"],
)  # fmt: skip
def test_children_are_ready_when_each_is(children: Any, waiting: str | None) -> None:
    """As its kind means it; the message names those that are not."""
    state = when_children_ready()
    result = run(state(None, None, OutputSet(), cast("Any", Reader(children))))

    if waiting is None:
        assert result == Done()
    else:
        assert isinstance(result, Wait)
        assert (result.reason, result.message) == ("ChildrenNotReady", f"waiting for {waiting}")


def test_a_state_may_have_its_own_rule_of_readiness() -> None:
    """It takes precedence over the rule of the kind."""
    state = when_children_ready(ready=lambda child: "done" in child)
    finished: Json = {**PENDING_POD, "done": True}

    assert run(state(None, None, OutputSet(), cast("Any", Reader({POD: finished})))) == Done()
    result = run(state(None, None, OutputSet(), cast("Any", Reader({POD: READY_POD}))))
    assert (result.reason, result.message) == ("ChildrenNotReady", "waiting for Pod default/p")


def test_children_can_be_deleted_in_reverse_order() -> None:
    """The last group of one kind first; the message says how many are left."""
    state, it = delete_children_in_reverse(), thing()
    owner = {"kind": "Thing", "name": "a", "uid": "u", "controller": True}
    ours = {**READY_POD, "metadata": {"ownerReferences": [owner]}}
    refs = [ObjectRef(kinds.SECRET, "s", "default"), POD, ObjectRef(kinds.POD, "q", "default")]
    out = OutputSet()
    result = run(state(None, it, out, cast("Any", Reader(dict.fromkeys(refs, ours)))))

    assert [delete.ref.name for delete in out.deleted()] == ["q", "p"]
    assert result.message == "waiting for Pod default/q, Pod default/p to be gone, then 1 more"
    assert run(state(None, it, OutputSet(), cast("Any", Reader({})))) == Done()


def test_o5_children_are_deleted_and_waited_for() -> None:
    """In the foreground, until none is left; an object that names no parent is not a child."""
    state, it = delete_children_foreground(), thing()
    owner = {"kind": "Thing", "name": "a", "uid": "u", "controller": True}
    ours = {**READY_POD, "metadata": {"ownerReferences": [owner]}}
    stranger = ObjectRef(kinds.POD, "stranger", "default")
    out = OutputSet()
    result = run(state(None, it, out, cast("Any", Reader({POD: ours, stranger: READY_POD}))))

    assert isinstance(result, Wait)
    assert result.keep_outputs
    assert result.message == "waiting for Pod default/p to be gone"
    assert [(delete.ref, delete.propagation) for delete in out.deleted()] == [(POD, "Foreground")]
    left = cast("Any", Reader({POD: None, stranger: READY_POD}))
    assert run(state(None, it, OutputSet(), left)) == Done()


def test_a_claim_gets_one_claimed_object() -> None:
    """By a name that follows from the claim and its uid; it is tracked, not owned."""
    out = OutputSet((Bucket.KIND,), namespace="default")
    claim = thing()

    assert Buckets.managed_kinds == (Bucket.KIND,)
    assert Buckets().bound(claim, out) == Done()
    (output,) = out
    assert isinstance(output, Apply)
    assert output.ref == ObjectRef(Bucket.KIND, claimed_name(claim))
    assert not output.options.owner_refs
    assert output.manifest["spec"] == {
        "size": 3,
        "claimRef": {
            "apiVersion": "example.com/v1",
            "kind": "Thing",
            "namespace": "default",
            "name": "a",
            "uid": "u",
        },
    }


def test_a_claim_is_as_ready_as_its_claimed_object_and_outlives_it() -> None:
    """The claim is Ready when the claimed object is; it is deleted after the claimed object."""
    claim, buckets = thing(), Buckets()
    ref = ObjectRef(Bucket.KIND, claimed_name(claim))
    there = cast("Any", Reader({ref: {"kind": "Bucket"}}))
    absent = cast("Any", Reader({}))
    out = OutputSet((Bucket.KIND,), namespace="default")

    assert run(buckets.claimed_ready(claim, out, there)) == Done()
    waiting = run(buckets.claimed_ready(claim, out, absent))
    assert waiting == Wait(
        "ClaimedNotReady", f"waiting for Bucket.example.com {claimed_name(claim)}"
    )
    assert run(buckets.released(claim, out, absent)) == Done()
    assert len(out) == 0
    releasing = run(buckets.released(claim, out, there))
    assert releasing.keep_outputs
    assert [delete.ref for delete in out.deleted()] == [ref]


def test_d2_a_claim_controller_of_nothing_is_refused() -> None:
    """A class must name what is claimed; a subclass of a complete one need not."""

    class More(Buckets):
        """A subclass that claims the same."""

    class Base(ClaimController[Claim, Claimed], abstract=True):
        """A generic base for many claims."""

    class Concrete(Base[Thing, Bucket]):
        """A subclass with its classes."""

    assert More.claimed is Bucket
    assert not hasattr(Base, "claimed")
    assert Concrete.claimed is Bucket
    with pytest.raises(DefinitionError) as caught:

        class Nothing(ClaimController):  # type: ignore[type-arg]
            """Without a claimed class."""

    assert str(caught.value) == (
        "Nothing does not say what is claimed.\n"
        "  fix: write `class Nothing(ClaimController[YourClaim, YourClaimed])`"
    )


def test_waiting_says_which_kind_may_never_report() -> None:
    """A custom child without conditions; for other children there is nothing to add."""
    method = cast("Any", when_children_ready(initial=True))
    bucket = ObjectRef(Bucket.KIND, "b")
    silent: Json = {"apiVersion": "example.com/v1", "kind": "Bucket", "metadata": {}}

    waits = run(method(None, None, OutputSet(), Reader({POD: PENDING_POD})))
    assert waits.message == "waiting for Pod default/p"
    waits = run(method(None, None, OutputSet(), Reader({POD: PENDING_POD, bucket: silent})))
    assert waits.message == (
        "waiting for Pod default/p, Bucket.example.com b; Bucket.example.com b has not reported a "
        "condition Ready. If Bucket.example.com never does, say what counts in Controller.readiness"
    )


def test_which_controllers_wait_for_their_children_by_the_rules_of_the_kinds() -> None:
    """A state with a rule of its own does not count, and a state of a base class does."""

    class ByKind:
        ready = when_children_ready()

    class ByItsOwnRule:
        ready = when_children_ready(ready=bool)

    class Derived(ByKind): ...

    assert waits_for_children(ByKind)
    assert waits_for_children(Derived)
    assert not waits_for_children(ByItsOwnRule)
    assert not waits_for_children(int)
