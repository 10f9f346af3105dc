"""A controller under its generated role: it suffices, and nothing in it is superfluous.

A controller that does everything a controller can do runs on the real server as a ServiceAccount
that holds the generated roles and nothing else.  No request may be refused.  Then the same again,
once for every single verb of every rule, without that verb: each time a request must be refused.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from myrmidon.api import Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.fsm import Context, Controller, Done, Result, state
from myrmidon.fsm.declaration.shapes import Reads
from myrmidon.generate import lease_role, roles
from myrmidon.sets import OutputSet
from myrmidon.testing.harness.recording import RecordingTransport
from tests.cluster.accounts import (
    NAME,
    Right,
    Stage,
    define,
    is_event_read,
    is_ready,
    refused,
    rights_in,
    running,
    undefine,
    until,
    without,
)
from tests.cluster.controlplane.controlplane import ControlPlane

Json = dict[str, Any]


class GadgetSpec(Model):
    """What goes into the maps."""

    text: str = ""


class Gadget(Resource[GadgetSpec, Status], group="roles.myrmidon.dev", version="v1"):
    """An object whose controller does everything that a controller can do."""


def config_map(gadget: Gadget, name: str) -> Json:
    """A child."""
    metadata = {"name": f"{gadget.name}-{name}", "namespace": gadget.namespace}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"text": gadget.spec.text},
    }


class Gadgets(Controller[Gadget]):
    """Writes and reads in every way, and records events."""

    manages = (kinds.CONFIG_MAP,)
    reads = (Reads(kinds.SECRET, everywhere=True),)

    @state(initial=True, condition="Made")
    async def made(self, gadget: Gadget, out: OutputSet, ctx: Context) -> Result:
        """The maps are there."""
        await ctx.live.get(kinds.CONFIG_MAP, gadget.name)
        await ctx.live.get(kinds.SECRET, gadget.name)
        await ctx.live.get(Gadget, gadget.name)
        out.apply(config_map(gadget, "patched"))
        out.apply(config_map(gadget, "replaced"), as_update=True)
        ctx.event("Normal", "Made", "the maps are there")
        if gadget.spec.text == "over":
            out.delete_self()
        return Done()

    @state(finalizer=True, condition="Gone")
    def gone(self, gadget: Gadget, out: OutputSet) -> Result:
        """The maps are gone."""
        out.delete(kinds.CONFIG_MAP, f"{gadget.name}-patched")
        return Done()


async def life(stage: Stage, transport: RecordingTransport) -> None:
    """Run everything, with a restart."""
    gadgets = f"/apis/roles.myrmidon.dev/v1/namespaces/{stage.namespace}/gadgets"
    stage.admin.post(
        gadgets,
        {"apiVersion": "roles.myrmidon.dev/v1", "kind": "Gadget", "metadata": {"name": "a"}},
    )

    def settled(text: str) -> bool:
        maps = stage.admin.get(f"/api/v1/namespaces/{stage.namespace}/configmaps").body["items"]
        texts = [each["data"]["text"] for each in maps if each["metadata"]["name"].startswith("a-")]
        return texts == [text, text] and is_ready(stage.admin.get(f"{gadgets}/a").body)

    def counted() -> bool:
        events = stage.admin.get(f"/api/v1/namespaces/{stage.namespace}/events").body["items"]
        return any(each["reason"] == "Made" and each["count"] > 1 for each in events)

    async with _gadgets(stage, transport):
        await until(lambda: settled(""), transport)
        _edit(stage, f"{gadgets}/a", "new")
        await until(lambda: settled("new") and counted(), transport)
    async with _gadgets(stage, transport):
        adopted = lambda: any(is_event_read(each.request) for each in transport.log)  # noqa: E731
        await until(adopted, transport)
        _edit(stage, f"{gadgets}/a", "over")
        await until(lambda: stage.admin.get(f"{gadgets}/a").status == 404, transport)


def _edit(stage: Stage, path: str, text: str) -> None:
    obj = stage.admin.get(path).body
    obj["spec"] = {"text": text}
    stage.admin.request("PUT", path, obj)


def _gadgets(stage: Stage, transport: RecordingTransport) -> running:
    return running(stage, Gadgets(), transport, namespaces=(stage.namespace,))


@pytest.fixture(scope="module")
def plane(controlplane: ControlPlane) -> Iterator[ControlPlane]:
    """Return a server with the definition of gadgets."""
    define(controlplane, Gadget)
    yield controlplane
    undefine(controlplane.client(), Gadget)


@pytest.fixture
def stage(plane: ControlPlane, tmp_path: Path) -> Iterator[Stage]:
    """Return a stage for the test."""
    made = Stage(plane, tmp_path, [Gadget])
    yield made
    made.close()


def generated(namespace: str) -> list[Json]:
    """Return the roles that `myrmidon generate rbac` writes."""
    return [*roles([Gadgets], NAME), lease_role(NAME, namespace, NAME)]


def test_the_generated_roles_suffice(stage: Stage) -> None:
    """No request of a whole life is refused."""
    stage.give(generated(stage.namespace))

    assert asyncio.run(refused(stage, life)) == set()


@pytest.mark.parametrize("right", rights_in(generated("x")), ids=str)
def test_no_right_is_superfluous(stage: Stage, right: Right) -> None:
    """Without it a request is refused."""
    stage.give(without(generated(stage.namespace), right))

    # Owner references on the child are refused for lack of a right on its owner.
    expected = "create configmaps" if "finalizers" in right.resource else str(right)
    assert asyncio.run(refused(stage, life)) == {expected}
