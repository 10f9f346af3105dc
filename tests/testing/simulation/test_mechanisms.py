"""What the exploration relies on: the order of steps, references, roles, owners, storms and fences."""

from typing import Any

import pytest

from myrmidon import kinds
from myrmidon.api import Json
from myrmidon.testing.simulation import Plan, Scenario, simulate
from myrmidon.testing.simulation import actions as a
from myrmidon.testing.simulation import triggers as t
from myrmidon.testing.simulation.normalisation import roles_of
from myrmidon.testing.simulation.references import References
from tests.museum.e02_destroy_first_resize import EXHIBIT as RESIZE
from tests.museum.e15_cross_namespace_owner import EXHIBIT as ACROSS
from tests.museum.e20_zombie_leader import EXHIBIT as ZOMBIE
from tests.museum.kit import CONFIG_MAP, PVC, Reconciler, claim, editing, thing
from tests.testing.simulation.naive import ref
from tests.testing.simulation.things import Things, life
from tests.testing.simulation.things import thing as small

POD = {"kind": "Pod", "apiVersion": "v1"}


def test_a_step_of_the_user_is_made_before_the_request_that_it_disturbs() -> None:
    """A deletion at the first write: the controller writes to an object that is being deleted."""

    async def created(sim: Any) -> None:
        sim.controller(Things)
        await sim.user.create(small())
        await sim.settle()

    result = simulate(created, plan=Plan.of((t.write(1), a.user("delete", "Thing/a"))))
    first = next(one for one in result.trace.exchanges() if one.subject.counts)
    assert first.outcome.startswith("404")


def test_an_edit_of_a_plan_counts_where_it_was_made() -> None:
    """The scenario edits the same field later, so its value is wanted at the end."""

    async def edited(sim: Any) -> None:
        sim.controller(Things)
        made = await sim.user.create(small(1))
        await sim.settle()
        await sim.user.patch(made, size=3)
        await sim.settle()
        await sim.user.patch(made, size=2)
        await sim.settle()

    references = References(Scenario(edited))
    body = {"spec": {"size": 3}}
    early = Plan.of((t.write(2), a.user("edit", "Thing/a", body)))
    last = len(references.facts.writes)
    late = Plan.of((t.write(last), a.user("edit", "Thing/a", body)))
    for plan, size in ((early, "2"), (late, "3")):
        result = references.run(plan)
        assert not result.failures
        assert result.end["ConfigMap default/a"]["data"] == {"size": size}


def test_a_user_who_creates_an_object_again_waits_for_the_end_of_the_old_one() -> None:
    """The controller is down, so its finalizer keeps the old object for a while."""

    async def recreated(sim: Any) -> None:
        sim.controller(Things)
        made = await sim.user.create(small())
        await sim.settle()
        await sim.user.delete(made)
        await sim.user.create(small())
        await sim.settle()

    references = References(Scenario(recreated))
    assert not references.failures
    assert not references.run(Plan.of((t.write(5), a.crash("before", down=90)))).failures


def test_the_role_of_a_generated_name_does_not_depend_on_the_order_of_objects() -> None:
    """An owner that was changed last comes after its children."""
    owner = {"kind": "Thing", "metadata": {"name": "a", "uid": "1"}}
    child = {
        **POD, "metadata": {
            "name": "a-xyz", "generateName": "a-", "uid": "2", "ownerReferences": [{"uid": "1"}],
        },
    }  # fmt: skip
    expected = {"1": "Thing a", "2": "Pod a-* of Thing a #1"}
    assert roles_of([owner, child]) == roles_of([child, owner]) == expected


def test_an_owner_in_another_namespace_is_a_failure_and_the_storm_ends_the_run() -> None:
    """One oracle names the reference, another the storm; the run is short all the same."""
    result = Scenario(ACROSS.play(ACROSS.buggy)).run()
    assert {"O6", "O7"} <= {one.oracle for one in result.failures}
    assert len(result.trace.commits) < 3000


@pytest.mark.parametrize(("make", "times"), [(ACROSS.buggy, 1), (ACROSS.fixed, 0)])
def test_a_collector_that_finds_owners_by_uid_deletes_the_child_after_its_restart(
    make: Any, times: int
) -> None:
    """Not before: its graph has the owner, in whichever namespace.  The controller repairs it."""
    plan = Plan.of((t.end(), a.gc("restart")))
    quiet, restarted = ACROSS.scenario(make).run(), ACROSS.scenario(make).run(plan)
    made = ("create", "ConfigMap topics/topic")
    assert quiet.summary[made] == 1
    assert restarted.summary[made] == 1 + times


def test_a_webhook_of_the_scenario_changes_what_is_stored() -> None:
    """Also what the user and the controllers write, in every run."""

    async def marked(sim: Any) -> None:
        sim.controller(Things)
        sim.webhook("ConfigMap", lambda obj: {**obj, "data": {**obj["data"], "zone": "b"}})
        await sim.user.create(small())
        await sim.settle()
        assert sim.world.get("ConfigMap", "a")["data"] == {"size": "1", "zone": "b"}

    for plan in (
        Plan(),
        Plan.of((t.write(2), a.crash())),
        Plan.of((t.write(1), a.webhook("mutate"))),
    ):
        simulate(marked, plan=plan).check()
    untouched = simulate(life)
    assert not untouched.failures


def test_steps_without_a_rest_are_also_tried_with_one() -> None:
    """The user edits twice at once; a quicker controller would have seen both edits."""

    async def twice(sim: Any) -> None:
        sim.controller(Things)
        made = await sim.user.create(small(1))
        await sim.settle()
        await sim.user.patch(made, size=3)
        await sim.user.patch(made, size=2)
        await sim.settle()

    references = References(Scenario(twice))
    assert references.facts.hasty
    assert not references.failures
    assert not References(Scenario(life)).facts.hasty


def test_a_write_that_was_under_way_when_the_leader_stopped_is_no_breach_of_its_lease() -> None:
    """The writes after it are: the zombie has them, the fenced leader has not."""
    plan = Plan.of((t.write(1), a.pause(20.0)))
    zombie = ZOMBIE.scenario(ZOMBIE.buggy).run(plan)
    assert {"Thing default/d"} & {one.role for one in zombie.failures} == set()
    assert "O12" in {one.oracle for one in zombie.failures}
    fenced = ZOMBIE.scenario(ZOMBIE.fixed).run(plan)
    assert fenced.all_fired
    assert not fenced.failures


class Claims(Reconciler):
    """Keeps a claim of the size that is asked for, until the Thing is deleted."""

    children = (PVC,)

    async def reconcile(self, obj: Json) -> None:
        """Create or resize the claim."""
        wanted = claim(obj["spec"]["size"])
        there = await self.ensure(PVC, self.child(obj, PVC, "data", **wanted))
        if there["spec"]["resources"] != wanted["spec"]["resources"]:
            await self.client.update(PVC, {**there, "spec": {**there["spec"], **wanted["spec"]}})


def test_claims_are_resized_and_go_with_their_owner() -> None:
    """The protection finalizer of the server is removed once no pod uses the claim."""

    async def volume(sim: Any) -> None:
        sim.controller(Claims)
        made = await sim.user.create(thing(size=10))
        await sim.settle()
        await sim.user.patch(made, size=15)
        await sim.settle()
        found = sim.world.get(kinds.PERSISTENT_VOLUME_CLAIM, "data")
        assert found["status"]["capacity"] == {"storage": "15Gi"}
        await sim.user.delete(made)
        await sim.settle()
        assert not sim.world.exists("PVC", "data")

    simulate(volume).check()


def test_a_claim_that_a_pod_uses_stays_until_the_pod_is_gone() -> None:
    """As with the PVC protection controller of Kubernetes."""

    async def used(sim: Any) -> None:
        sim.controller(Claims)
        made = await sim.user.create(thing(size=10))
        await sim.settle()
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
        spec = {"containers": [{"name": "main", "image": "main:1"}], "volumes": volumes}
        pod = await sim.user.create({**POD, "metadata": {"name": "user"}, "spec": spec})
        await sim.user.delete(made)
        await sim.settle()
        assert sim.world.exists("PVC", "data")
        await sim.user.delete(pod)
        await sim.settle()
        assert not sim.world.exists("PVC", "data")

    simulate(used).check()


class KeysStay(Reconciler):
    """Adds keys to a ConfigMap and never removes one."""

    children = (CONFIG_MAP,)

    async def reconcile(self, obj: Json) -> None:
        """Add the key of the spec."""
        data = {obj["spec"]["cfg"]: "on"}
        there = await self.ensure(CONFIG_MAP, self.child(obj, CONFIG_MAP, "a", data=data))
        if not data.items() <= there["data"].items():
            await self.client.patch(ref(CONFIG_MAP, "a"), {"data": data})


def test_an_end_that_depends_on_the_first_spec_is_found_without_faults() -> None:
    """An object that is created as its first edit leaves it has to end alike."""
    references = References(Scenario(editing({"cfg": "x"}, {"cfg": "y"})(KeysStay)))
    assert {one.oracle for one in references.failures} == {"O3"}


def test_an_edit_before_the_controller_is_done_explains_fewer_creates() -> None:
    """The StatefulSet is made once, with the second size; without faults it is made twice."""
    references = References(RESIZE.scenario(RESIZE.fixed))
    late = Plan.of((t.write(1), a.lost()), (t.write(2), a.lost()))
    result = references.run(late)
    assert result.summary["create", "StatefulSet default/a"] == 1
    assert not result.failures
