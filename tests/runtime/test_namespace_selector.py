"""Namespaces that are selected by labels, which change while the controller runs."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import UsageError
from myrmidon.fsm import ControllerOptions, Done, Result
from myrmidon.fsm.context import Context
from myrmidon.generate.manifests.rbac import roles
from myrmidon.runtime import ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, Harness, Status
from tests.runtime.test_memory import tables
from tests.runtime.things import FinalThings, Thing, Things, config_map, thing

SHOP = {"team": "shop"}
BY_LABEL: dict[str, Any] = {"namespace_selector": "team=shop"}
MINUTE = timedelta(minutes=1)


def child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child."""
    out.apply(config_map(it.name, it.spec.value))
    return Done()


def namespace(name: str, labels: dict[str, str] | None = None) -> Json:
    """A namespace."""
    meta = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def apply(cluster: Harness, where: str, name: str = "it", value: str = "a") -> None:
    """Apply a Thing in a namespace."""
    made = thing(name, value=value).to_json()
    made["metadata"]["namespace"] = where
    cluster.apply(made)


def label(cluster: Harness, name: str, team: str | None) -> None:
    """Set or remove the label of a namespace."""
    cluster.patch(kinds.NAMESPACE, name, {"metadata": {"labels": {"team": team}}})


def data(cluster: Harness, where: str, name: str = "it") -> Any:
    """Return the content of the child of a Thing, None if there is none."""
    found = cluster.get(kinds.CONFIG_MAP, name, where)
    return found and found["data"]["value"]


@pytest.mark.law("G6")
def test_only_objects_in_matching_namespaces_get_passes() -> None:
    """Objects in other namespaces are not even listed."""
    spaces = [namespace("a", SHOP), namespace("b")]
    with Harness(Things(child, **BY_LABEL), manifests=spaces) as cluster:
        apply(cluster, "a")
        apply(cluster, "b")
        cluster.settle()
        assert (data(cluster, "a"), data(cluster, "b")) == ("a", None)
        asked = [str(one) for one in cluster.transport.log if "namespaces/b/" in str(one)]
        assert asked == []
        cluster.at_rest()


@pytest.mark.law("G6")
def test_a_namespace_that_gains_the_label_is_listed_and_reconciled() -> None:
    """This covers existing objects and later ones."""
    with Harness(Things(child, **BY_LABEL), manifests=[namespace("a")]) as cluster:
        apply(cluster, "a", "old")
        cluster.settle()
        assert data(cluster, "a", "old") is None
        label(cluster, "a", "shop")
        cluster.settle()
        apply(cluster, "a", "new")
        cluster.settle()
        assert (data(cluster, "a", "old"), data(cluster, "a", "new")) == ("a", "a")


@pytest.mark.law("G6")
def test_a_namespace_that_loses_the_label_is_forgotten() -> None:
    """It has no passes, no watches and no memory; its objects stay as they are."""
    spaces = [namespace("gone-a", SHOP), namespace("b", SHOP)]
    with Harness(Things(child, **BY_LABEL), manifests=spaces) as cluster:
        apply(cluster, "gone-a")
        apply(cluster, "b")
        cluster.settle()
        label(cluster, "gone-a", None)
        cluster.settle()
        apply(cluster, "gone-a", value="b")
        apply(cluster, "b", value="b")
        cluster.settle()
        assert (data(cluster, "gone-a"), data(cluster, "b")) == ("a", "b")
        (loop,) = cluster.manager.loops
        assert loop.view.namespaces_of(loop.controller.kind()) == ("b",)
        assert not loop.view.covers(thing().ref._replace(namespace="gone-a"))
        held = [path for path, one in tables(loop, "loop", {}) if "gone-a" in repr(list(one))]
        assert [path for path in held if not path.endswith("_own_writes._written")] == []
        caches = cluster.manager._caches
        assert caches is not None
        assert {one.scope.namespace for one in caches.health()} == {"", "b"}
        text = str(cluster.manager.metrics.readiness._objects())
        assert "gone-a" not in text


def test_a_finalizer_in_a_namespace_that_left_runs_when_the_namespace_is_back() -> None:
    """Until then the object waits; ``myrmidon release`` would free it."""
    with Harness(FinalThings(child, **BY_LABEL), manifests=[namespace("a", SHOP)]) as cluster:
        apply(cluster, "a")
        cluster.settle()
        label(cluster, "a", None)
        cluster.settle()
        cluster.delete(Thing, "it", "a")
        cluster.advance(MINUTE)
        assert cluster.get(Thing, "it", "a") is not None
        label(cluster, "a", "shop")
        cluster.settle()
        assert cluster.get(Thing, "it", "a") is None


def test_a_namespace_that_is_deleted_lets_its_finalizers_run() -> None:
    """It matches until it is deleted."""
    with Harness(FinalThings(child, **BY_LABEL), manifests=[namespace("a", SHOP)]) as cluster:
        apply(cluster, "a")
        cluster.settle()
        cluster.delete(kinds.NAMESPACE, "a")
        cluster.settle()
        assert cluster.get(kinds.NAMESPACE, "a") is None
        (loop,) = cluster.manager.loops
        assert loop.view.namespaces_of(loop.controller.kind()) == ()


@pytest.mark.law("G6")
def test_a_pass_under_way_finishes_when_its_namespace_leaves() -> None:
    """It reads and writes normally; afterwards the namespace is forgotten."""
    gates: list[asyncio.Event] = []

    async def slow(it: Thing, out: OutputSet, ctx: Context) -> Result:
        gates.append(asyncio.Event())
        await gates[-1].wait()
        assert await ctx.get(kinds.CONFIG_MAP, "absent") is None
        return child(it, out, ctx)

    with Harness(Things(slow, **BY_LABEL), manifests=[namespace("a", SHOP)]) as cluster:
        apply(cluster, "a")
        cluster.advance(timedelta(seconds=1))
        label(cluster, "a", None)
        cluster.advance(timedelta(seconds=1))
        apply(cluster, "a", "late")
        cluster.advance(timedelta(seconds=1))
        gates[0].set()
        cluster.settle()
        assert data(cluster, "a") == "a"
        assert len(gates) == 1, "the object that came after its namespace left has no pass"
        (loop,) = cluster.manager.loops
        assert not loop.pool.queue.owed()
        assert cluster.manager._caches is not None
        assert {one.scope.namespace for one in cluster.manager._caches.health()} == {""}


def test_a_namespace_that_comes_back_during_a_pass_loses_no_change() -> None:
    """The change that was made while it did not match is reconciled."""
    gates: list[asyncio.Event] = []

    async def slow(it: Thing, out: OutputSet, ctx: Context) -> Result:
        gates.append(asyncio.Event())
        if len(gates) == 1:
            await gates[0].wait()
        return child(it, out, ctx)

    with Harness(Things(slow, **BY_LABEL), manifests=[namespace("a", SHOP)]) as cluster:
        apply(cluster, "a")
        apply(cluster, "a", "other")
        cluster.advance(timedelta(seconds=1))
        label(cluster, "a", None)
        cluster.advance(timedelta(seconds=1))
        apply(cluster, "a", "other", value="b")
        cluster.advance(timedelta(seconds=1))
        label(cluster, "a", "shop")
        cluster.advance(timedelta(seconds=1))
        gates[0].set()
        cluster.settle()
        assert (data(cluster, "a"), data(cluster, "a", "other")) == ("a", "b")


@pytest.mark.law("G6")
def test_a_child_is_not_taken_for_missing_before_its_kind_was_listed() -> None:
    """A namespace has no passes until its ConfigMaps could be listed."""
    denied = [True]

    def faults(request: HttpRequest) -> Fault | None:
        listed = "/namespaces/a/configmaps" in request.path and request.method == "GET"
        return Status(500, "InternalError") if denied[0] and listed else None

    spaces = [namespace("a", SHOP), namespace("b", SHOP)]
    with Harness(Things(child, **BY_LABEL), manifests=spaces, faults=faults) as cluster:
        apply(cluster, "a")
        apply(cluster, "b")
        cluster.advance(MINUTE)
        assert (data(cluster, "a"), data(cluster, "b")) == (None, "a")
        denied[0] = False
        cluster.advance(5 * MINUTE)
        assert data(cluster, "a") == "a"


def test_the_managers_selector_is_for_controllers_without_limits_of_their_own() -> None:
    """Namespaces that a controller declares itself take precedence."""
    options = ManagerOptions(seed=0, namespace_selector="team=shop")
    spaces = [namespace("a", SHOP), namespace("b")]
    cases: list[tuple[dict[str, Any], Any]] = [
        ({}, ("a", None)),
        ({"namespaces": ("b",)}, (None, "a")),
    ]
    for own, expected in cases:
        with Harness(Things(child, **own), manifests=spaces, options=options) as cluster:
            apply(cluster, "a")
            apply(cluster, "b")
            cluster.settle()
            assert (data(cluster, "a"), data(cluster, "b")) == expected


def test_wrong_options_are_refused() -> None:
    """The error has the fix."""
    with pytest.raises(UsageError, match="fix: drop one"):
        ManagerOptions(namespaces=("a",), namespace_selector="a=b")


class Followers(Things):
    """A controller with the selector in the class, where `generate rbac` reads it."""

    options = ControllerOptions(namespace_selector="team=shop")


def test_the_generated_role_lets_namespaces_be_followed() -> None:
    """It is a ClusterRole for every kind, because roles cannot follow labels."""
    (role,) = roles([Followers], "demo")
    assert role["kind"] == "ClusterRole"
    wanted = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"]}
    assert wanted in role["rules"]
    spaces = [namespace("a", SHOP)]
    with Harness(Followers(child), manifests=spaces, run_as="generated-role") as cluster:
        apply(cluster, "a")
        cluster.settle()
        assert data(cluster, "a") == "a"


SPACES = ("a", "b", "c")
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("label"), st.sampled_from(SPACES), st.sampled_from(["shop", "bank", None])
        ),
        st.tuples(st.just("apply"), st.sampled_from(SPACES), st.sampled_from(["x", "y", "z"])),
        st.tuples(st.just("settle"), st.just(""), st.just("")),
        st.tuples(st.just("restart"), st.just(""), st.just("")),
    ),
    max_size=14,
)


@pytest.mark.law("G6")
@settings(max_examples=40, deadline=None)
@given(steps)
def test_converged_objects_are_exactly_those_in_matching_namespaces(story: list[Any]) -> None:
    """After any sequence of changes of the labels."""
    team: dict[str, str | None] = dict.fromkeys(SPACES)
    last: dict[str, str] = {}
    spaces = [namespace(name) for name in SPACES]
    with Harness(Things(child, **BY_LABEL), manifests=spaces, actors=()) as cluster:
        for what, where, value in story:
            if what == "label":
                team[where] = value
                label(cluster, where, value)
            elif what == "apply":
                last[where] = value
                apply(cluster, where, value=value)
            elif what == "restart":
                cluster.restart()
            else:
                cluster.settle()
        cluster.settle()
        matching = [name for name in SPACES if team[name] == "shop"]
        assert [data(cluster, name) for name in matching] == [last.get(name) for name in matching]
        (loop,) = cluster.manager.loops
        assert sorted(loop.view.namespaces_of(loop.controller.kind())) == matching

        for name in last:  # a change everywhere is seen in matching namespaces, and only there
            apply(cluster, name, value="final")
        cluster.settle()
        assert [name for name in last if data(cluster, name) == "final"] == [
            name for name in last if name in matching
        ]
        cluster.at_rest()
