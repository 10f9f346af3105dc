"""The applicator and a server that refuses writes, changes what it stores, or does not respond."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, ref_of, uid_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.request import Request, Verb
from myrmidon.errors import (
    AmbiguousError,
    ConflictError,
    ForbiddenError,
    NotAdoptedError,
    NotFoundError,
)
from myrmidon.io.client import Client
from myrmidon.io.writes.applicator import Applicator, Written
from myrmidon.io.writes.own_writes import OwnWrites
from myrmidon.sets import Output, OutputSet, plan
from myrmidon.sets.outputs.options import DEFAULT, ApplyOptions
from tests.sets.model_server import ModelServer
from tests.sets.outputs import PARENT, SPECS, WAYS, apply, manifest
from tests.sets.outputs import ref_of as child_ref
from tests.strategies import WIDGET

Fault = Callable[[Request], None]
_COUNTED = ("generation", "resourceVersion")


class Server:
    """The model server as a client sees it, with faults before or after a request is executed."""

    def __init__(self) -> None:
        self.model = ModelServer()
        self.sent: list[str] = []
        self.before: Fault = lambda _request: None
        self.after: Fault = lambda _request: None
        self.stores: Callable[[Json], None] = lambda _obj: None
        self.busy = self.busiest = 0

    async def send(self, request: Request, *, warnings: list[str] | None = None) -> Json:
        """Execute the request, send its watch event, or fail."""
        del warnings
        self.sent.append(str(request.verb))
        self.busy += 1
        self.busiest = max(self.busy, self.busiest)
        await asyncio.sleep(0)  # noqa: TID251  lets the others run
        self.busy -= 1
        self.before(request)
        before = self.model.get(request.ref) or {}
        self.model.send(request)
        stored = self.model.objects.get(request.ref)
        if stored is not None:
            self.stores(stored)
            counted = {key: (before.get("metadata") or {}).get(key) for key in _COUNTED}
            if before == {**stored, "metadata": {**stored["metadata"], **counted}}:
                stored["metadata"].update(counted)  # nothing has changed
        self.after(request)
        return self.model.get(request.ref) or {
            "kind": "Status",
            "details": {"uid": uid_of(before)},
        }

    async def get(self, ref: ObjectRef) -> Json:
        """A live read."""
        self.sent.append("get")
        obj = self.model.get(ref)
        if obj is None:
            raise NotFoundError(404, "NotFound", "no such object")
        return obj


class Memory:
    """A cache that knows only our own writes."""

    def __init__(self) -> None:
        self.objects: dict[ObjectRef, Json] = {}
        self.unknown: dict[ObjectRef, None] = {}

    def get(self, ref: ObjectRef) -> Json | None:
        """Return the cached object."""
        return self.objects.get(ref)

    def size(self) -> int:
        """Return how many objects there can be."""
        return 100

    def stamp(self, ref: ObjectRef) -> int:
        """Return a number for the cached content."""
        return hash(repr(self.objects.get(ref)))

    def is_unknown(self, ref: ObjectRef) -> bool:
        """Whether the response to a write was lost."""
        return ref in self.unknown

    def mark_unknown(self, ref: ObjectRef) -> None:
        """Record that a response was lost."""
        self.unknown[ref] = None

    def record_write(
        self,
        kind: Kind,
        obj: Json,
        *,
        by: str,
        ref: ObjectRef | None = None,
        child_at: int | None = None,
    ) -> None:
        """Keep the answer to a write."""
        del by, ref, child_at
        self.record_read(ref_of(kind, obj), obj, uid=None)

    def record_delete(self, ref: ObjectRef, *, uid: str, by: str) -> None:
        """Remove an object that was deleted."""
        del by
        self.record_read(ref, None, uid=uid)

    def record_read(self, ref: ObjectRef, obj: Json | None, *, uid: str | None) -> None:
        """Store the response to a live read."""
        del uid
        self.unknown.pop(ref, None)
        self.objects.pop(ref, None)
        if obj is not None:
            self.objects[ref] = obj


class Bench:
    """An applicator, its cache, and the server that it writes to."""

    def __init__(self, *, writes_max: int = 8) -> None:
        self.server, self.memory = Server(), Memory()
        self.applicator = self._made(writes_max)

    def _made(self, writes_max: int = 8) -> Applicator:
        writes = cast("OwnWrites[Any]", self.memory)
        client = cast("Client", self.server)
        return Applicator(client, self.memory, writes, writes_max=writes_max)

    def write(self, *outputs: Output) -> list[Written]:
        """Write the outputs of a state; the requests for them are in ``server.sent``.

        In every test, nothing is sent for outputs of which ``first_open`` returns None.
        """
        self.server.sent = []
        held = self.applicator.first_open(outputs, PARENT, creating=True) is None
        written = asyncio.run(self.applicator.write(outputs, PARENT))
        if held:
            assert self.server.sent == []
            assert written == [Written(output, "skipped") for output in outputs]
        return written

    def restart(self) -> None:
        """Start another process: it has the current objects, and no memory."""
        self.applicator = self._made()
        self.memory.objects = dict(self.server.model.objects)


REF = child_ref()


def config_maps(count: int) -> Iterable[Output]:
    """Some outputs."""
    out = OutputSet(kinds.ALL, namespace="default", controller="Things", state="made")
    for number in range(count):
        out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}})
    return out


@pytest.mark.parametrize("way", WAYS)
@given(first=SPECS, second=SPECS)
def test_a2_an_output_that_holds_is_not_sent(way: str, first: Json, second: Json) -> None:
    """One write per change, none after it, none after a restart."""
    bench = Bench()
    for spec in (first, second):
        output = apply(manifest(spec), **WAYS[way])
        bench.write(output)
        assert len(bench.server.sent) <= 1
        bench.write(output)
        assert bench.server.sent == []
        bench.restart()
        bench.write(output)
        assert bench.server.sent == []


# --------------------------------------------------------------- stored otherwise than sent


def owner(uid: str) -> Json:
    """An object that can own others."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "owner", "uid": uid}}


@pytest.mark.parametrize("owned", [{}, {"owner": owner("u")}], ids=["by-parent", "by-another"])
@pytest.mark.parametrize("way", WAYS)
def test_an_output_that_the_server_stores_differently_is_sent_once(way: str, owned: Json) -> None:
    """A schema drops a field, or a webhook changes one: sending it again would change nothing."""
    bench = Bench()
    bench.server.stores = lambda obj: obj["spec"].update(size="large") or obj["spec"].pop("lost", 0)
    output = apply(manifest({"size": "small", "lost": True}), **WAYS[way], **owned)
    bench.write(output)
    assert len(bench.server.sent) == 1
    bench.write(output)
    assert bench.server.sent == []
    another = apply(manifest({"size": "medium", "lost": True}), **WAYS[way], **owned)
    bench.write(another)
    assert len(bench.server.sent) == 1


def test_two_states_with_equal_outputs_converge() -> None:
    """Although the server stores a different value: each state has its own record of that."""
    bench = Bench()
    bench.server.stores = lambda obj: obj["spec"].update(size="large")
    outputs: list[Output] = []
    for state in ("first", "second"):
        out = OutputSet((WIDGET,), namespace="default", controller="Things", state=state)
        out.apply(manifest({"size": "small"}))
        outputs += out
    for _ in range(3):  # each may first see what the other has left
        for output in outputs:
            bench.write(output)
    for output in outputs:
        bench.write(output)
        assert bench.server.sent == []


def test_another_owner_needs_another_decision() -> None:
    """The object holds for the first owner, and not yet for the second."""
    bench = Bench()
    for uid, sent in (("u", ["create"]), ("u", []), ("v", ["patch"]), ("v", [])):
        bench.write(apply(manifest({}, kinds.CONFIG_MAP), owner=owner(uid)))
        assert bench.server.sent == sent


def test_other_options_need_another_decision() -> None:
    """With create_only an existing object holds, whatever its content; without it, it does not."""
    bench = Bench()
    bench.write(apply(manifest({"size": 1}, kinds.CONFIG_MAP)))
    wanted = manifest({"size": 2}, kinds.CONFIG_MAP)
    for options, sent in (({"create_only": True}, []), ({}, ["patch"])):
        bench.write(apply(wanted, **options))
        assert bench.server.sent == sent


def test_an_output_that_was_stored_as_sent_is_not_remembered_for_ever() -> None:
    """The memory would grow with the number of objects."""
    bench = Bench()
    output = apply(manifest({"size": "small"}))
    for remembered in (1, 0, 0):
        bench.write(output)
        assert len(bench.applicator._settled) == remembered


def test_a_field_that_the_server_adds_to_an_update_is_removed_once() -> None:
    """A webhook always adds a field: the update that would remove it is sent once."""
    bench = Bench()
    bench.write(apply(manifest({"size": 1}, kinds.CONFIG_MAP)))
    bench.server.stores = lambda obj: obj["spec"].update(added="by a webhook")
    output = apply(manifest({"size": 2}, kinds.CONFIG_MAP), as_update=True)
    for _ in range(2):
        bench.write(output)
        assert bench.server.sent == ["update"]
        bench.write(output)
        assert bench.server.sent == []
        bench.restart()  # which has to find out again; that update changes nothing


def test_an_output_that_was_stored_differently_is_sent_again_when_the_object_changed() -> None:
    """The server may accept it now."""
    bench = Bench()
    bench.server.stores = lambda obj: obj["spec"].pop("lost", 0)
    output = apply(manifest({"lost": True}))
    bench.write(output)
    bench.server.stores = lambda _obj: None
    bench.server.model.put(REF, {**bench.server.model.objects[REF], "spec": {"other": 1}})
    bench.memory.objects[REF] = bench.server.model.objects[REF]
    bench.write(output)
    assert bench.server.sent == ["patch"]
    assert bench.server.model.objects[REF]["spec"] == {"lost": True, "other": 1}


# ------------------------------------------------------------------------------- other writers


def test_a_create_of_an_existing_object_is_decided_again() -> None:
    """The cache did not have it yet; it is read, and patched if needed."""
    bench = Bench()
    bench.server.model.put(REF, {**manifest({"theirs": 1})})
    (written,) = bench.write(apply(manifest({"ours": 1})))
    assert bench.server.sent == ["create", "get", "patch"]
    assert (written.outcome, written.verb) == ("changed", Verb.PATCH)
    assert bench.server.model.objects[REF]["spec"] == {"theirs": 1, "ours": 1}


def test_o6_a_patch_does_not_hit_an_object_that_took_the_name() -> None:
    """The cache did not have it yet: it is read, and refused as another party's object."""
    bench = Bench()
    bench.write(apply(manifest({"ours": 1})))
    del bench.server.model.objects[REF]
    bench.server.model.put(REF, manifest({"theirs": 1}))
    (written,) = bench.write(apply(manifest({"ours": 2}), adopt=False))
    assert bench.server.sent == ["patch", "get"]
    assert isinstance(written.error, NotAdoptedError)
    assert bench.server.model.objects[REF]["spec"] == {"theirs": 1}


def test_a_patch_of_a_deleted_object_becomes_a_create() -> None:
    """Another client deleted it, and the cache did not know yet."""
    bench = Bench()
    bench.write(apply(manifest({"a": 1})))
    del bench.server.model.objects[REF]

    def named(request: Request) -> None:
        if request.ref not in bench.server.model.objects and request.verb is Verb.PATCH:
            raise NotFoundError(404, "NotFound", "gone", details={"name": request.ref.name})

    bench.server.before = named
    (written,) = bench.write(apply(manifest({"a": 2})))
    assert bench.server.sent == ["patch", "get", "create"]
    assert written.outcome == "changed"


def test_repeated_conflicts_are_left_to_the_next_pass() -> None:
    """After three attempts it is a failure, which is retried with backoff."""
    bench = Bench()
    bench.write(apply(manifest({"a": 1})))

    def conflict(_request: Request) -> None:
        raise ConflictError(409, "Conflict", "the object has been modified")

    bench.server.before = conflict
    (written,) = bench.write(apply(manifest({"a": 2})))
    assert bench.server.sent == ["patch", "get", "patch", "get", "patch"]
    assert (written.outcome, type(written.error)) == ("failed", ConflictError)


def test_a_lock_that_was_asked_for_is_not_overridden() -> None:
    """The author asked to be told about the conflict."""
    bench = Bench()
    bench.write(apply(manifest({"a": 1})))
    stale = manifest({"a": 2}, resourceVersion="0")
    (written,) = bench.write(apply(stale, optimistic_lock=True))
    assert bench.server.sent == ["patch"]
    assert isinstance(written.error, ConflictError)


# --------------------------------------------------------------------------------- lost answers


@pytest.mark.parametrize("happened", [True, False])
def test_a9_after_a_lost_response_the_object_is_read(happened: bool) -> None:
    """Whether or not the write took effect, nothing is created twice."""
    bench = Bench()

    def lost(_request: Request) -> None:
        raise AmbiguousError("connection reset")

    if happened:
        bench.server.after = lost
    else:
        bench.server.before = lost
    (written,) = bench.write(apply(manifest({"a": 1})))
    assert isinstance(written.error, AmbiguousError)
    assert REF in bench.memory.unknown

    bench.server.before = bench.server.after = lambda _request: None
    bench.write(apply(manifest({"a": 1})))
    assert bench.server.sent == (["get"] if happened else ["get", "create"])
    assert bench.memory.unknown == {}


def test_a9_after_a_lost_response_an_earlier_decision_is_not_trusted() -> None:
    """The output may be the former one again, while the object has changed."""
    bench = Bench()
    one, other = (apply(manifest({"size": size})) for size in (1, 2))
    bench.write(one)
    bench.write(one)

    def lost(_request: Request) -> None:
        raise AmbiguousError("no answer")

    bench.server.after = lost
    bench.write(other)
    bench.server.after = lambda _request: None
    bench.write(one)
    assert bench.server.sent == ["get", "patch"]
    assert bench.server.model.objects[REF]["spec"] == {"size": 1}


def test_a_cancelled_write_is_a_lost_response() -> None:
    """The pass reached its time limit, or the process was stopped."""
    bench = Bench()

    async def main() -> None:
        async with asyncio.timeout(0):
            await bench.applicator.write([apply(manifest({"a": 1}))], PARENT)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert REF in bench.memory.unknown


# ----------------------------------------------------------------------------- many at a time


@given(count=st.integers(0, 12), at_once=st.integers(1, 4))
def test_a10_writes_are_concurrent_within_bounds(count: int, at_once: int) -> None:
    """The results are in the order of the outputs."""
    bench = Bench(writes_max=at_once)
    written = bench.write(*config_maps(count))
    assert [one.output.ref.name for one in written] == [f"c{number}" for number in range(count)]
    assert bench.server.busiest == min(count, at_once)


def test_a10_namespaces_go_first_and_nothing_follows_one_that_failed() -> None:
    """The other objects are inside them."""
    out = OutputSet(kinds.ALL, namespace="default", controller="Things", state="made")
    out.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, owner_refs=False
    )
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "space"}}
    out.apply(space, owner_refs=False)

    bench = Bench()
    done: list[str] = []
    bench.server.after = lambda request: done.append(request.ref.kind.kind)
    assert [one.output.ref.kind.kind for one in bench.write(*out)] == ["ConfigMap", "Namespace"]
    assert done == ["Namespace", "ConfigMap"]

    def forbidden(request: Request) -> None:
        if request.ref.kind == kinds.NAMESPACE:
            raise ForbiddenError(403, "Forbidden", "no")

    bench = Bench()
    bench.server.before = forbidden
    (only,) = bench.write(*out)
    assert (only.output.ref.kind, only.outcome) == (kinds.NAMESPACE, "failed")


def test_one_that_fails_does_not_stop_the_others() -> None:
    """Each output has its own result."""
    bench = Bench()

    def forbidden(request: Request) -> None:
        if request.ref.name == "c1":
            raise ForbiddenError(403, "Forbidden", "no")

    bench.server.before = forbidden
    assert [one.outcome for one in bench.write(*config_maps(3))] == ["changed", "failed", "changed"]


def test_a_delete_names_the_uid_and_converges() -> None:
    """It is sent once; a new object under that name is not deleted."""
    bench = Bench()
    bench.write(apply(manifest({"a": 1})))
    out = OutputSet((WIDGET,), namespace="default", controller="Things", state="made")
    out.delete(WIDGET, "child")
    assert [one.outcome for one in bench.write(*out)] == ["changed"]
    assert bench.server.sent == ["delete"]
    bench.write(*out)
    assert bench.server.sent == []


def test_the_plan_and_the_applicator_agree() -> None:
    """After a write, the plan has nothing left to send."""
    bench = Bench()
    output = apply(manifest({"list": [{"a": 1}], "n": None}))
    bench.write(output)
    assert plan(output, bench.memory.get(REF), PARENT) is None


@pytest.mark.parametrize("options", [DEFAULT, ApplyOptions(adopt=True)], ids=["default", "adopt"])
def test_outputs_are_held_when_the_same_ones_needed_no_write_before(options: ApplyOptions) -> None:
    """A converged pass checks only this: a changed output, object or result needs a decision."""
    bench, wanted = Bench(), apply(manifest({"a": 1}))._replace(options=options)
    other = apply(manifest({"a": 2}))._replace(options=options)

    def are_held(*outputs: Output, creating: bool = True) -> bool:
        return bench.applicator.first_open(outputs, PARENT, creating=creating) is None

    assert not are_held(wanted)  # never decided about
    bench.write(wanted)
    bench.write(wanted)
    assert are_held(wanted)
    assert not are_held(other)
    assert not are_held(wanted, other)
    assert not are_held(wanted._replace(author="Things.another"))
    assert not are_held(wanted._replace(options=ApplyOptions(recreate=True)))
    assert not are_held(wanted, creating=False)
    bench.memory.unknown[wanted.ref] = None
    assert not are_held(wanted)
    bench.memory.unknown.clear()
    bench.memory.objects[wanted.ref]["metadata"]["labels"] = {"by": "another client"}
    assert not are_held(wanted)
