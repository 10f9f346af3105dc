"""One run of a scenario: deterministic, and each fault of a plan does what it says."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from myrmidon.errors import UsageError
from myrmidon.testing.simulation import Plan, Scenario, SimulationError, simulate
from myrmidon.testing.simulation import actions as a
from myrmidon.testing.simulation import triggers as t
from myrmidon.testing.simulation.trace import Happened
from tests.museum.e10_random_names import NumberedNames
from tests.testing.simulation.test_bugs import gadget
from tests.testing.simulation.things import Things, growth, life, thing

HERE = Path(__file__).parent


def happened(result: Any) -> list[str]:
    """Return what the processes and faults did, without times."""
    return [f"{one.who} {one.what}" for one in result.trace.entries if type(one) is Happened]


def test_a_scenario_without_faults_runs_clean() -> None:
    """The reference of the small scenario violates nothing and leaves nothing."""
    result = simulate(life).check()
    assert result.finished
    assert result.end == {}


def test_the_same_arguments_give_the_same_trace() -> None:
    """Twice in this process; with faults as well."""
    plan = Plan.of((t.write(3), a.crash("after")), (t.event("ConfigMap", 1), a.watch("410")))
    for given in (Plan(), plan):
        assert simulate(life, plan=given).trace_hash == simulate(life, plan=given).trace_hash


def test_the_trace_does_not_depend_on_the_process() -> None:
    """Another interpreter with other hashes of strings gives the same trace."""
    program = (
        "from tests.testing.simulation.things import life\n"
        "from myrmidon.testing.simulation import Plan, simulate, actions as a, triggers as t\n"
        "plan = Plan.of((t.write(2), a.applied_then('timeout')), (t.write(5), a.crash()))\n"
        "print(simulate(life, plan=plan).trace_hash)\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(HERE.parents[2])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "7")
    }
    assert len(found) == 1, found


PLANS = {
    "crash before": (t.write(2), a.crash("before")),
    "crash after": (t.write(2), a.crash("after")),
    "lost": (t.write(2), a.lost()),
    "applied then timeout": (t.write(2), a.applied_then("timeout")),
    "applied then reset": (t.write(2), a.applied_then("reset")),
    "applied then 500": (t.write(2), a.applied_then("500")),
    **{f"reply {code}": (t.write(2), a.reply(code)) for code in (403, 404, 409, 413, 500, 503)},
    "reply 429": (t.write(2), a.reply(429, retry_after=3)),
    "named write": (t.write(verb="create", kind="Secret", occ=1), a.crash("after")),
    "state": (t.write(state="secured", kind="Secret"), a.crash("after")),
    "request": (t.request(4), a.reply(500)),
    "lag": (t.write(2), a.lag("ConfigMap", 10.0)),
    "hold": (t.write(1), a.hold("Thing", 20.0)),
    "watch eof": (t.event("Thing", 1), a.watch("eof")),
    "watch 410": (t.event("Thing", 2), a.watch("410")),
    "watch stall": (t.event("ConfigMap", 1), a.watch("stall")),
    "watch dup": (t.event("Secret", 1), a.watch("dup")),
    "pause": (t.write(2), a.pause(20.0)),
    "slow": (t.write(1), a.slow(1.2)),
    "clock": (t.write(1), a.clock(-7200.0)),
    "webhook mutate": (t.write(1), a.webhook("mutate", "ConfigMap")),
    "webhook reject": (t.write(1), a.webhook("reject", "ConfigMap")),
    "webhook down": (t.write(1), a.webhook("down", "ConfigMap")),
    "user edit": (t.write(2), a.user("edit", "Thing/a", {"spec": {"size": 2}})),
    "user recreate": (t.write(2), a.user("recreate", "Thing/a")),
    "monkey delete": (t.event("ConfigMap", 1), a.monkey("delete", "ConfigMap/a")),
    "monkey edit": (t.event("ConfigMap", 1), a.monkey("edit", "ConfigMap/a")),
    "rbac": (t.write(1), a.rbac("ConfigMap", "create")),
    "gc lag": (t.write(1), a.gc("lag")),
    "gc restart": (t.write(4), a.gc("restart")),
    "at a time": (t.time(0.0), a.crash()),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_fault_happens_and_the_controller_ends_as_without_it(name: str) -> None:
    """Each kind of fault fires, and the objects at the end are those of the reference."""
    result = simulate(growth, plan=Plan.of(PLANS[name])).check()
    assert result.fired == (True,)
    assert result.finished
    assert result.end == simulate(growth).end


def test_a_crash_starts_a_process_without_memory() -> None:
    """The process is killed, another one starts, and no code of the first runs any more."""
    result = simulate(growth, plan=Plan.of((t.write(2), a.crash("after", down=7))))
    assert happened(result)[1:5] == [
        "user create", "fault crash(after, seconds=7)", "controller-0 was killed",
        "controller-0 started",
    ]  # fmt: skip
    numbers = [one.incarnation for one in result.trace.exchanges()]
    assert numbers == sorted(numbers)


def test_a_paused_leader_is_replaced_and_gives_up() -> None:
    """Two replicas: the leader stops for longer than its lease, the other takes over."""

    async def pair(sim: Any) -> None:
        sim.controller(Things, replicas=2)
        await sim.user.create(thing())
        await sim.settle()

    result = simulate(pair, plan=Plan.of((t.write(2), a.pause(30.0)))).check()
    writers = {one.process for one in result.trace.exchanges() if one.subject.counts}
    assert writers == {0, 1}
    assert "controller-0 exited" in happened(result)


@pytest.mark.parametrize("how", ["lose", "steal"])
def test_a_lease_can_be_taken_away(how: str) -> None:
    """Whatever happens to the Lease, the pair converges."""

    async def pair(sim: Any) -> None:
        sim.controller(Things, replicas=2)
        made = await sim.user.create(thing())
        await sim.settle()
        await sim.user.patch(made, size=3)
        await sim.settle()

    result = simulate(pair, plan=Plan.of((t.write(2), a.lease(how)))).check()
    assert result.fired == (True,)


def test_the_timers_of_the_cluster_survive_a_process() -> None:
    """A Pod starts although the process that created it, and so set the timer, was killed."""

    async def started(sim: Any) -> None:
        sim.controller(NumberedNames)
        sim.eventually("the Pod runs", runs, within=5)
        await sim.user.create(gadget(1))
        await sim.settle()

    def runs(world: Any) -> bool:
        return any((one.get("status") or {}).get("phase") == "Running" for one in world.list("Pod"))

    plan = Plan.of((t.write(1), a.crash("after", down=60.0)))
    simulate(started, plan=plan, compare=False).check()


def test_a_namespace_can_be_deleted() -> None:
    """The controllers let it go."""
    plan = Plan.of((t.write(4), a.namespace()))
    result = simulate(Scenario(growth, namespace="shop"), plan=plan).check()
    assert result.fired == (True,)
    assert result.end == {}


def test_a_fault_that_never_happens_did_not_fire() -> None:
    """A run proves nothing about a fault whose moment never came, or that had no effect."""
    late = simulate(life, plan=Plan.of((t.write(99), a.crash()), (t.write(1), a.slow(0.1))))
    assert late.fired == (False, True)
    assert not late.all_fired
    unseen = simulate(life, plan=Plan.of((t.write(1), a.travel("ConfigMap", 1))))
    assert not unseen.all_fired  # myrmidon never reads with resourceVersion=0


@pytest.mark.parametrize("name", PLANS)
def test_plans_survive_a_round_trip_through_json(name: str) -> None:
    """A stored plan is the same plan."""
    plan = Plan.of(PLANS[name])
    assert Plan.from_json(plan.to_json()) == plan


def test_a_plan_that_says_nonsense_is_refused() -> None:
    """With what is allowed."""
    with pytest.raises(UsageError, match="is not an action"):
        Plan.from_json([{"when": {"on": "write"}, "do": "explode"}])
    with pytest.raises(UsageError, match="is not a trigger"):
        Plan.from_json([{"when": {"on": "whim"}, "do": "lost"}])
    with pytest.raises(UsageError, match="is an instance"):
        simulate(Things())


def test_properties_of_the_user_are_checked_after_every_change() -> None:
    """always, never, eventually and leads_to; a violation tells its story."""

    async def watched(sim: Any) -> None:
        sim.controller(Things)
        sim.never("there is a Secret", lambda world: world.exists("Secret", "a"))
        sim.eventually("there is a ConfigMap", lambda world: world.exists("cm", "a"), within=5)
        sim.leads_to(
            "a ConfigMap leads to a Pod",
            lambda world: world.exists("ConfigMap", "a"),
            lambda world: world.exists("Pod", "a"),
            within=60,
        )
        made = await sim.user.create(thing())
        await sim.settle()
        sim.always("the ConfigMap stays", lambda world: world.exists("configmaps", "a"))
        await sim.user.delete(made)
        await sim.settle()

    result = simulate(watched)
    assert [(one.oracle, one.role) for one in result.failures] == [
        ("O10", "there is a Secret"),
        ("O10", "the ConfigMap stays"),
        ("O10", "a ConfigMap leads to a Pod"),
    ]
    with pytest.raises(SimulationError, match="controller-0 created Secret a"):
        result.check()
