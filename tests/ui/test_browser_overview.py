"""The overview in a real browser: numbers, pulses, filters, the past, recordings and simulations."""

import asyncio
import json
from pathlib import Path

import orjson

from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.cli.commands.view import source_of
from tests.ui.browsing import Visit, in_a_browser, playwright, run, showing

pytestmark = in_a_browser

KIND = Kind("demo.myrmidon.dev", "v1", "WebApp", "webapps")
SHOP = ObjectRef(KIND, "shop", "default")
PULSES = """() => {
  window.pulsed = new Set();
  new MutationObserver((changes) => {
    for (const change of changes) {
      if (change.target.classList.contains("pulse")) window.pulsed.add(change.target.dataset.edge);
    }
  }).observe(document.body, { subtree: true, attributeFilter: ["class"] });
}"""


async def slide(visit: Visit, number: int) -> None:
    """Move the slider of the overview to a pass."""
    await visit.page.locator("#travel").fill(str(number))


def test_numbers_move_edges_pulse_and_the_slider_shows_the_past() -> None:
    """The past is shown until the button leads back, whatever happens meanwhile."""

    async def story(visit: Visit) -> None:
        page = visit.page
        await visit.text('[data-vital="objects"]', "2 of 2 ready")
        await visit.text('[data-vital="leader"]', "working")
        for name in ("passes", "writes", "errors", "queue", "lag", "caches"):
            assert any(one.isdigit() for one in await visit.text(f'[data-vital="{name}"]', ""))
        await visit.text(".phases", "Ready 2")
        await page.evaluate(PULSES)
        await slide(visit, 1)
        await visit.text("#shown", "1 of 1")
        await visit.text(".phases", "Waiting 1")
        await visit.text("#rows", "deployed")
        await visit.there.bench.client.patch(SHOP, {"spec": {"replicas": 4}})
        await visit.there.converged()
        await visit.text("#shown", "1 of 1")
        await page.locator("#travel-live").click()
        await visit.text("#travel-at", "live")
        await visit.text("#shown", "2 of 2")
        await visit.there.bench.client.patch(SHOP, {"spec": {"replicas": 2}})
        await page.wait_for_function("() => window.pulsed.has('deployed>exposed')")
        await visit.there.converged()
        await visit.text(".phases", "Ready 2")

    run(story)


def test_filters_by_namespace_label_state_readiness_and_text() -> None:
    """Each alone, and the number of objects that are left."""

    async def story(visit: Visit) -> None:
        page = visit.page
        await visit.text('[data-vital="objects"]', "2 of 2 ready")
        other = {
            "apiVersion": KIND.api_version,
            "kind": "WebApp",
            "metadata": {"name": "mail", "namespace": "team-b", "labels": {"tier": "back"}},
            "spec": {"image": "registry.example.com/mail:1", "replicas": 1},
        }
        await visit.there.bench.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-b"}}
        )
        await visit.there.bench.apply(other)
        await visit.there.converged()
        await visit.text("#shown", "3 of 3")
        for selector, value, left in (
            ("#f-text", "mail", "1 of 3"),
            ("#f-labels", "tier=back", "1 of 3"),
            ("#f-labels", "tier=front", "0 of 3"),
        ):
            await page.locator(selector).fill(value)
            await visit.text("#shown", left)
            await page.locator(selector).fill("")
        for selector, value, left in (
            ("#f-namespace", "team-b", "1 of 3"),
            ("#f-state", "exposed", "1 of 3"),
        ):
            await page.locator(selector).select_option(value)
            await visit.text("#shown", left)
            await page.locator(selector).select_option("")
        await page.locator("#f-unready").check()
        await visit.text("#shown", "0 of 3")

    run(story)


def test_a_recording_has_a_slider_and_links(tmp_path: Path) -> None:
    """An export opens on the page of another process, with its past and its stories."""
    path = tmp_path / "recording.json"

    async def story(visit: Visit) -> None:
        await visit.text('[data-vital="objects"]', "2 of 2 ready")
        answer = await visit.page.request.get(f"{visit.there.url}/export.json")
        path.write_bytes(await answer.body())

    async def reopened() -> None:
        async with showing(source_of(path)) as page:
            expect = playwright.expect
            await expect(page.locator("#shown")).to_have_text("2 of 2")
            await expect(page.locator(".phases")).to_contain_text("Ready 2")
            first = min(one["number"] for story in stories for one in story["passes"])
            await page.locator("#travel").fill(str(first))
            await expect(page.locator("#shown")).to_have_text("1 of 1")
            await expect(page.locator(".phases")).to_contain_text("Waiting 1")
            await page.locator("#travel-live").click()
            await expect(page.locator("#shown")).to_have_text("2 of 2")
            await page.locator("#rows a", has_text="shop").click()
            await expect(page.locator(".history")).to_contain_text("create Deployment shop")
            assert await page.locator("form").count() == 0

    run(story)
    stories = orjson.loads(path.read_bytes())["objects"]
    asyncio.run(reopened())


def test_the_artefact_of_a_simulation_is_a_timeline(tmp_path: Path) -> None:
    """With the time, the actor and the faults, and names that look like HTML as text."""
    path = tmp_path / "failure.json"
    lines = [
        "    0.100 s  user applies Widget <img src=x>",
        "    0.200 s  controller-0 created ConfigMap w",
        "    0.300 s  FAULT crash, at: write 1",
    ]
    artefact = {"oracle": "O1", "role": "convergence", "message": "two worlds differ"}
    path.write_text(json.dumps({**artefact, "plan": {}, "seed": 7, "story": lines}))

    async def story() -> None:
        async with showing(source_of(path)) as page:
            expect = playwright.expect
            await expect(page.locator(".history .pass")).to_have_count(3)
            await expect(page.locator(".history .at").first).to_have_text("0.100 s")
            await expect(page.locator(".history .actor").nth(1)).to_have_text("controller-0")
            await expect(page.locator(".history .bad")).to_contain_text("crash, at: write 1")
            assert await page.locator("img").count() == 0

    asyncio.run(story())
