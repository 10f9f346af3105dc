"""A page in a real browser, for the tests of this folder."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from myrmidon.io.timers.clock import LoopClock
from myrmidon.ui.recording.sources import PageSource
from myrmidon.ui.server import LivePage, serve_page
from tests.ui.live_pages import WEB_APP, Shown, shown

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip("playwright.async_api", reason="Playwright is not installed")
in_a_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


class Visit:
    """A page in a browser, with every request that it made."""

    def __init__(self, page: Any, there: Shown) -> None:
        self.page, self.there, self.requests = page, there, list[str]()
        self.problems: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._console)

    def _console(self, message: Any) -> None:
        if message.type == "error" and "ERR_" not in message.text:
            self.problems.append(message.text)

    async def data(self, name: str) -> str:
        """Return an attribute that the script keeps on the body."""
        found = await self.page.evaluate(f"document.body.dataset.{name} || ''")
        return str(found)

    async def text(self, selector: str, contains: str) -> str:
        """Return the text of an element, as soon as it contains the words."""
        located = self.page.locator(selector).first
        await playwright.expect(located).to_contain_text(contains, timeout=20_000)
        return str(await located.inner_text())


@asynccontextmanager
async def visiting(target: str = WEB_APP) -> AsyncIterator[Visit]:
    """Open the page of a target in a browser."""
    async with shown(target) as there, playwright.async_playwright() as player:
        browser = await player.chromium.launch(executable_path=CHROMIUM)
        try:
            visit = Visit(await browser.new_page(), there)
            await visit.page.goto(there.address)
            yield visit
            assert visit.problems == []
            assert [url for url in visit.requests if not url.startswith(there.url)] == []
        finally:
            await browser.close()


def run(test: Callable[[Visit], Awaitable[None]], target: str = WEB_APP) -> None:
    """Run a test in a browser, in real time."""

    async def whole() -> None:
        async with visiting(target) as visit:
            await test(visit)

    asyncio.run(whole())


@asynccontextmanager
async def showing(source: PageSource) -> AsyncIterator[Any]:
    """Open the page of a source that does not change, such as a recording."""
    live = LivePage(source, LoopClock())
    async with serve_page(live, ":0") as url, playwright.async_playwright() as player:
        browser = await player.chromium.launch(executable_path=CHROMIUM)
        try:
            page = await browser.new_page()
            await page.goto(f"{url}/?token={live.token}")
            yield page
        finally:
            await browser.close()
