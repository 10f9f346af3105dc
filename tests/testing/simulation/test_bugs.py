"""Known bugs of hand-written controllers are found, and their corrections are clean."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest
from pydantic import Field

from myrmidon import Model, Resource, Status, kinds
from myrmidon.api import Json
from myrmidon.api.values.timestamps import write_time
from myrmidon.errors import AlreadyExistsError, ConflictError
from myrmidon.testing.simulation.explorer import SimulationReport, explore
from tests.testing.simulation.naive import Naive, ref


class GadgetSpec(Model):
    """What the user asks for."""

    size: int = Field(default=1, ge=0)


class GadgetStatus(Status):
    """What controllers have observed."""

    ext_id: str | None = None


class Gadget(Resource[GadgetSpec, GadgetStatus], group="bugs.myrmidon.dev", version="v1"):
    """An object of the buggy controllers."""


PART = (1, 6)  # of the plans of a correction; the sweep over all of them takes a minute
SECRET, POD, CONFIG_MAP = kinds.SECRET, kinds.POD, kinds.CONFIG_MAP


def gadget(size: int = 1) -> Gadget:
    """Build a gadget."""
    return Gadget(name="a", spec=GadgetSpec(size=size))


def oracles(report: SimulationReport) -> set[str]:
    """Return the oracles that fired."""
    return {failure.oracle for failure in report.failures}


# ------------------------------------------------------------------------- a half pair


class HalfPair(Naive):
    """The second Secret is only created together with the first."""

    resources = (Gadget,)
    children = (SECRET,)

    async def reconcile(self, obj: Json) -> None:
        """Create both Secrets if the first is missing."""
        if self.cached(SECRET, "ssl") is None:
            await self.ensure(obj, "ssl")
            await self.ensure(obj, "ssl-internal")

    async def ensure(self, obj: Json, name: str) -> None:
        """Create a Secret, if it does not exist."""
        try:
            await self.create(SECRET, self.child(obj, SECRET, name))
        except AlreadyExistsError:
            return


class BothSecrets(HalfPair):
    """Each Secret is created by itself."""

    async def reconcile(self, obj: Json) -> None:
        """Create each Secret that is missing."""
        for name in ("ssl", "ssl-internal"):
            if self.cached(SECRET, name) is None:
                await self.ensure(obj, name)


def creation(make: Any) -> Any:
    """Return the scenario that only creates."""

    async def created(sim: Any) -> None:
        sim.controller(make)
        await sim.user.create(gadget())
        await sim.settle()

    return created


def test_a_half_pair_is_found() -> None:
    """A crash between two creates leaves one Secret for ever; the story names it."""
    report = explore(creation(HalfPair), budget="ci", stop_at=1)
    failure = next(one for one in report.failures if one.oracle == "O1")
    assert failure.role == "Secret default/ssl-internal"
    assert failure.result is not None
    assert len(failure.result.plan) == 1
    story = failure.story()
    assert "FAULT" in story
    assert "is missing" in story


def test_two_independent_secrets_are_clean() -> None:
    """The correction has no failure."""
    explore(creation(BothSecrets), budget="ci", shard=PART).check()


# ------------------------------------------------------------------ random names


class RandomNames(Naive):
    """Counts the cached Pods and creates what is missing, with generated names."""

    resources = (Gadget,)
    children = (POD,)

    async def reconcile(self, obj: Json) -> None:
        """Create or delete Pods until there are as many as the size."""
        pods = self.owned(POD, obj)
        for _ in range(obj["spec"]["size"] - len(pods)):
            made = self.child(obj, POD, "", spec=POD_SPEC)
            made["metadata"]["generateName"] = "a-"
            del made["metadata"]["name"]
            await self.client.send(_create(made))


POD_SPEC = {"containers": [{"name": "main", "image": "main:1"}]}


def _create(made: Json) -> Any:
    from myrmidon.api.requests.request import Request, Verb  # noqa: PLC0415

    return Request(Verb.CREATE, ref(POD, ""), made)


class NumberedNames(Naive):
    """Creates Pods with names that it can predict."""

    resources = (Gadget,)
    children = (POD,)

    async def reconcile(self, obj: Json) -> None:
        """Create each Pod that is missing."""
        for number in range(obj["spec"]["size"]):
            if self.cached(POD, f"a-{number}") is None:
                try:
                    await self.create(POD, self.child(obj, POD, f"a-{number}", spec=POD_SPEC))
                except AlreadyExistsError:
                    continue


def scaling(make: Any) -> Any:
    """Return the scenario that scales up."""

    async def scaled(sim: Any) -> None:
        sim.controller(make)
        made = await sim.user.create(gadget(2))
        await sim.settle()
        sim.always("at most as many Pods as wanted", few_enough)
        await sim.user.patch(made, size=3)
        await sim.settle()

    return scaled


def few_enough(world: Any) -> bool:
    """Whether there are not more Pods than any size that was asked for."""
    return len(world.list("Pod")) <= 3


def test_pods_with_random_names_are_created_twice() -> None:
    """After a lag of the Pods, or an ambiguous create."""
    report = explore(scaling(RandomNames), budget="ci", stop_at=1)
    assert oracles(report) & {"O1", "O4", "O10"}


def test_pods_with_numbered_names_are_clean() -> None:
    """The correction has no failure."""
    explore(scaling(NumberedNames), budget="ci", shard=PART).check()


# ---------------------------------------------------------------- create, then record


class CreateThenRecord(Naive):
    """Creates an external resource and then writes its id to the status."""

    resources = (Gadget,)
    cloud: ClassVar[Any] = None
    with_token = False

    async def reconcile(self, obj: Json) -> None:
        """Create the resource unless its id is known; delete it with the object."""
        meta = obj["metadata"]
        known = (obj.get("status") or {}).get("extId")
        if meta.get("deletionTimestamp"):
            if "bugs/cleanup" not in meta.get("finalizers", ()):
                return
            known = known or (await self.cloud.find(meta["uid"]) if self.with_token else None)
            if known:
                await self.cloud.delete(known)
            await self.finalizers(obj, [])
            return
        if "bugs/cleanup" not in meta.get("finalizers", ()):
            await self.finalizers(obj, ["bugs/cleanup"])
            return
        if not known:
            found = await self.cloud.find(meta["uid"]) if self.with_token else None
            known = found or await self.cloud.create({"size": 1}, self.token(obj))
            await self.write_status(obj, {"extId": known})

    def token(self, obj: Json) -> str:
        """Return the token of the create: always another one."""
        type(self).calls += 1
        return f"call-{self.calls}"

    calls: ClassVar[int] = 0

    async def finalizers(self, obj: Json, wanted: list[str]) -> None:
        """Set the finalizers of an object."""
        meta = {**obj["metadata"], "finalizers": wanted}
        await self.client.update(Gadget.KIND, {**obj, "metadata": meta})


class FindThenCreate(CreateThenRecord):
    """Creates with the uid as token, and looks for it first."""

    with_token = True

    def token(self, obj: Json) -> str:
        """Return the uid."""
        return str(obj["metadata"]["uid"])


def provisioning(make: Any) -> Any:
    """Return the scenario of an external resource."""

    async def provisioned(sim: Any) -> None:
        cloud = sim.external("cloud")

        def made() -> Any:
            program = make()
            program.cloud = cloud
            return program

        sim.controller(made)
        obj = await sim.user.create(gadget())
        await sim.settle()
        await sim.user.delete(obj)
        await sim.settle()

    return provisioned


def test_an_external_resource_without_a_token_leaks() -> None:
    """A crash between the create and the record makes a second one, and the first is left."""
    report = explore(provisioning(CreateThenRecord), budget="ci", stop_at=1)
    assert oracles(report) & {"O5", "O4"}


def test_an_external_resource_with_a_token_is_clean() -> None:
    """The correction has no failure."""
    explore(provisioning(FindThenCreate), budget="ci", shard=PART).check()


# ------------------------------------------------------------------------- heartbeats


class Heartbeat(Naive):
    """Writes the time of each reconcile to the status."""

    resources = (Gadget,)
    keeps_time = False

    async def reconcile(self, obj: Json) -> None:
        """Report Ready."""
        await self.clock.sleep(self.work.total_seconds())
        old = ((obj.get("status") or {}).get("conditions") or [{}])[0]
        now = write_time(self.clock.now())
        since = old.get("lastTransitionTime", now) if self.keeps_time else now
        condition = {
            "type": "Ready", "status": "True", "reason": "Done", "message": "",
            "observedGeneration": obj["metadata"]["generation"], "lastTransitionTime": since,
        }  # fmt: skip
        if old != condition:
            await self.write_status(obj, {"conditions": [condition]})

    work = timedelta(0)


class SteadyTime(Heartbeat):
    """Keeps the time of a condition that did not change."""

    keeps_time = True


def test_a_heartbeat_in_the_status_is_a_storm_when_the_controller_is_slow() -> None:
    """Fast passes fall into the same second; slow answers make each write cause the next."""
    report = explore(creation(Heartbeat), budget="ci", stop_at=1)
    assert oracles(report) & {"O2", "O7", "O13"}


def test_a_time_that_only_changes_with_the_status_is_clean() -> None:
    """The correction has no failure."""
    explore(creation(SteadyTime), budget="ci", shard=PART).check()


# -------------------------------------------------------------------------- lying Ready


class LyingReady(Naive):
    """After a conflict it reads the object again and reports Ready for what it has not seen."""

    resources = (Gadget,)
    children = (CONFIG_MAP,)
    lies = True

    async def reconcile(self, obj: Json) -> None:
        """Write the size to a ConfigMap, then report Ready."""
        data = {"size": str(obj["spec"]["size"])}
        there = next(iter(self.owned(CONFIG_MAP, obj)), None)
        if there is None:
            await self.create(CONFIG_MAP, self.child(obj, CONFIG_MAP, "a", data=data))
        elif there["data"] != data:
            await self.client.update(CONFIG_MAP, {**there, "data": data})
        await self.report(obj)

    async def report(self, obj: Json) -> None:
        """Report Ready for the generation of an object."""
        generation = obj["metadata"]["generation"]
        condition = {
            "type": "Ready", "status": "True", "reason": "Done", "message": "",
            "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        if (obj.get("status") or {}).get("conditions") == [condition]:
            return
        try:
            await self.write_status(obj, {"conditions": [condition]})
        except ConflictError:
            if not self.lies:
                raise
            await self.report(await self.client.get(ref(Gadget.KIND, "a")))


class HonestReady(LyingReady):
    """After a conflict it starts again."""

    lies = False


def growth(make: Any) -> Any:
    """Return the scenario that changes a gadget."""

    async def grown(sim: Any) -> None:
        sim.controller(make)
        made = await sim.user.create(gadget(1))
        await sim.settle()
        await sim.user.patch(made, size=2)
        await sim.settle()

    return grown


def test_ready_for_a_spec_that_was_not_acted_upon_is_found() -> None:
    """An edit between the decision and the status write."""
    report = explore(growth(LyingReady), budget="ci", stop_at=1)
    assert "O8" in oracles(report)


def test_honest_ready_is_clean() -> None:
    """The correction has no failure."""
    explore(growth(HonestReady), budget="ci", shard=PART).check()


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_exploration_finds_the_same_in_one_and_in_two_processes(jobs: int) -> None:
    """The order of the plans decides, not the order of the workers."""
    report = explore(creation(HalfPair), budget="ci", jobs=jobs, stop_at=1)
    assert [failure.signature for failure in report.failures] == [
        ("O1", "Secret default/ssl-internal"),
        ("O4", "create Secret default/ssl-internal"),
    ]
