"""`make demo`: shows how two web applications walk through their states, without a cluster.

It runs the controller of examples/web_app with its samples on an embedded API server.  The samples
become Ready.  Then one is changed so that it takes another branch, and becomes Ready again; the
other is deleted, and its finalizer keeps it until the registry no longer hands out its address.
"""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.cli.commands.dev import is_all_ready, unready
from myrmidon.cli.local.views import LiveView, view_for
from myrmidon.cli.local.workbench import Workbench
from myrmidon.cli.progress import ready, showing
from myrmidon.errors import MyrmidonError
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.observability.snapshot import Snapshot

TARGET = str(Path(__file__).parent / "web_app")
WEB_APP = Kind("demo.myrmidon.dev", "v1", "WebApp", "webapps")
STEP_SECONDS_MAX = 30.0
LOOK_SECONDS = 0.1
READING_SECONDS = 1.0  # how long each result stays on the screen

CLOSING = """\
seen: two apps became Ready, one took another branch, one was finalized
next: .venv/bin/myrmidon dev examples/web_app, then kubectl, then edit its code
then: examples/config_copy is the smallest controller; `make test` tests them"""


class Demo:
    """The steps of the demo, on a running workbench."""

    def __init__(self, bench: Workbench, view: LiveView, clock: Clock) -> None:
        self._bench, self._view, self._clock = bench, view, clock

    async def play(self) -> None:
        """Run the steps, each until its result is reached."""
        self._view.say("1. two samples are applied, and the controller takes them to Ready")
        await self._until(is_all_ready)
        self._view.say("2. backoffice gets a host and two more replicas: another branch is taken")
        await self._patch("backoffice", {"replicas": 3, "hosts": ["office.example.com"]})
        await self._until(lambda seen: is_all_ready(seen) and _is_exposed(seen, "backoffice"))
        self._view.say("3. shop is deleted: its finalizer waits until the registry has drained it")
        await self._bench.client.delete(_ref("shop"))
        await self._until(lambda seen: is_all_ready(seen) and _is_gone(seen, "shop"))

    async def _patch(self, name: str, spec: Json) -> None:
        await self._bench.client.patch(_ref(name), {"spec": spec})

    async def _until(self, holds: Callable[[Snapshot], bool]) -> None:
        """Show the objects until ``holds`` is true of them, then leave time to read."""
        begun_at = self._clock.monotonic()
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            if self._bench.failure is not None:
                raise self._bench.failure
            seen = self._bench.snapshot()
            self._view.show(seen)
            if holds(seen) and self._bench.is_idle:
                break
            if self._clock.monotonic() - begun_at > STEP_SECONDS_MAX:
                raise MyrmidonError(unready(seen, STEP_SECONDS_MAX))
        if sys.stdout.isatty():
            await self._clock.sleep(READING_SECONDS)
            self._view.show(self._bench.snapshot())


def _ref(name: str) -> ObjectRef:
    return ObjectRef(WEB_APP, name, "default")


def _is_exposed(seen: Snapshot, name: str) -> bool:
    return any(one.ref.name == name and one.path[-1].state == "exposed" for one in seen.objects)


def _is_gone(seen: Snapshot, name: str) -> bool:
    return all(one.ref.name != name or one.phase == "gone" for one in seen.objects)


async def main() -> None:
    """Start the server and the controller, run the demo, and print a summary."""
    clock = LoopClock()
    bench = Workbench(TARGET, clock)
    async with bench.serving(port=0), bench.showing(":0") as shown:
        await bench.open()
        ready()
        view = view_for("myrmidon demo")
        try:
            view.say(f"watch it live: {shown}")
            async with asyncio.TaskGroup() as group:
                bench.start(group)
                await Demo(bench, view, clock).play()
                await bench.stop()
        finally:
            view.close()
    print(f"\n{CLOSING}")  # noqa: T201 - the end of a program for people


if __name__ == "__main__":
    try:
        with showing("starting the embedded API server"):
            asyncio.run(main())
    except* MyrmidonError as errors:
        sys.exit(f"error: {errors.exceptions[0]}")
