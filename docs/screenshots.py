"""Take the pictures of the live page: ``python docs/screenshots.py [FOLDER]``.

Needs Playwright and Chromium (``pip install -e '.[dev]'``).  It runs the controller of
examples/web_app on the embedded server, with a few more objects, and photographs the overview and an
object: wide and narrow, light and dark.
"""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.cli.local.workbench import Workbench
from myrmidon.io.timers.clock import LoopClock

FOLDER = Path(__file__).parent / "_static" / "live-page"
TARGET = str(Path(__file__).parents[1] / "examples" / "web_app")
WEB_APP = Kind("demo.myrmidon.dev", "v1", "WebApp", "webapps")
SIZES = {"wide": (1440, 1000), "narrow": (390, 844)}
_NAMES = ("accounts", "billing", "catalogue", "checkout", "courier", "mail", "payments", "search")


def manifest(name: str, number: int) -> dict[str, Any]:
    """Return another web application."""
    hosts = [f"{name}.example.com"] if number % 2 else []
    return {
        "apiVersion": WEB_APP.api_version,
        "kind": WEB_APP.kind,
        "metadata": {"name": name, "namespace": "default", "labels": {"team": "shop"}},
        "spec": {
            "image": f"registry.example.com/{name}:1.{number}",
            "replicas": number % 3 + 1,
            "hosts": hosts,
        },
    }


async def prepare(bench: Workbench, clock: LoopClock) -> None:
    """Bring the objects into different states."""
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "payments"}}
    await bench.apply(foreign)  # not ours, so that one object fails
    for number, name in enumerate(_NAMES):
        await bench.apply(manifest(name, number))
    await clock.sleep(4)
    shop = ObjectRef(WEB_APP, "shop", "default")
    await bench.client.patch(shop, {"spec": {"replicas": 4}})
    await clock.sleep(3)
    await bench.client.patch(
        ObjectRef(WEB_APP, "search", "default"),
        {"metadata": {"labels": {"myrmidon.dev/suspend": "true"}}},
    )
    await bench.client.patch(ObjectRef(WEB_APP, "mail", "default"), {"spec": {"replicas": 3}})
    await bench.client.delete(ObjectRef(WEB_APP, "billing", "default"))
    await clock.sleep(1)


async def photograph(browser: Any, address: str, bench: Workbench, folder: Path) -> None:
    """Take all pictures."""
    origin, mail, replicas = address.partition("/?")[0], ObjectRef(WEB_APP, "mail", "default"), 3
    for scheme in ("light", "dark"):
        for size, (width, height) in SIZES.items():
            context = await browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            page = await context.new_page()
            await page.goto(address)
            await page.wait_for_selector("#connection[data-state=live]")
            await page.wait_for_timeout(1300)
            replicas += 1
            await bench.client.patch(mail, {"spec": {"replicas": replicas}})
            await page.wait_for_timeout(700)  # it rolls out
            await page.screenshot(path=folder / f"overview-{size}-{scheme}.png")
            await page.goto(f"{origin}/objects/web-app/default/shop")
            await page.wait_for_selector(".history .pass")
            await page.wait_for_timeout(500)
            await page.locator(".writes details").first.evaluate("one => one.open = true")
            await page.screenshot(
                path=folder / f"object-{size}-{scheme}.png", full_page=size == "wide"
            )
            await context.close()


async def main(folder: Path) -> None:
    """Run the controller and photograph its page."""
    from playwright.async_api import async_playwright  # noqa: PLC0415 - only this script needs it

    clock = LoopClock()
    bench = Workbench(TARGET, clock)
    async with bench.serving(port=0), bench.showing(":0") as address:
        await bench.open()
        async with asyncio.TaskGroup() as group, async_playwright() as playwright:
            bench.start(group)
            await prepare(bench, clock)
            browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"))
            await photograph(browser, address, bench, folder)
            await browser.close()
            await bench.stop()


if __name__ == "__main__":
    pictures = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    pictures.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(pictures))
