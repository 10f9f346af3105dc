"""The live page in a real browser: what a person sees, and what an attacker does not get."""

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from myrmidon.api.objects.refs import Kind, ObjectRef
from tests.ui.browsing import Visit, in_a_browser, run

pytestmark = in_a_browser

KIND = Kind("demo.myrmidon.dev", "v1", "WebApp", "webapps")
ATTACK = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
HOSTILE = f'''
from datetime import timedelta
from myrmidon import Controller, Model, OutputSet, Resource, Result, Status, Wait, state

class Spec(Model):
    note: str = ""

class Trap(Resource[Spec, Status], group="demo.myrmidon.dev", version="v1"):
    """A trap. {ATTACK}"""

class Traps(Controller[Trap]):
    """Sets traps. {ATTACK}"""

    @state(initial=True)
    def set(self, obj: Trap, out: OutputSet) -> Result:
        """It is set. {ATTACK}"""
        return Wait("Later", "{ATTACK}" + obj.spec.note, after=timedelta(seconds=30))
'''
SAMPLE = f"""
apiVersion: demo.myrmidon.dev/v1
kind: Trap
metadata:
  name: trap
  annotations:
    note: "{ATTACK}"
spec:
  note: "{ATTACK}"
"""


def test_objects_converge_a_state_is_clicked_and_a_story_is_read() -> None:
    """From the overview through the graph to the history of an object; no request leaves the origin."""

    async def story(visit: Visit) -> None:
        page = visit.page
        await visit.text('[data-vital="objects"]', "2 of 2 ready")
        assert "token" not in page.url
        await page.locator('a.state[data-state="hidden"]').click()
        await visit.text("#shown", "1 of 2")
        await page.locator("#rows a", has_text="backoffice").click()
        await visit.text(".title", "backoffice")
        await visit.text(".history", "configured → deployed → hidden")
        await visit.text(".history", "create Deployment backoffice")
        await visit.text('[aria-label="Conditions"]', "Ready")
        await visit.text('[aria-label="Children"]', "ConfigMap backoffice")
        assert await page.locator('[data-edge="deployed>hidden"].walked').count() == 1
        await page.locator("#pass").fill("0")
        await visit.text(".travel output", "1 of")
        assert await page.locator('[data-edge="deployed>hidden"].walked').count() == 0

    run(story)


def test_a_page_that_lost_its_connection_misses_and_doubles_nothing() -> None:
    """Passes that ended meanwhile arrive once, when the browser is back."""

    async def story(visit: Visit) -> None:
        await visit.text('[data-vital="objects"]', "2 of 2 ready")
        await visit.text("#connection", "live")
        recorder, live = visit.there.live._source.recorder, visit.there.live
        assert recorder is not None
        await visit.there.until(lambda: visit.there.bench.is_idle)
        before = recorder.number
        await visit.page.wait_for_function(f"() => document.body.dataset.number == '{before}'")
        counted = int(await visit.data("passes") or 0)
        live.closing = True  # every stream ends
        await visit.text("#connection", "reconnecting")
        shop = ObjectRef(KIND, "shop", "default")
        await visit.there.bench.client.patch(shop, {"spec": {"replicas": 4}})
        await visit.there.until(lambda: recorder.number > before)
        await visit.there.converged()
        live.closing = False
        await visit.text("#connection", "live")
        await visit.page.wait_for_function(
            f"() => document.body.dataset.number == '{recorder.number}'"
        )

        assert await visit.data("gaps") == ""
        assert int(await visit.data("passes")) - counted == recorder.number - before

    run(story)


def test_attacks_in_texts_stay_text(tmp_path: Path) -> None:
    """In messages, summaries and fields; on both pages."""
    (tmp_path / "controller.py").write_text(HOSTILE)
    (tmp_path / "sample.yaml").write_text(SAMPLE)

    async def story(visit: Visit) -> None:
        page = visit.page
        await visit.text("#rows", "window.pwned=1")
        await page.goto(f"{visit.there.url}/objects/trap/default/trap")
        await visit.text(".notice", "window.pwned=1")
        assert await page.evaluate("window.pwned === undefined && !document.querySelector('img')")
        inline = "document.querySelectorAll('script:not([src]), [onerror], [style]').length"
        assert await page.evaluate(inline) == 0

    run(story, str(tmp_path))


def test_a_button_changes_the_object_and_the_token_is_needed() -> None:
    """Suspending takes effect; a browser without the cookie sees nothing."""

    async def story(visit: Visit) -> None:
        page = visit.page
        await visit.text('[data-vital="objects"]', "2 of 2 ready")
        await page.goto(f"{visit.there.url}/objects/web-app/default/shop")
        await page.get_by_role("button", name="Suspend").click()
        await visit.text(".title", "Suspended")
        stranger = await page.context.browser.new_context()
        answer = await stranger.request.get(f"{visit.there.url}/board.json")
        assert answer.status == 401
        await stranger.close()

    run(story)


def test_axe_finds_no_problem_in_light_and_dark(tmp_path: Path) -> None:
    """Contrast, names, roles: the rules of axe-core, from the npm registry."""
    script = _axe(tmp_path)

    async def story(visit: Visit) -> None:
        page = visit.page
        await visit.text('[data-vital="objects"]', "2 of 2 ready")
        for path in ("/", "/objects/web-app/default/shop"):
            await page.goto(visit.there.url + path)
            await page.wait_for_timeout(300)
            for scheme in ("light", "dark"):
                await page.emulate_media(color_scheme=scheme)
                await page.evaluate(script)
                found = await page.evaluate("axe.run().then(result => result.violations)")
                told = [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found]
                assert told == [], (path, scheme)

    run(story)


def _axe(folder: Path) -> str:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, so axe-core cannot be fetched")
    fetched = subprocess.run(
        ["npm", "pack", "axe-core@4"], cwd=folder, capture_output=True, timeout=60, check=False
    )
    archives = [*folder.glob("axe-core-*.tgz")]
    if fetched.returncode or not archives:
        pytest.skip("axe-core cannot be fetched")
    with tarfile.open(archives[0]) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()
