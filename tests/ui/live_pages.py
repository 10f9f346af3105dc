"""A live page of a real process on the embedded server, for the tests of this folder."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from myrmidon.cli.local.workbench import Workbench
from myrmidon.io.timers.clock import LoopClock
from myrmidon.ui.recording.sources import ManagerSource
from myrmidon.ui.server import LivePage, serve_page

WEB_APP = str(Path(__file__).parents[2] / "examples" / "web_app")
SECONDS_MAX = 30.0


class Shown:
    """A running workbench and its page."""

    def __init__(self, bench: Workbench, live: LivePage, url: str) -> None:
        self.bench, self.live, self.url = bench, live, url
        self.address = f"{url}/?token={live.token}"

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(SECONDS_MAX):
            while not holds():
                await LoopClock().sleep(0.05)

    async def converged(self) -> None:
        """Wait until every object is Ready."""
        await self.until(lambda: self.bench.is_idle and self._is_ready())

    def _is_ready(self) -> bool:
        objects = self.bench.snapshot().objects
        return bool(objects) and all(one.is_ready or one.phase == "gone" for one in objects)


@asynccontextmanager
async def shown(target: str = WEB_APP, *, writable: bool = True) -> AsyncIterator[Shown]:
    """Run a target on the embedded server, and serve its page."""
    clock = LoopClock()
    bench = Workbench(target, clock)
    source = ManagerSource(lambda: bench._manager, "a test", clock, bench.client)
    live = LivePage(source, clock, writable=writable)
    async with bench.serving(port=0), serve_page(live, ":0") as url:
        await bench.open()
        async with asyncio.TaskGroup() as group:
            bench.start(group)
            try:
                yield Shown(bench, live, url)
            finally:
                await bench.stop()
