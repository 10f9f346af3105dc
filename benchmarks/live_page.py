"""What does an open live page cost?  ``python -m benchmarks.live_page``; needs Playwright and Chromium.

A controller with 1,000 objects on the embedded server, 100 changes per second for a minute, with one page
open in a browser.  It prints

- the CPU time of the page's server side: that of the requests of the page, step by step between two
  waits (``metered``), so that neither the controller nor other load on the machine counts;
- the bytes per second of the stream of events;
- the frames that the browser drew: how many per second, and how late the late ones were;
- whether the browser missed a pass, and how many rows of the list are in the document.
"""

import argparse
import asyncio
import shutil
import time
import types
from collections.abc import Coroutine, Generator
from random import Random
from typing import Any

from aiohttp import web

from benchmarks.widget import Widget, WidgetSpec
from myrmidon.cli.local.workbench import Workbench
from myrmidon.io.timers.clock import LoopClock
from myrmidon.ui.server import LivePage

TARGET = "benchmarks.widget:Widgets"
FRAMES = """() => {
  window.gaps = []; let last = performance.now();
  const frame = (now) => { window.gaps.push(now - last); last = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}"""


class Meter:
    """Adds up the CPU time of the requests of the page."""

    def __init__(self) -> None:
        self.seconds, self.longest, self.bytes = 0.0, 0.0, 0
        plain = LivePage.application
        steps: Any = types.coroutine(self._steps)

        @web.middleware
        async def metered(request: web.Request, handler: Any) -> Any:
            return await steps(handler(request))

        def application(page: LivePage) -> web.Application:
            made = plain(page)
            made.middlewares.insert(0, metered)
            return made

        send = web.StreamResponse.write

        async def write(response: web.StreamResponse, data: Any) -> None:
            self.bytes += len(data)
            await send(response, data)

        web.StreamResponse.write = write  # type: ignore[method-assign, assignment]
        LivePage.application = application  # type: ignore[method-assign, assignment]

    def _steps(self, inner: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Run a coroutine, and count the time of each step between two waits."""
        step, given = inner.send, None
        while True:
            began = time.thread_time()
            try:
                waited = step(given)
            except StopIteration as ended:
                return ended.value
            finally:
                took = time.thread_time() - began
                self.seconds += took
                self.longest = max(self.longest, took)
            try:
                step, given = inner.send, (yield waited)
            except BaseException as error:  # noqa: BLE001 - handed on, as ``await`` does
                step, given = inner.throw, error


class Load:
    """Objects, and changes to them at a steady rate."""

    def __init__(self, bench: Workbench, clock: LoopClock, objects: int, rate: float) -> None:
        self._bench, self._clock, self._objects, self._rate = bench, clock, objects, rate
        self._rng, self._value = Random(0), 0

    async def create(self) -> None:
        """Create the objects, and wait until they are done."""
        for number in range(self._objects):
            made = Widget(name=f"w{number:04d}", spec=WidgetSpec(value="0"), namespace="default")
            await self._bench.client.create(Widget.KIND, made.to_json())
        while not self._bench.is_idle:
            await self._clock.sleep(0.2)

    async def change(self, seconds: float) -> float:
        """Change objects for so long; return the CPU seconds of the whole process."""
        began, cpu = self._clock.monotonic(), time.process_time()
        changes = 0
        while (passed := self._clock.monotonic() - began) < seconds:
            if changes > passed * self._rate:
                await self._clock.sleep(0.005)
                continue
            changes += 1
            self._value += 1
            name = f"w{self._rng.randrange(self._objects):04d}"
            ref = Widget(name=name, namespace="default", spec=WidgetSpec(value="0")).ref
            await self._bench.client.patch(ref, {"spec": {"value": str(self._value)}})
            await self._clock.sleep(0)  # the embedded server answers without a wait
        print(f"  {changes / seconds:.0f} changes/s for {seconds:.0f} s")
        return time.process_time() - cpu


async def watched(load: Load, address: str, seconds: float, meter: Meter) -> None:
    """Change objects while a browser shows the page, and print what it got."""
    from playwright.async_api import async_playwright  # noqa: PLC0415 - an extra

    async with async_playwright() as player:
        browser = await player.chromium.launch(executable_path=shutil.which("chromium"))
        page = await browser.new_page(viewport={"width": 1440, "height": 1000})
        await page.goto(address)
        await page.wait_for_selector("#connection[data-state=live]")
        await page.wait_for_timeout(2000)
        await page.evaluate(FRAMES)
        before, sent = meter.seconds, meter.bytes
        seen = int(await page.evaluate("document.body.dataset.passes || '0'"))
        cpu = await load.change(seconds)
        own, sent = meter.seconds - before, meter.bytes - sent
        gaps = sorted(await page.evaluate("window.gaps"))
        rows = await page.locator("#rows .row").count()
        seen = int(await page.evaluate("document.body.dataset.passes || '0'")) - seen
        lost = await page.evaluate("document.body.dataset.gaps || '0'")
        await browser.close()
    print(
        f"  page: {100 * own / seconds:.2f} % of a core (the whole process, with the controller and the "
        f"embedded server: {100 * cpu / seconds:.0f} %), {sent / seconds / 1000:.1f} kB/s"
    )
    print(f"  longest turn of the event loop for the page: {1000 * meter.longest:.1f} ms CPU")
    late = sum(gap > 50 for gap in gaps)
    print(
        f"  browser: {seen / seconds:.0f} passes/s, {len(gaps) / seconds:.0f} frames/s, median {gaps[len(gaps) // 2]:.0f} ms, "
        f"99 % below {gaps[int(len(gaps) * 0.99)]:.0f} ms, {late} frames later than 50 ms; "
        f"{rows} rows in the document, {lost} gaps in the stream"
    )


async def main(args: argparse.Namespace) -> None:
    """Print the table."""
    clock, meter = LoopClock(), Meter()
    bench = Workbench(TARGET, clock)
    async with bench.serving(port=0), bench.showing(":0") as address:
        await bench.open()
        async with asyncio.TaskGroup() as group:
            bench.start(group)
            load = Load(bench, clock, args.objects, args.changes)
            await load.create()
            print(f"{args.objects} objects")
            await watched(load, address, args.seconds, meter)
            await bench.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--changes", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    asyncio.run(main(parser.parse_args()))
