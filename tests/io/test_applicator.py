"""The applicator between a plan and a server that says no, changes what it stores, or falls silent."""

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
    """The model server as a client sees it, with faults before or after a request is done."""

    def __init__(self) -> None:
        self.model = ModelServer()
        self.sent: list[str] = []
        self.before: Fault = lambda _request: None
        self.after: Fault = lambda _request: None
        self.stores: Callable[[Json], None] = lambda _obj: None
        self.busy = self.busiest = 0

    async def send(self, request: Request, *, warnings: list[str] | None = None) -> Json:
        """Do it, tell of it, or fail."""
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
    """A cache that hears of nothing but our own writes."""

    def __init__(self) -> None:
        self.objects: dict[ObjectRef, Json] = {}
        self.unknown: dict[ObjectRef, None] = {}

    def get(self, ref: ObjectRef) -> Json | None:
        """What is known."""
        return self.objects.get(ref)

    def stamp(self, ref: ObjectRef) -> int:
        """A number for it."""
        return hash(repr(self.objects.get(ref)))

    def is_unknown(self, ref: ObjectRef) -> bool:
        """Whether an answer was lost."""
        return ref in self.unknown

    def mark_unknown(self, ref: ObjectRef) -> None:
        """An answer was lost."""
        self.unknown[ref] = None

    def record_write(self, kind: Kind, obj: Json, *, by: str, ref: ObjectRef | None = None) -> None:
        """Keep the answer to a write."""
        del by, ref
        self.record_read(ref_of(kind, obj), obj, uid=None)

    def record_delete(self, ref: ObjectRef, *, uid: str, by: str) -> None:
        """Remove an object that was deleted."""
        del by
        self.record_read(ref, None, uid=uid)

    def record_read(self, ref: ObjectRef, obj: Json | None, *, uid: str | None) -> None:
        """Keep the answer to a live read."""
        del uid
        self.unknown.pop(ref, None)
        self.objects.pop(ref, None)
        if obj is not None:
            self.objects[ref] = obj


class Bench:
    """An applicator, what it knows, and the server it writes to."""

    def __init__(self, *, writes_max: int = 8) -> None:
        self.server, self.memory = Server(), Memory()
        self.applicator = self._made(writes_max)

    def _made(self, writes_max: int = 8) -> Applicator:
        writes = cast("OwnWrites[Any]", self.memory)
        client = cast("Client", self.server)
        return Applicator(client, self.memory, writes, writes_max=writes_max)

    def write(self, *outputs: Output) -> list[Written]:
        """Write the outputs of a state; what was sent for them is in ``server.sent``.

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
        """Another process: it knows what is there, and remembers nothing."""
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
def test_a2_what_holds_is_not_sent(way: str, first: Json, second: Json) -> None:
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
def test_what_the_server_stores_otherwise_is_sent_once(way: str, owned: Json) -> None:
    """A schema drops a field, a webhook changes one: asking again would change nothing."""
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


def test_two_states_that_want_the_same_come_to_rest() -> None:
    """Although the server stores it otherwise: each of them learns it for itself."""
    bench = Bench()
    bench.server.stores = lambda obj: obj["spec"].update(size="large")
    outputs: list[Output] = []
    for state in ("first", "second"):
        out = OutputSet((WIDGET,), namespace="default", controller="Things", state=state)
        out.apply(manifest({"size": "small"}))
        outputs += out
    for _ in range(3):  # they may see what the other has left before they are content
        for output in outputs:
            bench.write(output)
    for output in outputs:
        bench.write(output)
        assert bench.server.sent == []


def test_another_owner_is_another_question() -> None:
    """The first one holds, and the second does not yet."""
    bench = Bench()
    for uid, sent in (("u", ["create"]), ("u", []), ("v", ["patch"]), ("v", [])):
        bench.write(apply(manifest({}, kinds.CONFIG_MAP), owner=owner(uid)))
        assert bench.server.sent == sent


def test_other_options_are_another_question() -> None:
    """What is never changed holds, whatever it says; else it does not."""
    bench = Bench()
    bench.write(apply(manifest({"size": 1}, kinds.CONFIG_MAP)))
    wanted = manifest({"size": 2}, kinds.CONFIG_MAP)
    for options, sent in (({"create_only": True}, []), ({}, ["patch"])):
        bench.write(apply(wanted, **options))
        assert bench.server.sent == sent


def test_what_was_stored_as_sent_is_not_remembered_for_ever() -> None:
    """There are as many as objects."""
    bench = Bench()
    output = apply(manifest({"size": "small"}))
    for remembered in (1, 0, 0):
        bench.write(output)
        assert len(bench.applicator._settled) == remembered


def test_what_the_server_adds_to_an_update_is_not_fought_over() -> None:
    """A webhook that always adds a field: the update that would remove it is sent once."""
    bench = Bench()
    bench.write(apply(manifest({"size": 1}, kinds.CONFIG_MAP)))
    bench.server.stores = lambda obj: obj["spec"].update(added="by a webhook")
    output = apply(manifest({"size": 2}, kinds.CONFIG_MAP), as_update=True)
    for _ in range(2):
        bench.write(output)
        assert bench.server.sent == ["update"]
        bench.write(output)
        assert bench.server.sent == []
        bench.restart()  # which has to find out anew; that update changes nothing at all


def test_what_was_stored_otherwise_is_sent_again_when_the_object_changed() -> None:
    """Perhaps it is taken now."""
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


def test_a_create_that_comes_too_late_is_decided_again() -> None:
    """The cache had not heard of it; it is read, and changed if it has to be."""
    bench = Bench()
    bench.server.model.put(REF, {**manifest({"theirs": 1})})
    (written,) = bench.write(apply(manifest({"ours": 1})))
    assert bench.server.sent == ["create", "get", "patch"]
    assert (written.outcome, written.verb) == ("changed", Verb.PATCH)
    assert bench.server.model.objects[REF]["spec"] == {"theirs": 1, "ours": 1}


def test_o6_a_patch_does_not_hit_an_object_that_took_the_name() -> None:
    """The cache had not heard of it: it is read, and refused as another party's object."""
    bench = Bench()
    bench.write(apply(manifest({"ours": 1})))
    del bench.server.model.objects[REF]
    bench.server.model.put(REF, manifest({"theirs": 1}))
    (written,) = bench.write(apply(manifest({"ours": 2}), adopt=False))
    assert bench.server.sent == ["patch", "get"]
    assert isinstance(written.error, NotAdoptedError)
    assert bench.server.model.objects[REF]["spec"] == {"theirs": 1}


def test_a_patch_of_what_is_gone_becomes_a_create() -> None:
    """Somebody deleted it, and the cache had not heard."""
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


def test_a_fight_is_left_to_the_next_pass() -> None:
    """Three attempts; then it is a failure that is retried with a growing delay."""
    bench = Bench()
    bench.write(apply(manifest({"a": 1})))

    def conflict(_request: Request) -> None:
        raise ConflictError(409, "Conflict", "the object has been modified")

    bench.server.before = conflict
    (written,) = bench.write(apply(manifest({"a": 2})))
    assert bench.server.sent == ["patch", "get", "patch", "get", "patch"]
    assert (written.outcome, type(written.error)) == ("failed", ConflictError)


def test_a_lock_that_was_asked_for_is_not_overridden() -> None:
    """The author wants to know."""
    bench = Bench()
    bench.write(apply(manifest({"a": 1})))
    stale = manifest({"a": 2}, resourceVersion="0")
    (written,) = bench.write(apply(stale, optimistic_lock=True))
    assert bench.server.sent == ["patch"]
    assert isinstance(written.error, ConflictError)


# --------------------------------------------------------------------------------- lost answers


@pytest.mark.parametrize("happened", [True, False])
def test_a9_after_a_lost_answer_the_server_is_asked(happened: bool) -> None:
    """Whether or not the write happened, nothing is made twice."""
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


def test_a9_after_a_lost_answer_what_held_before_is_not_trusted() -> None:
    """The wish may be the old one again, and the object no longer."""
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


def test_a_cancelled_write_is_a_lost_answer() -> None:
    """The pass was at its time limit, or the process was told to stop."""
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
    """And the answers come in the order of the outputs."""
    bench = Bench(writes_max=at_once)
    written = bench.write(*config_maps(count))
    assert [one.output.ref.name for one in written] == [f"c{number}" for number in range(count)]
    assert bench.server.busiest == min(count, at_once)


def test_a10_namespaces_go_first_and_nothing_follows_one_that_failed() -> None:
    """The others live in them."""
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
    """Each output has its own end."""
    bench = Bench()

    def forbidden(request: Request) -> None:
        if request.ref.name == "c1":
            raise ForbiddenError(403, "Forbidden", "no")

    bench.server.before = forbidden
    assert [one.outcome for one in bench.write(*config_maps(3))] == ["changed", "failed", "changed"]


def test_a_delete_names_the_incarnation_and_rests() -> None:
    """It is sent once; what came back under that name is another object."""
    bench = Bench()
    bench.write(apply(manifest({"a": 1})))
    out = OutputSet((WIDGET,), namespace="default", controller="Things", state="made")
    out.delete(WIDGET, "child")
    assert [one.outcome for one in bench.write(*out)] == ["changed"]
    assert bench.server.sent == ["delete"]
    bench.write(*out)
    assert bench.server.sent == []


def test_the_plan_and_the_applicator_agree() -> None:
    """What is left after a write is nothing that the plan would still ask for."""
    bench = Bench()
    output = apply(manifest({"list": [{"a": 1}], "n": None}))
    bench.write(output)
    assert plan(output, bench.memory.get(REF), PARENT) is None


@pytest.mark.parametrize("options", [DEFAULT, ApplyOptions(adopt=True)], ids=["default", "adopt"])
def test_outputs_are_held_when_the_same_ones_needed_no_write_before(options: ApplyOptions) -> None:
    """A converged pass asks only this: a changed output, object or outcome needs a decision."""
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
