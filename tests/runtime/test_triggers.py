"""Triggers: which of our objects a change wakes, and for which cause."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon import (
    Context,
    Controller,
    Done,
    OutputSet,
    Predicate,
    Result,
    Watch,
    changed,
    kinds,
    state,
)
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.fsm.context import Cause
from myrmidon.io.watch.changes import Change, Source, encode
from myrmidon.runtime.wakeups.triggers import Trigger, Triggers, key_of, parent_of
from myrmidon.testing import Fault, Harness
from tests.runtime.things import Thing, Things, config_map, thing

THING = Thing.KIND
MAP = ObjectRef(kinds.CONFIG_MAP, "child", "default")


def ours(name: str, namespace: str = "default") -> ObjectRef:
    """A Thing."""
    return ObjectRef(THING, name, namespace)


def child(owner: str | None, *, kind: str = "Thing", group: str = THING.group, **more: Any) -> Json:
    """Build a ConfigMap that names its controller, or none."""
    owners = [
        {
            "apiVersion": f"{group}/v1",
            "kind": kind,
            "name": owner,
            "uid": f"uid of {owner}",
            "controller": True,
        }
    ]
    named = {} if owner is None else {"ownerReferences": owners}
    metadata = {"name": MAP.name, "namespace": MAP.namespace, **named}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def change(ref: ObjectRef, old: Json | None, new: Json | None) -> Change:
    """Build a change of an object as a cache delivers it."""

    def entry(obj: Json | None, version: int) -> bytes | None:
        return None if obj is None else encode(obj, "uid", version)

    return Change(ref, entry(old, 1), entry(new, 2), Source.WATCH)


def concerned(changed_: Change, controller: type[Controller[Any]] = Things) -> list[str]:
    """Return the names of our objects that a change concerns, with the relation."""
    return [f"{one.cause.relation} {one.key.name}" for one in Triggers(controller).of(changed_)]


parents = st.none() | st.sampled_from(["a", "b", "c"])


@given(before=parents, after=parents)
def test_a_child_concerns_its_old_and_its_new_parent(before: str | None, after: str | None) -> None:
    """Each is woken once, and no other object."""
    found = concerned(change(MAP, child(before), child(after)))

    assert sorted(found) == sorted({f"child {one}" for one in (before, after) if one is not None})


def test_a_delete_by_a_pass_does_not_cause_another_pass() -> None:
    """A child is deleted, and the pass that deleted it is the last one."""
    passes: list[tuple[Cause, ...]] = []

    def act(it: Thing, out: OutputSet, ctx: Context) -> Result:
        passes.append(ctx.cause)
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": it.name}}
        (out.apply if it.spec.size else out.delete)(manifest)
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"size": 0}})
        cluster.settle()

    assert [[cause.relation for cause in causes] for causes in passes] == [["self"], ["self"]]


@pytest.mark.parametrize(
    ("old", "new", "event"),
    [(None, {}, "create"), ({}, {}, "update"), ({}, None, "delete")],
    ids=["create", "update", "delete"],
)
def test_a_change_of_the_object_itself(old: Json | None, new: Json | None, event: Any) -> None:
    """It is its own cause, with the type of the event."""
    assert Triggers(Things).of(change(ours("a"), old, new)) == [
        Trigger(ours("a"), Cause("self", event, ours("a")))
    ]


@pytest.mark.parametrize(
    "other",
    [child("a", kind="Other"), child("a", group="other.example"), child(None)],
    ids=["kind", "group", "no-owner"],
)
def test_a_child_of_another_kind_of_parent_is_ignored(other: Json) -> None:
    """The owner must be of our kind and group; its version may be an older one."""
    assert concerned(change(MAP, other, other)) == []
    assert parent_of(child("a"), Kind(THING.group, "v2", "Thing", "things")) is not None


def test_a_kind_that_is_not_managed_has_no_parents_here() -> None:
    """A Pod may name one of ours, but this controller does not manage Pods."""
    pod = ObjectRef(kinds.POD, "child", "default")
    assert concerned(change(pod, None, child("a"))) == []


def test_the_parent_of_a_cluster_scoped_kind_has_no_namespace() -> None:
    """The namespace of its child does not matter."""
    wide = Kind(THING.group, "v1", "Thing", "things", namespaced=False)
    assert parent_of(child("a"), wide) == ObjectRef(wide, "a")


# ---------------------------------------------------------------------------- relatives


def watching(
    to: Callable[[Json], Iterable[Any]] = lambda obj: [obj["data"]["of"]], **options: Any
) -> type[Controller[Any]]:
    """Define a controller with one watch of Secrets."""

    class Watchers(Controller[Thing]):
        watches = (Watch(kinds.SECRET, to=to, **options),)

        @state(initial=True)
        def made(self, it: Thing, out: OutputSet) -> Result:
            """It is made."""
            return Done()

    return Watchers


SECRET = ObjectRef(kinds.SECRET, "s", "default")


def secret(of: str, namespace: str = "default", **labels: str) -> Json:
    """Build a Secret that names the objects it concerns."""
    metadata = {"name": "s", "namespace": namespace, "labels": labels}
    return {"metadata": metadata, "data": {"of": of}}


@given(before=st.sampled_from("abc"), after=st.sampled_from("abc"))
def test_a_watched_object_concerns_the_keys_before_and_after_a_change(
    before: str, after: str
) -> None:
    """The object that it named before is woken as well, so that it can react."""
    found = concerned(change(SECRET, secret(before), secret(after)), watching())

    assert sorted(found) == sorted({f"relative {one}" for one in (before, after)})


def test_a_filter_sees_both_sides() -> None:
    """A change that the predicate rejects wakes no object."""
    controller = watching(when=changed("data.of"))

    assert concerned(change(SECRET, secret("a"), secret("a", x="y")), controller) == []
    assert concerned(change(SECRET, None, secret("a")), controller) == ["relative a"]


def test_a_watch_covers_its_namespaces_and_labels_only() -> None:
    """Only the side of a change that is in its namespaces and has its labels counts."""
    near = watching(namespaces=("default",))
    labelled = watching(selector="tier=web")

    assert concerned(change(SECRET, secret("a", "far"), secret("b")), near) == ["relative b"]
    left = change(SECRET, secret("a", tier="web"), secret("b", tier="db"))
    assert concerned(left, labelled) == ["relative a"]


def test_a_watch_of_another_cluster_gets_events_of_that_cluster_only() -> None:
    """Objects of that cluster are never taken for our own objects or children."""
    here, there = watching(), watching(remote="east")
    told = change(SECRET, None, secret("a"))

    assert [one.key.name for one in Triggers(there).of(told, "east")] == ["a"]
    assert Triggers(there).of(told) == []
    assert Triggers(there).of(told, "west") == []
    assert Triggers(here).of(told, "east") == []
    assert Triggers(Things).of(change(MAP, None, child("a")), "east") == []
    assert Triggers(Things).of(change(ours("a"), None, {}), "east") == []


def _raising(error: BaseException) -> Callable[..., Any]:
    def function(*_args: Any) -> Any:
        raise error

    return function


@pytest.mark.parametrize(
    "error",
    [KeyError("x"), asyncio.CancelledError(), SystemExit(3), RecursionError(), BaseException("x")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("which", ["to", "when"])
def test_q5_a_watch_function_that_fails_affects_no_other(
    which: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """The exception is logged with the object and the function, and counted."""
    caplog.set_level(logging.ERROR)
    failed: list[tuple[str, str]] = []
    function = _raising(error)
    bad: Any = function if which == "to" else Predicate(function, "bad")
    given_ = {"to": lambda _obj: ["a"], which: bad}
    triggers = Triggers(watching(**given_), lambda *names: failed.append(names))

    assert triggers.of(change(SECRET, None, secret("a"))) == []
    name = function.__qualname__ if which == "to" else "bad"
    (line,) = caplog.records
    facts = {"of": SECRET, "controller": "thing", "function": name}
    assert getattr(line, "facts", {}) == facts
    assert failed == [("thing", name)]


def test_an_interrupt_from_the_keyboard_is_not_a_failure_of_the_function() -> None:
    """It ends the process, wherever it is raised."""
    with pytest.raises(KeyboardInterrupt):
        concerned(change(SECRET, None, secret("a")), watching(to=_raising(KeyboardInterrupt())))


@pytest.mark.parametrize(
    ("keys", "refs"),
    [
        (["a"], [ours("a", "far")]),
        (["near/a", ("near", "a")], [ours("a", "near")]),
        ([ours("a"), "a"], [ours("a"), ours("a", "far")]),
        ("shop", [ours("shop", "far")]),
        (ours("shop"), [ours("shop")]),
        ([], []),
    ],
    ids=["name", "key", "reference", "one name", "one reference", "none"],
)
def test_what_a_watch_function_may_return(keys: Any, refs: list[ObjectRef]) -> None:
    """Each key is used once; a single name is one key, not one key per letter."""
    found = Triggers(watching(to=lambda _: keys)).of(change(SECRET, None, secret("a", "far")))

    assert [one.key for one in found] == refs


def test_a_key_of_a_cluster_scoped_kind_has_no_namespace() -> None:
    """A namespace that the function returns is dropped."""
    wide = Kind(THING.group, "v1", "Thing", "things", namespaced=False)
    assert key_of(wide, "near/a") == key_of(wide, "a", "far") == ObjectRef(wide, "a")


def test_k7_neither_a_bad_function_nor_a_bad_object_ends_the_feed() -> None:
    """The function's failure is counted, the object is skipped, and the next change is handled."""

    def bad(_obj: Json) -> list[str]:
        raise asyncio.CancelledError

    with Harness(watching(to=bad)()) as cluster:
        cluster.settle()
        (loop,) = cluster.manager.loops
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
        cluster.apply(made)
        loop._subscription.put([Change(ours("unreadable"), b"{", b"{", Source.WATCH)])
        cluster.apply(thing())
        cluster.settle()

        assert cluster.ready(Thing, "it")
        errors = cluster.manager.metrics.user_function_errors
        assert errors.labels("thing", bad.__qualname__).count == 1


# ------------------------------------------------------------------- writes of a pass itself


@pytest.mark.parametrize(
    ("by", "keeps", "found"),
    [
        ("thing:default/a", True, []),
        ("thing:default/a", False, ["child a"]),
        ("another:default/a", True, ["child a"]),
        ("", False, ["child a"]),
    ],
    ids=["own-child", "not-known", "another-controller", "watch"],
)
def test_c7_a_write_to_an_own_child_is_not_decoded(by: str, keeps: bool, found: list[str]) -> None:
    """Only if it is known that the object of the pass is the parent before and after the write."""
    written = change(MAP, child("a"), child("a", data={}))._replace(by=by, keeps_parent=keeps)

    assert concerned(written) == found


@pytest.mark.parametrize("author", ["thing:default/a", "thing:default/b", "another:default/a", ""])
def test_c7_a_pass_is_not_woken_by_a_write_to_its_own_object(author: str) -> None:
    """A write by a pass over another object, or of another controller, does wake it."""
    written = change(ours("a"), {}, {"status": {}})._replace(by=author)

    assert concerned(written) == ([] if author == "thing:default/a" else ["self a"])


def test_a_child_that_changed_hands_during_a_write_concerns_its_new_parent() -> None:
    """The answer to the write is the first that shows it: the watch event is older, and dropped."""
    causes: dict[str, list[str]] = {"a": [], "b": []}
    owner = {"apiVersion": THING.api_version, "kind": "Thing", "name": "b", "controller": True}
    moves: list[str] = []

    def act(it: Thing, out: OutputSet, ctx: Context) -> Result:
        causes[it.name] += [cause.relation for cause in ctx.cause]
        if it.name == "a":
            out.apply(config_map("child", it.spec.value))
        return Done()

    def move(request: HttpRequest) -> Fault | None:
        """Let another client give the child to b, just before the PATCH of a arrives."""
        if moves and request.method == "PATCH" and request.path.endswith("/configmaps/child"):
            body = {"metadata": {"ownerReferences": [{**owner, "uid": moves.pop()}]}}
            kind = "application/merge-patch+json"
            assert (
                cluster.server.request("PATCH", request.path, body, content_type=kind).status == 200
            )
        return None

    with Harness(Things(act), faults=move) as cluster:
        for name in ("a", "b"):
            cluster.apply(thing(name))
        cluster.settle()
        other = cluster.get(Thing, "b")
        assert other is not None
        moves.append(other.uid)
        cluster.patch(Thing, "a", {"spec": {"value": "another"}})
        cluster.settle()

    assert not moves, "the child was given to b"
    assert causes["b"] == ["self", "child"]
