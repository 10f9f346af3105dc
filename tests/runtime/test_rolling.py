"""A rolling replacement of custom objects keeps as many of them ready as it must."""

import asyncio
from datetime import timedelta
from typing import Any

from myrmidon import (
    Context,
    Controller,
    Done,
    Kind,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    Wait,
    exists,
    state,
    when_children_ready,
)
from myrmidon.api.objects.accessors import Json, is_deleting
from myrmidon.testing import Harness

SIZE, READY_MIN = 3, 2
BOOT = timedelta(seconds=10)


class MachineSpec(Model):
    """What a machine runs."""

    image: str


class Machine(Resource[MachineSpec, Status], group="test.myrmidon.dev", version="v1"):
    """A machine, which takes ten seconds to boot."""


class Machines(Controller[Machine]):
    """Boots machines, and reports no condition until they have booted."""

    @state(initial=True)
    async def booted(self, machine: Machine, out: OutputSet) -> Result:
        """The machine has booted."""
        await asyncio.sleep(BOOT.total_seconds())  # noqa: TID251 - virtual, because the loop is
        return Done()


class PoolSpec(Model):
    """What the machines of a pool run."""

    image: str


class Pool(Resource[PoolSpec, Status], group="test.myrmidon.dev", version="v1"):
    """Three machines."""


def machine(name: str, image: str) -> Json:
    """Build the manifest of a machine."""
    kind = Machine.KIND
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name},
        "spec": {"image": image},
    }


class Pools(Controller[Pool]):
    """Replaces a machine only if two others are ready."""

    manages = (Machine,)

    @state(initial=True, then="ready")
    async def rolled(self, pool: Pool, out: OutputSet, ctx: Context) -> Result:
        """Every machine runs the image."""
        there = {one["metadata"]["name"]: one for one in await ctx.list(Machine.KIND)}
        spare = sum(map(ctx.is_ready, there.values())) - READY_MIN
        done = True
        for name in (f"{pool.name}-{number}" for number in range(SIZE)):
            current = there.get(name)
            if current is None:
                out.apply(machine(name, pool.spec.image))
            elif current["spec"]["image"] != pool.spec.image:
                done = False
                if spare > 0 and not is_deleting(current):
                    out.delete(Machine.KIND, name)
                    spare -= 1
        if done:
            return Done()
        return Wait("Rolling", "machines are replaced", timedelta(seconds=1), keep_outputs=True)

    ready = when_children_ready()


def ready_machines(cluster: Harness) -> int:
    """Return how many machines have booted, by their own conditions."""
    return sum(cluster.ready(Machine, one.name) for one in cluster.list(Machine))


def test_c9_a_rolling_replacement_never_falls_below_what_is_wanted() -> None:
    """C9: a machine that has not reported yet is not one of the two that must be ready."""
    with Harness(Pools(), Machines()) as cluster:
        cluster.apply(Pool(name="pool", spec=PoolSpec(image="a")))
        cluster.settle()
        assert ready_machines(cluster) == SIZE
        assert cluster.ready(Pool, "pool")

        cluster.patch(Pool, "pool", {"spec": {"image": "b"}})
        seen = []
        for _ in range(200):
            cluster.advance(timedelta(milliseconds=500))
            seen.append(ready_machines(cluster))

        assert min(seen) == READY_MIN
        assert seen[-1] == SIZE
        assert {one.spec.image for one in cluster.list(Machine)} == {"b"}
        cluster.at_rest()


SILENT = Kind("silent.example.com", "v1", "Silent", "silents")


class Owner(Controller[Pool]):
    """Manages an object of a kind that never reports conditions."""

    manages = (SILENT,)

    @state(initial=True, then="ready")
    def made(self, pool: Pool, out: OutputSet) -> Result:
        """The object is there."""
        out.apply(
            {"apiVersion": SILENT.api_version, "kind": "Silent", "metadata": {"name": pool.name}}
        )
        return Done()

    ready = when_children_ready()


class KnowingOwner(Owner):
    """Declares that such an object is ready as soon as it exists."""

    readiness = {SILENT: exists}  # noqa: RUF012 - a ClassVar of the base


SILENT_CRD: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "silents.silent.example.com"},
    "spec": {
        "group": SILENT.group,
        "names": {"kind": "Silent", "plural": "silents"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


def condition_of(controller: Any) -> tuple[str, str]:
    """Return the condition of the state that waits for children."""
    with Harness(controller, manifests=[SILENT_CRD]) as cluster:
        cluster.apply(Pool(name="pool", spec=PoolSpec(image="a")))
        cluster.advance(timedelta(minutes=5))
        found = cluster.condition(Pool, "pool", "ChildrenReady")
    assert found is not None
    return found.status, found.message


def test_c9_a_kind_that_never_reports_is_waited_for_unless_the_controller_says_otherwise() -> None:
    """C9: ready-made states use ``readiness``, too, and the message says what to do."""
    status, message = condition_of(Owner())

    assert status == "False"
    assert message == (
        "waiting for Silent.silent.example.com default/pool; Silent.silent.example.com default/pool "
        "has not reported a condition Ready. If Silent.silent.example.com never does, say what "
        "counts in Controller.readiness"
    )
    assert condition_of(KnowingOwner())[0] == "True"
