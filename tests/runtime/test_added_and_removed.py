"""Controllers that are added and removed while the manager runs."""

import asyncio
from datetime import timedelta

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.errors import DefinitionError, UsageError
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.generate import crd
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, Harness, Status
from tests.runtime.test_missing_kinds import Gadget, Gadgets, GadgetSpec, problems
from tests.runtime.things import Thing, Things, config_map, thing

MINUTE = timedelta(minutes=1)


class MoreThings(Things):
    """Another controller of the same kind."""

    name = "more-things"


def child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child."""
    out.apply(config_map(it.name, it.spec.value))
    return Done()


def remove(cluster: Harness, name: str) -> None:
    """Remove a controller, as a task of the program would."""
    cluster._wait(cluster.manager.remove(name))


def test_a_controller_that_is_added_works_at_once() -> None:
    """Its kinds are listed, and its objects get passes, as those of the other controller do."""
    with Harness(Things(child)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert not cluster.server.create(crd(Gadget))
        cluster.manager.add(Gadgets())
        cluster.settle()
        cluster._controllers = (*cluster._controllers, Gadgets())  # for the kinds of ``apply``
        cluster.apply(Gadget(name="a", spec=GadgetSpec()))
        cluster.settle()
        assert cluster.ready(Gadget, "a")
        assert cluster.ready(Thing, "it")
        assert problems(cluster) == {}


def test_a_removed_controller_makes_no_pass_and_holds_no_cache() -> None:
    """Its tasks, watches and readyz lines are removed; the other controller keeps running."""
    with Harness(Things(child), Gadgets()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        remove(cluster, "thing")
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.apply(Gadget(name="a", spec=GadgetSpec()))
        cluster.settle()

        assert cluster.require(kinds.CONFIG_MAP, "it")["data"] == {"value": "a"}
        assert cluster.ready(Gadget, "a")
        assert [loop.controller.name for loop in cluster.manager.loops] == ["gadget"]
        assert not [name for name in cluster.manager.checks() if "thing" in name.lower()]
        assert problems(cluster) == {}
        caches = cluster.manager._caches
        assert caches is not None
        assert {health.scope.kind for health in caches.health()} == {Gadget.KIND}
        before = len(cluster.transport.log)
        cluster.advance(10 * MINUTE)
        assert not [one for one in cluster.transport.log[before:] if "/things" in str(one)]


def test_a_removed_controller_can_be_added_again() -> None:
    """It handles the changes that were made while it was removed."""
    with Harness(Things(child), Gadgets()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        remove(cluster, "thing")
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.manager.add(Things(child))
        cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "it")["data"] == {"value": "b"}
        cluster.at_rest()


def test_a_pass_under_way_finishes_before_its_controller_is_gone() -> None:
    """Its write is completed first."""
    released: list[asyncio.Event] = []

    async def slow(it: Thing, out: OutputSet, ctx: Context) -> Result:
        released.append(asyncio.Event())
        await released[-1].wait()
        return child(it, out, ctx)

    with Harness(Things(slow)) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=1))
        (loop,) = cluster.manager.loops
        assert loop.pool.queue.working
        removing = cluster.loop.create_task(cluster.manager.remove("thing"))
        cluster.step()
        assert not removing.done()
        released[0].set()
        cluster.step()
        assert removing.done()
        assert cluster.require(kinds.CONFIG_MAP, "it")["data"] == {"value": "a"}
        assert cluster.ready(Thing, "it")


def test_an_unknown_name_is_an_error_with_a_fix() -> None:
    """The error lists the controllers that exist."""
    with (
        Harness(Things()) as cluster,
        pytest.raises(UsageError, match=r"'Things' \(it has: thing\)"),
    ):
        remove(cluster, "Things")


def test_a_second_controller_of_a_kind_is_refused_while_running() -> None:
    """Even one that could have been added before; once the first is removed, it can be."""
    with Harness(Things()) as cluster:
        cluster.settle()
        with pytest.raises(DefinitionError, match="both control"):
            cluster.manager.add(Things())
        with pytest.raises(DefinitionError, match=r"fix: add both before run\(\)"):
            cluster.manager.add(MoreThings(conditions="annotation"))
        remove(cluster, "thing")
        cluster.manager.add(MoreThings(child))
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")


def test_a_controller_that_is_removed_before_the_start_is_not_started() -> None:
    """There is nothing to stop."""
    manager = Manager()
    manager.add(Things())
    asyncio.run(manager.remove("thing"))
    manager.add(Things())


def test_a_controller_without_rights_that_is_added_ends_no_process() -> None:
    """It is reported in readyz, and starts once the role was applied."""
    denied = [True]

    def faults(request: HttpRequest) -> Fault | None:
        return Status(403, "Forbidden") if denied[0] and "/gadgets" in request.path else None

    with Harness(Things(child), faults=faults) as cluster:
        cluster.settle()
        assert not cluster.server.create(crd(Gadget))
        cluster.manager.add(Gadgets())
        cluster.advance(MINUTE)
        (said,) = problems(cluster).values()
        assert said.startswith("Gadgets may not list gadgets: injected.")
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")
        denied[0] = False
        cluster.advance(MINUTE)
        assert problems(cluster) == {}
        assert len(cluster.manager.loops) == 2


def test_on_a_standby_an_added_controller_fills_its_caches_and_waits() -> None:
    """It writes when its process leads."""
    with Harness() as cluster:
        for definition in (crd(Thing), crd(Gadget)):
            assert not cluster.server.create(definition)
        managers = []
        for identity in ("one", "two"):
            options = ManagerOptions(
                seed=0, leader_election=True, identity=identity, leader_election_id="demo"
            )
            manager = Manager(
                options, transport=LocalTransport(cluster.server), clock=cluster.clock
            )
            manager.add(Things(child))
            managers.append((manager, cluster.loop.create_task(manager.run())))
            cluster.advance(MINUTE)
        (leader, leading), (standby, _standing) = managers
        standby.add(Gadgets())
        leader.add(Gadgets())
        cluster.advance(MINUTE)
        assert len(standby.loops) == 2
        assert standby.loops[1].view.is_synced
        cluster._controllers = (Gadgets(),)
        cluster.apply(Gadget(name="a", spec=GadgetSpec()))
        cluster.advance(MINUTE)
        assert cluster.ready(Gadget, "a"), "the leader started it at once"
        leader.stop()
        cluster.advance(MINUTE)
        assert leading.done()
        cluster.apply(Gadget(name="b", spec=GadgetSpec()))
        cluster.advance(MINUTE)
        assert cluster.ready(Gadget, "b")
        standby.stop()
        cluster.advance(MINUTE)
