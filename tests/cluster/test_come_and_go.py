"""Kinds, namespaces and remote children on a real API server, which may differ from a model of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar

import pytest

from myrmidon.api import Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import NotFoundError
from myrmidon.fsm import Context, Controller, ControllerOptions, Done, Result, state
from myrmidon.generate import crd
from myrmidon.io import Client, LoopClock
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.http.transport import HttpTransport
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.sets import OutputSet

EDGE = kinds.CONFIG_MAP.at("edge")


class RoverSpec(Model):
    """Where it goes."""

    planet: str = "mars"
    wheels: int = 6


class Rover(Resource[RoverSpec, Status], group="rovers.myrmidon.dev", version="v1"):
    """A kind that no other test installs."""


class Rovers(Controller[Rover]):
    """Writes one child to a cluster under another name, although it is the same one."""

    manages: ClassVar[tuple[Any, ...]] = (EDGE,)
    options = ControllerOptions(namespace_selector="myrmidon.dev/rovers=yes")

    @state(initial=True, condition="Sent")
    def sent(self, rover: Rover, out: OutputSet, ctx: Context) -> Result:
        """It is on its way."""
        child = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": rover.name},
            "data": {"planet": rover.spec.planet},
        }
        out.apply(child, cluster="edge")
        return Done()


NAME = "rovers.rovers.myrmidon.dev"
DEFINITION = ObjectRef(kinds.CUSTOM_RESOURCE_DEFINITION, NAME)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition holds; the test has a time limit."""
    while not await holds():
        await LoopClock().sleep(0.1)


async def exists(client: Client, ref: ObjectRef) -> bool:
    """Whether an object exists."""
    try:
        await client.get(ref)
    except NotFoundError:
        return False
    return True


def older() -> Json:
    """Return the definition of an older program, which lacks a field."""
    made: Json = deepcopy(crd(Rover))
    (version,) = made["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["wheels"]
    return made


async def live(client: Client, manager: Manager, namespace: str) -> None:
    """Install the definition late, label the namespace, delete the child before its parent."""
    child = ObjectRef(kinds.CONFIG_MAP, "opportunity", namespace)
    rover = ObjectRef(Rover.KIND, "opportunity", namespace)
    await manager.wait_working()
    assert any(check.startswith("kind Rover") for check in manager.checks())
    await client.create(kinds.CUSTOM_RESOURCE_DEFINITION, older())

    async def started() -> bool:
        return bool(manager.loops) and manager._runs[0].working.is_set()

    async def recorded() -> bool:
        status = (await client.get(rover)).get("status") or {}
        return any(one.get("cluster") == "edge" for one in status.get("resourceRefs") or ())

    async def gone() -> bool:
        return not await exists(client, rover) and not await exists(client, child)

    await until(started)
    made = Rover(name="opportunity", spec=RoverSpec()).to_json()
    made["metadata"]["namespace"], made["spec"] = namespace, {}
    await client.create(Rover.KIND, made)
    assert not await exists(client, child)
    labels = {"metadata": {"labels": {"myrmidon.dev/rovers": "yes"}}}
    await client.patch(ObjectRef(kinds.NAMESPACE, namespace), labels)
    await until(lambda: exists(client, child))
    await until(recorded)
    await client.delete(rover)
    await until(gone)


async def follow(
    client: Client, kubeconfig: Path, namespace: str, reported: Callable[[], Awaitable[bool]]
) -> None:
    """Run a manager for the whole test, until it has reported the missing field."""
    far = HttpTransport(await load_endpoint(kubeconfig))
    manager = Manager(ManagerOptions(kubeconfig=str(kubeconfig)), definitions=[crd(Rover)])
    manager.add(Rovers())
    manager.add_remote("edge", far)
    try:
        async with asyncio.timeout(90), asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            try:
                await live(client, manager, namespace)
                await until(reported)  # the schema is published a few seconds late
            finally:
                manager.stop()
    finally:
        await far.close()


async def install(client: Client, kubeconfig: Path) -> None:
    """Run a manager that installs the definition, and read it."""
    options = ManagerOptions(kubeconfig=str(kubeconfig), install_crds=True)
    manager = Manager(options, definitions=[crd(Rover)])
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await manager.wait_working()
        manager.stop()
    stored = await client.get(DEFINITION)
    schema = stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert "wheels" in schema["properties"]["spec"]["properties"]


def test_a_kind_a_label_and_a_remote_child_come_and_go(
    kubeconfig: Path, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning for the missing kind, and one for the field that its definition lacks."""

    def lines(text: str) -> int:
        return sum(text in one.getMessage() for one in caplog.records)

    async def reported() -> bool:
        return bool(lines("lacks fields of the class"))

    async def main() -> None:
        client = Client(HttpTransport(await load_endpoint(kubeconfig)))
        try:
            await follow(client, kubeconfig, namespace, reported)
            await install(client, kubeconfig)
        finally:
            await client.delete(DEFINITION)
            await client.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert (lines("waiting for a kind"), lines("lacks fields of the class")) == (1, 1)
