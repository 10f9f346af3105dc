"""The workbench of `myrmidon dev`: code is reloaded while the objects stay."""

import asyncio
import os
from pathlib import Path

import pytest

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.cli.local.workbench import Workbench
from myrmidon.errors import NotFoundError, UsageError
from myrmidon.io.timers.clock import LoopClock
from myrmidon.testing.harness.generated_role import service_account
from tests.cli.test_front_door import CONTROLLER

SAMPLE = """\
apiVersion: demo.myrmidon.dev/v1
kind: Thing
metadata: {name: a}
spec: {size: 1}
"""


async def ready(bench: Workbench, state: str) -> None:
    """Wait until the only object is Ready and has passed through a state."""
    clock = LoopClock()
    async with asyncio.timeout(10):
        while not any(
            one.is_ready and one.path and one.path[-1].state == state
            for one in bench.snapshot().objects
        ):
            await clock.sleep(0.02)


def save(path: Path, text: str) -> None:
    """Write a file as an editor would, with another modification time."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 2_000_000_000, before + 2_000_000_000))


def test_controllers_run_as_their_service_account(tmp_path: Path) -> None:
    """With exactly the generated role: it suffices, and the account may do nothing else."""
    save(tmp_path / "controller.py", CONTROLLER.format(result="Done()"))
    save(tmp_path / "sample.yaml", SAMPLE)

    async def check() -> None:
        bench = Workbench(str(tmp_path), LoopClock(), as_account=True)
        await bench.open()
        account = LocalTransport(bench.server, user=service_account("default"))
        nodes = await account.send(HttpRequest("GET", "/api/v1/nodes", (), {}))
        async with asyncio.TaskGroup() as group:
            bench.start(group)
            await ready(bench, "made")
            await bench.stop()
        assert nodes.status == 403

    asyncio.run(check())


def test_new_code_finds_the_old_objects(tmp_path: Path) -> None:
    """A renamed state is entered; the object is the same; broken code changes nothing."""
    controller, sample = tmp_path / "controller.py", tmp_path / "sample.yaml"
    first = CONTROLLER.format(result="Done()")
    save(controller, first)
    save(sample, SAMPLE)

    async def check() -> None:
        bench = Workbench(str(tmp_path), LoopClock())
        await bench.open()
        kind = bench.controlled[0]
        ref = ObjectRef(kind, "a", "default")
        async with asyncio.TaskGroup() as group:
            bench.start(group)
            await ready(bench, "made")
            uid = (await bench.client.get(ref))["metadata"]["uid"]

            save(controller, first + "\nthis is no Python\n")
            await bench.reload(group, [controller])
            assert "controller.py cannot be imported: SyntaxError" in bench.problem
            await ready(bench, "made")

            save(controller, first.replace("def made", "def forged"))
            save(sample, SAMPLE.replace("size: 1", "size: 2"))
            await bench.reload(group, [controller, sample])
            assert bench.problem == ""
            await ready(bench, "forged")
            now = await bench.client.get(ref)
            await bench.stop()
        assert (now["metadata"]["uid"], now["spec"]) == (uid, {"size": 2})

    asyncio.run(check())


def test_samples_that_are_named_replace_those_beside_the_controller(tmp_path: Path) -> None:
    """`myrmidon dev . staging.yaml` applies that file only."""
    save(tmp_path / "controller.py", CONTROLLER.format(result="Done()"))
    save(tmp_path / "sample.yaml", SAMPLE)
    staging = tmp_path / "staging.yaml"
    save(staging, SAMPLE.replace("name: a", "name: b"))

    async def check() -> None:
        bench = Workbench(str(tmp_path), LoopClock(), [staging])
        await bench.open()
        kind = bench.controlled[0]
        assert await bench.client.get(ObjectRef(kind, "b", "default"))
        with pytest.raises(NotFoundError):
            await bench.client.get(ObjectRef(kind, "a", "default"))

    asyncio.run(check())


RULES = """
from myrmidon import Admission, Rule, Unstructured, kinds, validates

class ThingRules(Admission[Thing]):
    @validates(reads=(kinds.CONFIG_MAP,))
    async def is_small(self, thing, request, ctx):
        limit = await ctx.get(kinds.CONFIG_MAP, "limit")
        others = await ctx.list(kinds.CONFIG_MAP)
        if limit and thing.spec.size > int(limit["data"]["size"]):
            request.refuse("spec.size", f"is too large, by {len(others)} rule")

class SizeRules(Admission[Thing], rules=[Rule("object.spec.size < 9", message="is huge")]):
    pass
"""


def test_webhooks_are_called_in_the_process(tmp_path: Path) -> None:
    """Also for samples, which are applied before the controllers run."""
    (tmp_path / "controller.py").write_text(CONTROLLER + RULES)
    sample = tmp_path / "sample.yaml"
    limit = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limit}\ndata: {size: '5'}\n---\n"

    async def opened() -> None:
        bench = Workbench(str(tmp_path), LoopClock())
        await bench.open()
        await bench._install_webhooks()

    sample.write_text(limit + SAMPLE)
    asyncio.run(opened())
    sample.write_text(limit + SAMPLE.replace("size: 1", "size: 7"))
    with pytest.raises(UsageError, match=r"spec\.size: Invalid value: 7: is too large, by 1 rule"):
        asyncio.run(opened())
    sample.write_text(SAMPLE.replace("size: 1", "size: 9"))
    with pytest.raises(UsageError, match="denied request: is huge"):
        asyncio.run(opened())
