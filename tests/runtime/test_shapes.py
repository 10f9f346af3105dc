"""Manages, Reads and ControllerOptions.when in a running controller: what is cached, and what wakes."""

from collections.abc import Callable
from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, name_of
from myrmidon.errors import UsageError
from myrmidon.fsm import Done, Manages, Predicate, Reads, Result, changed, generation_changed
from myrmidon.fsm.context import Context
from myrmidon.generate.manifests.rbac import CLUSTER, Target, rights_of
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import FinalThings, Thing, Things, config_map, thing


class Passes:
    """Records the name of the object in each pass, then does what the test says."""

    def __init__(self, act: Callable[..., Any] = lambda _it, _out, _ctx: Done()) -> None:
        self.names: list[str] = []
        self._act = act

    async def __call__(self, it: Thing, out: OutputSet, ctx: Context) -> Result:
        """Record the pass."""
        self.names.append(it.name)
        result = self._act(it, out, ctx)
        return result if isinstance(result, Done) else await result

    def during(self, cluster: Harness, act: Callable[[], object]) -> int:
        """Return how many passes an act causes."""
        cluster.settle()
        before = len(self.names)
        act()
        cluster.settle()
        return len(self.names) - before


def secret(name: str, namespace: str = "default", **labels: str) -> Json:
    """A Secret."""
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "Opaque",
        "data": {"key": "dmFsdWU=", "other": "b3RoZXI="},
    }


def queries(cluster: Harness, plural: str) -> list[dict[str, str]]:
    """Return the queries of all lists and watches of a kind."""
    return [
        dict(exchange.request.query)
        for exchange in cluster.transport.log
        if exchange.request.method == "GET" and exchange.request.path.endswith(f"/{plural}")
    ]


# ---------------------------------------------------------------------------- predicates


def test_changes_of_the_object_are_filtered() -> None:
    """Its creation, its deletion and our own labels always count."""
    passes = Passes()
    controller = FinalThings(passes, last=passes, when=generation_changed)
    with Harness(controller) as cluster:

        def patched(changes: Json) -> int:
            return passes.during(cluster, lambda: cluster.patch(Thing, "it", changes))

        assert passes.during(cluster, lambda: cluster.apply(thing())) == 1
        assert patched({"metadata": {"labels": {"x": "y"}}}) == 0
        assert patched({"spec": {"value": "b"}}) == 1
        suspend = "myrmidon.dev/suspend"
        assert patched({"metadata": {"labels": {suspend: "true"}}}) == 0, "no state runs"
        assert patched({"spec": {"value": "c"}}) == 0
        assert patched({"metadata": {"labels": {suspend: None}}}) == 1
        assert passes.during(cluster, lambda: cluster.delete(Thing, "it")) == 1, "the finalizer"
        assert cluster.get(Thing, "it") is None


def test_an_object_whose_deletion_begins_passes_any_predicate() -> None:
    """A filter must not keep a finalizer from running."""
    never = Predicate(lambda _before, _after: False, "never")
    with Harness(FinalThings(when=never)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None


def child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child."""
    out.apply(config_map(it.name, labels={"app": "shop"} if it.spec.size else {}))
    return Done()


def test_changes_of_children_are_filtered() -> None:
    """Creation, deletion, a predicate that raises and a change of the parent always count."""

    def judged(_before: Json | None, after: Json | None) -> bool:
        assert after is not None
        return bool(int(after["metadata"]["annotations"]["weight"]) > 1)

    class Filtering(Things):
        """Wakes its objects only for heavy changes."""

        manages = (Manages(kinds.CONFIG_MAP, when=Predicate(judged, "heavy")),)

    passes = Passes(child)
    with Harness(Filtering(passes)) as cluster:

        def weighed(weight: str) -> int:
            change = {"metadata": {"annotations": {"weight": weight}}}
            return passes.during(cluster, lambda: cluster.patch(kinds.CONFIG_MAP, "it", change))

        cluster.apply(thing())
        cluster.settle()
        assert weighed("1") == 0
        assert weighed("2") == 1
        assert weighed("none") == 1, "the predicate raises"
        assert passes.during(cluster, lambda: cluster.delete(kinds.CONFIG_MAP, "it")) == 1
        assert cluster.get(kinds.CONFIG_MAP, "it") is not None


@pytest.mark.parametrize(
    ("options", "woken"),
    [({}, [1, 1, 1]), ({"wakes": False}, [0, 0, 0]), ({"when": changed("data")}, [0, 1, 1])],
    ids=["default", "never", "filtered"],
)
def test_changes_of_what_was_read_are_filtered(options: dict[str, Any], woken: list[int]) -> None:
    """By a predicate, or all of them."""

    class Reading(Things):
        """Reads a ConfigMap."""

        manages = ()
        reads = (Reads(kinds.CONFIG_MAP, **options),)

    async def read(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
        await ctx.get(kinds.CONFIG_MAP, "shared")
        return Done()

    passes = Passes(read)
    shared = config_map("shared", namespace="default")
    with Harness(Reading(passes), manifests=[shared]) as cluster:

        def patched(changes: Json) -> int:
            act = lambda: cluster.patch(kinds.CONFIG_MAP, "shared", changes)  # noqa: E731
            return passes.during(cluster, act)

        cluster.apply(thing())
        assert [
            patched({"metadata": {"labels": {"x": "y"}}}),
            patched({"data": {"value": "b"}}),
            passes.during(cluster, lambda: cluster.delete(kinds.CONFIG_MAP, "shared")),
        ] == woken


# ------------------------------------------------------------------------------- caches


def test_a_managed_kind_with_a_selector_is_cached_by_it() -> None:
    """An output that does not carry the labels is refused before anything is written."""

    class Selecting(Things):
        """Labels its ConfigMaps."""

        manages = (Manages(kinds.CONFIG_MAP, selector="app=shop"),)

    with Harness(
        Selecting(child), manifests=[config_map("stranger", namespace="default")]
    ) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.at_rest()
        assert all(query["labelSelector"] == "app=shop" for query in queries(cluster, "configmaps"))
        cluster.apply(thing("bare", size=0))
        cluster.settle()
        condition = cluster.condition(Thing, "bare", "First")
        assert condition is not None
        assert condition.reason == "NotSelected"
        assert "without the labels 'app=shop'" in condition.message
        assert cluster.get(kinds.CONFIG_MAP, "bare") is None
        cluster.patch(kinds.CONFIG_MAP, "it", {"metadata": {"labels": {"app": "other"}}})
        cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "it")["metadata"]["labels"] == {"app": "shop"}


def test_a_managed_kind_may_have_namespaces_of_its_own() -> None:
    """They take precedence over those of the controller, in the cache and in the role."""

    def elsewhere(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        namespace = "kube-system" if it.spec.size else "kube-public"
        out.apply(config_map(it.name, namespace=namespace), owner_refs=False)
        return Done()

    class Spreading(Things):
        """Writes to one other namespace."""

        manages = (Manages(kinds.CONFIG_MAP, namespaces=("kube-system",)),)

    with Harness(Spreading(elsewhere, namespaces=("default",))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert name_of(cluster.require(kinds.CONFIG_MAP, "it", "kube-system")) == "it"
        cluster.apply(thing("lost", size=0))
        cluster.settle()
        condition = cluster.condition(Thing, "lost", "First")
        assert condition is not None
        assert condition.reason == "NamespaceNotWatched"
        assert "only the namespaces kube-system" in condition.message


async def found_by(ctx: Context, *names: str) -> list[Any]:
    """Return what a pass reads of Secrets, by name in two namespaces."""
    return [await ctx.get(kinds.SECRET, *name.split("/")[::-1]) for name in names]


def test_a_kind_that_is_not_cached_is_read_from_the_server() -> None:
    """It is neither listed nor watched and wakes nothing; listing it is an error, also live."""
    seen: list[Any] = []

    class Careful(Things):
        """Reads one Secret."""

        manages = ()
        reads = (Reads(kinds.SECRET, cached=False),)

    async def read(it: Thing, _out: OutputSet, ctx: Context) -> Result:
        seen.append([one and one["data"]["key"] for one in await found_by(ctx, "s", "missing")])
        if it.spec.size == 2:
            await ctx.list(kinds.SECRET)
        if it.spec.size == 3:
            await ctx.live.list(kinds.SECRET)
        return Done()

    passes = Passes(read)
    with Harness(Careful(passes), manifests=[secret("s")]) as cluster:
        cluster.apply(thing())
        act = lambda: cluster.patch(kinds.SECRET, "s", {"data": {"key": "bmV3"}})  # noqa: E731
        assert passes.during(cluster, act) == 0
        assert seen == [["dmFsdWU=", None]]
        assert queries(cluster, "secrets") == []
        for size in (2, 3):
            cluster.patch(Thing, "it", {"spec": {"size": size}})
            cluster.settle()
            condition = cluster.condition(Thing, "it", "First")
            assert condition is not None
            assert "declares with cached=False" in condition.message
        assert seen[-1] == ["bmV3", None]
    rights = rights_of([Careful]).granted[CLUSTER]
    assert rights[Target("", "secrets")] == {"get"}


@pytest.mark.parametrize(
    ("options", "kept", "asked"),
    [
        ({"metadata_only": True}, [{"metadata"}, {"metadata"}, {"metadata"}], {}),
        ({"fields": ("data.key",), "everywhere": True}, [{"metadata", "data"}] * 3, {}),
        (
            {"selector": "app=shop"},
            [{"metadata", "data", "type"}, None, None],
            {"labelSelector": "app=shop"},
        ),
        (
            {"field_selector": "metadata.name=b"},
            [None, {"metadata", "data", "type"}, None],
            {"fieldSelector": "metadata.name=b"},
        ),
    ],
    ids=["metadata", "fields", "labels", "field selector"],
)
def test_a_read_kind_is_cached_as_far_as_declared(
    options: dict[str, Any], kept: list[set[str] | None], asked: dict[str, str]
) -> None:
    """The server sends only the declared part, where it can filter."""
    seen: list[set[str] | None] = []

    class Reading(Things):
        """Reads Secrets."""

        manages = ()
        reads = (Reads(kinds.SECRET, **options),)

    async def read(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
        found = await found_by(ctx, "a", "b", "kube-system/c")
        assert all(one is None or one["kind"] == "Secret" for one in found)
        assert all(
            one is None or "other" not in one.get("data", {}) or not options.get("fields")
            for one in found
        )
        seen.extend(None if one is None else set(one) - {"apiVersion", "kind"} for one in found)
        return Done()

    passes = Passes(read)
    secrets = [secret("a", app="shop"), secret("b"), secret("c", "kube-system")]
    with Harness(Reading(passes), manifests=secrets) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert seen == kept
        for query in queries(cluster, "secrets"):
            assert asked.items() <= query.items()
        act = lambda: cluster.patch(kinds.SECRET, "a", {"data": {"other": "bmV3"}})  # noqa: E731
        assert passes.during(cluster, act) == (kept[0] is not None)


def test_a_read_kind_may_have_namespaces_of_its_own() -> None:
    """A controller of one namespace reads Secrets of another, and the role allows it."""
    seen: list[Any] = []

    class Reading(Things):
        """Reads Secrets of another namespace."""

        manages = ()
        reads = (Reads(kinds.SECRET, namespaces=("kube-system",)),)

    async def read(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
        seen.append(len(await ctx.list(kinds.SECRET, namespace="")))
        return Done()

    secrets = [secret("a"), secret("c", "kube-system")]
    with Harness(Reading(read, namespaces=("default",)), manifests=secrets) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert seen == [1]
    assert rights_of([Reading]).granted["kube-system"][Target("", "secrets")] >= {
        "list",
        "watch",
    }


def test_a_field_selector_that_the_server_does_not_know_stops_the_start() -> None:
    """The error is one sentence, instead of endless retries in the log."""

    class Reading(Things):
        """Selects by a field that does not exist."""

        reads = (Reads(kinds.NODE, field_selector="spec.colour=red"),)

    with pytest.raises(UsageError, match="refuses to list Node"), Harness(Reading()) as cluster:
        cluster.settle()
