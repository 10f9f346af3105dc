"""The workbench of `myrmidon dev`: code is reloaded while the objects stay."""

import asyncio
import os
from pathlib import Path

import pytest

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.cli.local.workbench import Workbench
from myrmidon.errors import UsageError
from myrmidon.io.timers.clock import LoopClock
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


RULES = """
from myrmidon import Admission, Unstructured, kinds, validates

class ThingRules(Admission[Thing]):
    @validates(reads=(kinds.CONFIG_MAP,))
    async def is_small(self, thing, request, ctx):
        limit = await ctx.get(kinds.CONFIG_MAP, "limit")
        others = await ctx.list(kinds.CONFIG_MAP)
        if limit and thing.spec.size > int(limit["data"]["size"]):
            request.refuse("spec.size", f"is too large, by {len(others)} rule")
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
