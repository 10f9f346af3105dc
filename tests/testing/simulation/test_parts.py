"""The parts of the simulator by themselves: incarnations, views, normal forms, enumeration, draws."""

import asyncio
from contextvars import copy_context
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon import kinds
from myrmidon.api import Json
from myrmidon.errors import AlreadyExistsError, NotFoundError, UsageError
from myrmidon.testing.simulation import Plan, PlannedFault, explore, simulate
from myrmidon.testing.simulation.actions import KINDS, Action, frozen, thawed
from myrmidon.testing.simulation.edits import combined, patched
from myrmidon.testing.simulation.enumeration import depth_one, depth_two
from myrmidon.testing.simulation.explorer import Budget, Explorer
from myrmidon.testing.simulation.loop import INCARNATION, SimulationLoop
from myrmidon.testing.simulation.monitors import Monitor, Monitors
from myrmidon.testing.simulation.normalisation import Masks, normalised
from myrmidon.testing.simulation.scenarios import as_scenario
from myrmidon.testing.simulation.staleness import StaleView
from myrmidon.testing.simulation.swarm import drawn
from myrmidon.testing.simulation.trace import Commit
from myrmidon.testing.simulation.triggers import Moment
from tests.museum.e01_half_pair import BothSecrets
from tests.museum.kit import Thing as Gadget
from tests.museum.kit import creation
from tests.testing.simulation.naive import Naive, ref
from tests.testing.simulation.test_bugs import gadget, oracles
from tests.testing.simulation.things import life

CALM = settings(max_examples=40, deadline=None)

# ------------------------------------------------------------------------ incarnations


def in_incarnation(number: int, call: Any) -> Any:
    """Call a function as an incarnation."""
    context = copy_context()
    context.run(INCARNATION.set, number)
    return context.run(call)


def test_no_code_of_a_killed_incarnation_runs_again() -> None:
    """Neither its tasks, nor their finally, nor timers; others go on."""
    loop, done = SimulationLoop(), []

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait() if name == "waits" else await sleep(5)
            done.append(name)
        finally:
            done.append(f"finally {name}")

    async def sleep(seconds: float) -> None:
        future = loop.create_future()
        loop.call_later(seconds, future.set_result, None)
        await future

    async def main() -> None:
        for number, name in ((1, "dies"), (1, "waits"), (2, "lives")):
            in_incarnation(number, lambda name=name: loop.create_task(work(name)))
        in_incarnation(1, lambda: loop.call_later(5, done.append, "a timer of the dead"))
        await sleep(1)
        loop.kill(1)
        await sleep(10)
        assert done == ["lives", "finally lives"]

    loop.run_until_complete(main())
    loop.abandon()
    loop.close()


def test_a_paused_incarnation_goes_on_where_it_was() -> None:
    """Its timers fire when it goes on, at that time."""
    loop = SimulationLoop()
    seen: list[Any] = []

    async def main() -> None:
        future = loop.create_future()
        in_incarnation(1, lambda: loop.call_later(5, lambda: seen.append(loop.time())))
        loop.pause(1)
        in_incarnation(1, lambda: loop.call_soon(lambda: seen.append("soon")))
        loop.call_later(20, loop.resume, 1)
        loop.call_later(30, future.set_result, None)
        await future

    loop.run_until_complete(main())
    loop.close()
    assert seen == ["soon", 20.0]


# ------------------------------------------------------------------------------- views


@CALM
@given(st.lists(st.floats(0, 100), min_size=1), st.floats(0.1, 50), st.floats(0, 200))
def test_a_lag_hides_exactly_the_changes_that_are_too_young(
    times: list[float], lag: float, now: float
) -> None:
    """And the next wake-up is when the first hidden change becomes visible, never before."""
    commits = [Commit(10 + i, at, "user", -1, 0) for i, at in enumerate(sorted(times))]
    view = StaleView()
    view.delay(lag, 1000.0)
    until, next_at = view.limit(commits, now)
    for commit in commits:
        visible = until is None or commit.revision <= until
        assert visible == (commit.at + lag <= now)
    assert next_at > now


# ---------------------------------------------------------------------------- monitors


@pytest.mark.parametrize(("at", "found"), [(4.0, []), (6.0, ["late"])])
def test_a_property_that_holds_too_late_is_violated(at: float, found: list[str]) -> None:
    """Eventually and leads_to have a deadline, also if no change comes before it is over."""
    world: Any = {"holds": False}
    holds: Any = lambda seen: seen["holds"]  # noqa: E731
    begins: Any = lambda _seen: True  # noqa: E731
    for kind, first, then in (("eventually", holds, None), ("leads_to", begins, holds)):
        violated: list[str] = []
        report: Any = lambda name, _message, seen=violated: seen.append(name)  # noqa: E731
        monitors = Monitors(world, report)
        world["holds"] = False
        monitors.add(Monitor("late", kind, first, then, within=5.0), 0.0)
        world["holds"] = True
        monitors.check(at)
        monitors.finish(20.0)
        assert violated == found


# ------------------------------------------------------------------------- normal forms


def pod(name: str, uid: int, version: int, **metadata: Any) -> Json:
    """Build a Pod as the server stores it."""
    meta = {
        "name": name, "uid": f"00000000-0000-4000-8000-{uid:012x}", "generation": version,
        "resourceVersion": str(version), "creationTimestamp": "2026-01-01T00:00:00Z", **metadata,
    }  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "status": {"observedGeneration": version},
    }


def test_two_worlds_that_differ_in_names_uids_and_versions_are_equal() -> None:
    """Generated names become roles, generations become relations."""
    one = normalised([pod("a-x1", 1, 5, generateName="a-")], Masks())
    other = normalised([pod("a-q9", 77, 12, generateName="a-")], Masks())
    assert one == other
    assert one["Pod a-* #1"]["status"] == {"observedGeneration": "<current>"}


def test_ignored_fields_are_left_out() -> None:
    """By path, for all kinds or for one."""
    made = pod("a", 1, 5)
    assert "status" not in normalised([made], Masks(ignored=("status",)))["Pod a"]
    assert "status" not in normalised([made], Masks(ignored=("Pod status",)))["Pod a"]
    assert "status" in normalised([made], Masks(ignored=("Service status",)))["Pod a"]


def test_what_the_controllers_of_the_cluster_make_is_left_out() -> None:
    """The ReplicaSets of a Deployment keep its history, so they depend on the edits before."""
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u9"}
    made = {**pod("web-1", 1, 5), "kind": "ReplicaSet"}
    made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    own = {**pod("by-hand", 2, 6), "kind": "ReplicaSet"}
    own["metadata"]["ownerReferences"] = [{**owner, "kind": "WebApp", "controller": True}]

    assert set(normalised([made, own], Masks())) == {"ReplicaSet by-hand"}


# -------------------------------------------------------------------------------- plans


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(min_size=1),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(min_size=1), inner, min_size=1),
)


@CALM
@given(json_values)
def test_bodies_of_edits_can_be_keys_and_come_back(value: Any) -> None:
    """A frozen body is hashable, and thaws to what it was."""
    hash(frozen(value))
    assert thawed(frozen(value)) == value


moments = st.builds(
    Moment,
    st.sampled_from(("write", "request", "event", "time", "end")),
    st.integers(1, 50),
    st.sampled_from(("", "create")),
    st.sampled_from(("", "Pod")),
)
actions = st.sampled_from(sorted(KINDS)).flatmap(
    lambda kind: st.builds(
        Action,
        st.just(kind),
        st.sampled_from(KINDS[kind] or ("",)),
        st.sampled_from(("", "Pod/a")),
        st.floats(0, 100),
        body=st.dictionaries(st.text(min_size=1), st.integers(), max_size=2).map(frozen),
    )
)


@CALM
@given(st.lists(st.builds(PlannedFault, moments, actions)), st.lists(st.integers(0, 5)))
def test_every_plan_survives_json(faults: list[PlannedFault], skipped: list[int]) -> None:
    """Whatever it holds."""
    plan = Plan(tuple(faults), tuple(skipped))
    assert Plan.from_json(plan.to_json()) == plan


specs = st.dictionaries(st.sampled_from("abc"), st.none() | st.integers())


@CALM
@given(specs, specs, specs)
def test_combined_edits_have_the_effect_of_both(one: Any, two: Any, start: Any) -> None:
    """For merge patches of the fields of a spec."""
    first, second, document = {"spec": one}, {"spec": two}, {"spec": patched({}, start)}
    assert patched(document, combined(first, second)) == patched(patched(document, first), second)


# --------------------------------------------------------------------------- exploration


def test_the_reference_decides_what_is_enumerated() -> None:
    """Every write meets a crash and an ambiguous answer; equal crash points are tried once."""
    facts = simulate(life).facts
    assert facts is not None
    plans = list(depth_one(facts))
    assert len(plans) == len(set(plans))
    after = [p for p in plans if str(p).endswith("crash(after, seconds=5)") and "write" in str(p)]
    before = [p for p in plans if "crash(before" in str(p)]
    assert len(after) == len(facts.writes)
    assert len(before) < len(after)


def test_the_second_fault_lies_in_the_recovery_from_the_first() -> None:
    """Its moment comes after that of the first."""
    facts = simulate(life).facts
    assert facts is not None
    first = next(depth_one(facts))
    pairs = list(depth_two(first, facts))
    assert pairs
    assert all(plan.faults[1].trigger.number > plan.faults[0].trigger.number for plan in pairs)


@CALM
@given(st.integers(0, 2**32))
def test_a_seed_always_draws_the_same_plan(seed: int) -> None:
    """Which is not empty, and can be stored."""
    facts = FACTS
    plan, _ = drawn(seed, facts)
    assert (plan, _) == drawn(seed, facts)
    assert Plan.from_json(plan.to_json()) == plan
    assert 1 <= len(plan) <= 5


FACTS: Any = simulate(life).facts


def test_pairs_of_faults_are_explored_after_single_ones() -> None:
    """Depth two runs more plans than depth one, and none fails for a correct controller."""
    runs = []
    for depth in (1, 2):
        budget = Budget(swarm=0, depth=depth)
        explorer = Explorer(as_scenario(creation(BothSecrets)), budget, 0, 1, (0, 3))
        runs.append(explorer.explore(1, shrink=False).check().runs)
    assert runs[0] < runs[1]


@pytest.mark.parametrize("text", ["soon", "10", "1d", "-3s"])
def test_an_unknown_budget_is_refused(text: str) -> None:
    """With those that are known."""
    with pytest.raises(UsageError, match="ci, nightly, or a duration"):
        Budget.read(text)


# ------------------------------------------------------------------------- time travel


class StaleToggle(Naive):
    """Deletes the Secret if the object, as it sees it, does not want one."""

    resources = (Gadget,)
    children: ClassVar[Any] = (kinds.SECRET,)

    async def reconcile(self, obj: Json) -> None:
        """Keep the Secret only while the size is not 0."""
        there = self.cached(kinds.SECRET, "a")
        if obj["spec"]["size"] == 0 and there is not None:
            try:
                await self.client.delete(ref(kinds.SECRET, "a"))
            except NotFoundError:
                return
        elif obj["spec"]["size"] > 0 and there is None:
            try:
                await self.create(kinds.SECRET, self.child(obj, kinds.SECRET, "a"))
            except AlreadyExistsError:
                return


def test_a_restart_with_an_old_view_of_one_kind_is_found() -> None:
    """The object is old and the Secret is new: it is deleted, and created again later."""

    async def toggled(sim: Any) -> None:
        sim.controller(StaleToggle)
        made = await sim.user.create(gadget(0))
        await sim.settle()
        await sim.user.patch(made, size=1)
        await sim.settle()

    report = explore(toggled, budget="ci", stop_at=1)
    assert oracles(report) == {"O4"}
    assert report.failures[0].result is not None
    assert any(fault.action.kind == "travel" for fault in report.failures[0].result.plan)
