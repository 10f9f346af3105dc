"""R1: a change of an object that a pass has read wakes that pass's object, and no other."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, name_of
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.runtime import ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.test_unreadable import PoisonedHarness
from tests.runtime.things import Thing, Things, config_map, thing

HOUR = timedelta(hours=1)
Read = Callable[[Thing, Context], Coroutine[Any, Any, Any]]


def by_value(obj: Json) -> list[str]:
    """Return the value of a ConfigMap."""
    return [obj["data"]["value"]]


class Readers(Things):
    """Reads ConfigMaps and manages Secrets."""

    manages = (kinds.SECRET,)
    reads = (kinds.CONFIG_MAP,)
    indexes = {kinds.CONFIG_MAP: {"value": by_value}}  # noqa: RUF012

    def __init__(self, read: Read, **options: Any) -> None:
        super().__init__(self.look, **options)
        self.read = read
        self.passes: list[str] = []
        self.causes: list[str] = []

    async def look(self, it: Thing, _out: OutputSet, ctx: Context) -> Result:
        """Read what the test asks for."""
        self.passes.append(it.name)
        self.causes += map(str, ctx.cause)
        await self.read(it, ctx)
        return Done()

    def woken_by(self, cluster: Harness, act: Callable[[], object]) -> list[str]:
        """Return the objects that have a pass after an act, sorted."""
        cluster.settle()
        self.passes.clear()
        self.causes.clear()
        act()
        cluster.settle()
        return sorted(self.passes)


async def named(it: Thing, ctx: Context) -> None:
    """Read the ConfigMap that the object names."""
    await ctx.get(kinds.CONFIG_MAP, it.spec.value)


def test_r1_an_object_that_was_read_wakes_its_readers_alone() -> None:
    """It may be created or deleted later; it stops to count when the object reads another."""
    controller = Readers(named)
    with Harness(controller) as cluster:
        for name, value in (("a", "one"), ("b", "one"), ("c", "two")):
            cluster.apply(thing(name, value=value))

        def woken(act: Callable[..., object], *arguments: Any) -> list[str]:
            return controller.woken_by(cluster, lambda: act(*arguments))

        assert woken(cluster.apply, config_map("one")) == ["a", "b"]
        assert (
            controller.causes
            == ["create of ConfigMap default/one, which it read in state first"] * 2
        )
        assert woken(cluster.patch, kinds.CONFIG_MAP, "one", {"data": {"value": "b"}}) == ["a", "b"]
        assert woken(cluster.apply, config_map("three")) == []
        assert woken(cluster.apply, config_map("one", namespace="kube-system")) == []
        assert woken(cluster.patch, Thing, "b", {"spec": {"value": "two"}}) == ["b"]
        assert woken(cluster.delete, kinds.CONFIG_MAP, "one") == ["a"]
        assert woken(cluster.apply, config_map("two")) == ["b", "c"]
        cluster.delete(Thing, "c")
        assert woken(cluster.patch, kinds.CONFIG_MAP, "two", {"data": {"value": "b"}}) == ["b"]
        assert all("which it read" in cause for cause in controller.causes)


def test_r1_what_a_list_covers_wakes_before_and_after_a_change() -> None:
    """By label, index value or namespace; an object that leaves the list counts as well."""

    async def listed(it: Thing, ctx: Context) -> None:
        match it.name:
            case "labels":
                await ctx.list(kinds.CONFIG_MAP, labels={"tier": "web"})
            case "index":
                await ctx.list(kinds.CONFIG_MAP, index=("value", "red"))
            case "all":
                await ctx.list(kinds.CONFIG_MAP, namespace="")
            case "here":
                await ctx.list(kinds.CONFIG_MAP)
            case _:
                pass

    controller = Readers(listed)
    with Harness(controller) as cluster:
        for name in ("labels", "index", "all", "here", "none"):
            cluster.apply(thing(name))

        def woken(act: Callable[..., object], *arguments: Any) -> list[str]:
            return controller.woken_by(cluster, lambda: act(*arguments))

        def patched(changes: Json) -> list[str]:
            return woken(cluster.patch, kinds.CONFIG_MAP, "c", changes)

        assert woken(cluster.apply, config_map("c")) == ["all", "here"]
        assert patched({"metadata": {"labels": {"tier": "web"}}}) == ["all", "here", "labels"]
        assert patched({"data": {"value": "red"}}) == ["all", "here", "index", "labels"]
        assert patched({"data": {"value": "blue"}}) == ["all", "here", "index", "labels"]
        assert patched({"metadata": {"labels": {"tier": "db"}}}) == ["all", "here", "labels"]
        assert woken(cluster.apply, config_map("d", namespace="kube-system")) == ["all"]
        assert woken(cluster.delete, kinds.CONFIG_MAP, "c") == ["all", "here"]


def test_r1_a_change_between_the_read_and_the_end_of_the_pass_is_not_lost() -> None:
    """The object changes while the first pass that reads it is under way."""
    values: list[str] = []

    async def slow(it: Thing, ctx: Context) -> None:
        found = await ctx.get(kinds.CONFIG_MAP, "shared")
        await asyncio.sleep(10)  # noqa: TID251 - virtual time
        assert found is not None
        values.append(found["data"]["value"])

    controller = Readers(slow)
    with Harness(controller, manifests=[config_map("shared", namespace="default")]) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=5))
        cluster.patch(kinds.CONFIG_MAP, "shared", {"data": {"value": "b"}})
        cluster.settle()
        assert values == ["a", "b"]


def test_r1_an_interrupted_pass_keeps_the_earlier_reads() -> None:
    """It timed out before the read; the change wakes the object before its backoff is over."""
    stuck = False

    async def late(it: Thing, ctx: Context) -> None:
        if stuck:
            await asyncio.sleep(1000)  # noqa: TID251 - virtual time
        await named(it, ctx)

    controller = Readers(
        late, pass_timeout=timedelta(seconds=10), retry_min=HOUR, retry_max=HOUR, sync_period=None
    )
    with Harness(controller) as cluster:
        cluster.apply(thing(value="one"))
        cluster.settle()
        stuck = True
        cluster.patch(Thing, "it", {"metadata": {"labels": {"x": "y"}}})
        cluster.advance(timedelta(seconds=20))
        stuck = False
        controller.passes.clear()
        cluster.apply(config_map("one"))
        cluster.advance(timedelta(seconds=1))
        assert controller.passes == ["it"]


def test_r1_objects_that_were_cached_before_the_pass_wake_nothing() -> None:
    """A restart costs one pass per object, although the lists report everything that it reads."""
    controller = Readers(named)
    maps = [config_map(f"m{number}", namespace="default") for number in range(20)]
    with Harness(controller, manifests=maps) as cluster:
        for number in range(20):
            cluster.apply(thing(f"t{number}", value=f"m{number}"))
        cluster.settle()
        controller.passes.clear()
        cluster.restart()
        cluster.settle()
        assert len(controller.passes) == 20
        act = lambda: cluster.patch(kinds.CONFIG_MAP, "m3", {"data": {"value": "b"}})  # noqa: E731
        assert controller.woken_by(cluster, act) == ["t3"], "the first passes know what they read"


def test_live_reads_and_the_object_itself_are_not_dependencies() -> None:
    """ctx.live never causes wake-ups; a change of the object itself causes one pass, not two."""

    async def live(it: Thing, ctx: Context) -> None:
        await ctx.live.get(kinds.CONFIG_MAP, "one")
        await ctx.live.list(kinds.CONFIG_MAP)
        await ctx.get(Thing, it.name)

    controller = Readers(live)
    with Harness(controller) as cluster:
        cluster.apply(thing())
        act = lambda: cluster.apply(config_map("one"))  # noqa: E731
        assert controller.woken_by(cluster, act) == []
        act = lambda: cluster.patch(Thing, "it", {"spec": {"value": "b"}})  # noqa: E731
        assert controller.woken_by(cluster, act) == ["it"]
        assert [cause.split()[0] for cause in controller.causes] == ["self"]
        assert cluster.manager.loops[0].readers.is_empty


class Owners(Things):
    """Reads the ConfigMap that it writes, and that of another."""

    manages = (kinds.CONFIG_MAP,)


def test_a_pass_that_writes_what_it_reads_converges() -> None:
    """Its own write does not wake it; writes for another object and by other clients do."""
    passes: list[str] = []
    causes: list[str] = []

    async def both(it: Thing, out: OutputSet, ctx: Context) -> Result:
        passes.append(it.name)
        causes.extend(map(str, ctx.cause))
        await ctx.get(kinds.CONFIG_MAP, it.name)
        await ctx.get(kinds.CONFIG_MAP, "a")
        out.apply(config_map(it.name, it.spec.value))
        return Done()

    with Harness(Owners(both)) as cluster:
        cluster.apply(thing("a"))
        cluster.apply(thing("b"))
        cluster.settle()
        passes.clear()
        causes.clear()
        cluster.patch(Thing, "a", {"spec": {"value": "b"}})
        cluster.settle()
        assert sorted(passes) == ["a", "a", "b"], (
            "a decided on what it then changed, and looks again"
        )
        assert "update of ConfigMap default/a, which it read in state first" in causes
        passes.clear()
        causes.clear()
        cluster.patch(kinds.CONFIG_MAP, "b", {"metadata": {"labels": {"x": "y"}}})
        cluster.settle()
        assert passes == ["b"]
        assert causes == ["child update of ConfigMap default/b"], "one cause, not two"


def test_r1_an_object_that_becomes_readable_wakes_its_readers() -> None:
    """So does an object that can no longer be read."""
    controller = Readers(named)
    maps = [config_map("one", namespace="default")]
    with PoisonedHarness(controller, manifests=maps) as cluster:
        cluster.apply(thing(value="one"))
        act = lambda: cluster.patch(kinds.CONFIG_MAP, "one", {"data": {"value": "poison"}})  # noqa: E731
        assert controller.woken_by(cluster, act) == ["it"]
        act = lambda: cluster.patch(kinds.CONFIG_MAP, "one", {"data": {"value": "fine"}})  # noqa: E731
        assert controller.woken_by(cluster, act) == ["it"]


def test_q12_the_reads_of_deleted_objects_are_forgotten() -> None:
    """Memory depends on the objects, not on the passes."""
    controller = Readers(named)
    with Harness(controller) as cluster:
        for number in range(5):
            cluster.apply(thing(f"t{number}", value="one"))
        cluster.settle()
        (loop,) = cluster.manager.loops
        assert loop.readers.dependencies == 5
        for number in range(5):
            cluster.delete(Thing, f"t{number}")
        cluster.settle()
        assert loop.readers.is_empty


def test_a_change_that_many_objects_have_read_wakes_all_of_them() -> None:
    """Q8: their keys are added in several turns of the event loop; the harness waits for all."""
    controller = Readers(named)
    with Harness(controller) as cluster:
        for number in range(600):
            cluster.apply(thing(f"t{number:03d}", value="one"))
        act = lambda: cluster.apply(config_map("one"))  # noqa: E731
        assert controller.woken_by(cluster, act) == [f"t{number:03d}" for number in range(600)]


def test_explain_says_which_read_woke_an_object() -> None:
    """The snapshot has the sentence that ``myrmidon explain`` prints."""
    controller = Readers(named)
    with Harness(controller, options=ManagerOptions(trace=True)) as cluster:
        cluster.apply(thing(value="one"))
        cluster.settle()
        cluster.apply(config_map("one"))
        cluster.settle()
        view = cluster.manager.view("Thing", "default/it")
        assert view is not None
        assert view.causes == ("create of ConfigMap default/one, which it read in state first",)


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "point"]),
        st.sampled_from(["m0", "m1", "m2"]),
        st.sampled_from(["t0", "t1", "t2"]),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(ACTS, st.booleans())
def test_r1_objects_are_as_if_every_change_had_given_all_a_pass(
    acts: list[tuple[str, str, str]],
    slow: bool,
) -> None:
    """After any changes, each object's status shows what it reads now."""

    async def said(it: Thing, ctx: Context) -> None:
        found = await ctx.get(kinds.CONFIG_MAP, it.spec.value)
        if slow:
            await asyncio.sleep(1)  # noqa: TID251 - virtual time
        every = await ctx.list(kinds.CONFIG_MAP, labels="kept=yes")
        it.status.note = f"{found and found['data']['value']} {' '.join(map(name_of, every))}"

    controller = Readers(said, sync_period=None)
    with Harness(controller) as cluster:
        for name in ("t0", "t1", "t2"):
            cluster.apply(thing(name, value="m0"))
        there: dict[str, str] = {}
        points = dict.fromkeys(("t0", "t1", "t2"), "m0")
        for number, (act, name, who) in enumerate(acts):
            if act == "write":
                there[name] = f"v{number}"
                labels = {"kept": "yes" if number % 2 else "no"}
                cluster.apply(config_map(name, there[name], labels=labels))
            elif act == "delete" and name in there:
                del there[name]
                cluster.delete(kinds.CONFIG_MAP, name)
            elif act == "point":
                points[who] = name
                cluster.patch(Thing, who, {"spec": {"value": name}})
            cluster.advance(timedelta(seconds=0.3 * (number % 4)))
        cluster.settle()
        kept = [
            name_of(obj)
            for obj in cluster.list(kinds.CONFIG_MAP)
            if (obj["metadata"].get("labels") or {}).get("kept") == "yes"
        ]
        for who, name in points.items():
            note = f"{there.get(name)} {' '.join(sorted(kept))}"
            assert cluster.require(Thing, who).status.note == note


@pytest.mark.parametrize("suspended", ["true", "false"])
def test_a_suspended_object_depends_on_nothing(suspended: str) -> None:
    """W6: no state runs, so nothing is read."""
    controller = Readers(named)
    with Harness(controller) as cluster:
        cluster.apply(thing(value="one"))
        cluster.settle()
        label = {"metadata": {"labels": {"myrmidon.dev/suspend": suspended}}}
        cluster.patch(Thing, "it", label)
        cluster.settle()
        assert cluster.manager.loops[0].readers.dependencies == (suspended == "false")


def test_q12_reads_after_the_end_of_a_pass_do_not_count() -> None:
    """A task that a state left behind would keep dependencies that no pass replaces."""
    tasks: list[asyncio.Task[Any]] = []

    async def late(it: Thing, ctx: Context) -> None:
        async def later() -> None:
            await asyncio.sleep(60)  # noqa: TID251 - virtual time
            assert await ctx.get(kinds.CONFIG_MAP, "one") is None

        tasks.append(asyncio.get_running_loop().create_task(later()))

    with Harness(Readers(late)) as cluster:
        cluster.apply(thing())
        cluster.advance(HOUR)
        assert all(task.done() and task.exception() is None for task in tasks)
        assert cluster.manager.loops[0].readers.is_empty
