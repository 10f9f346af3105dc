"""The live page without a browser: access, the stream, rows and counts, recordings."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.web_app.controller import WebApps
from myrmidon.api.objects.conditions import ConditionValue
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.cli.commands.view import source_of
from myrmidon.cli.main import main
from myrmidon.errors import UsageError
from myrmidon.fsm.context import Cause, Relation
from myrmidon.fsm.engine import Outcome, Visit
from myrmidon.fsm.machine.graph import Graph
from myrmidon.fsm.machine.states import State
from myrmidon.runtime.observability.pass_record import PassRecord
from myrmidon.runtime.observability.recorder import Recorder
from myrmidon.runtime.observability.snapshot import Wrote
from myrmidon.ui.access import HEADERS, PageAccess
from myrmidon.ui.pages.board import Board
from myrmidon.ui.pages.drawings import walked_edges
from myrmidon.ui.pages.history_view import rows_at
from myrmidon.ui.pages.markup import Markup, tag
from myrmidon.ui.pages.simulations import simulation_page
from myrmidon.ui.recording.cause_texts import cause_text
from myrmidon.ui.recording.recordings import RecordedSource, read_recording
from myrmidon.ui.recording.sources import PageObject
from myrmidon.ui.recording.stories import VALUE_MAX, differences, graph_of, machine_of
from tests.ui.live_pages import Shown, shown

KIND = Kind("demo.myrmidon.dev", "v1", "WebApp", "webapps")
SHOP = ObjectRef(KIND, "shop", "default")


# --------------------------------------------------------------------------------- decisions


@given(st.text(), st.text())
def test_only_the_token_and_its_cookie_open_the_page(token: str, given: str) -> None:
    """Every other text is refused, whatever it is."""
    access = PageAccess(token)

    assert access.may_see(access.cookie, "")
    assert access.is_token(given) == (given == token)
    assert access.may_see(given, "") == (given == access.cookie)


def test_a_form_must_come_from_the_page_itself() -> None:
    """Its origin is the page's, and it has the value that only the page knows."""
    access = PageAccess("secret")

    assert access.may_change("http://localhost:1", "localhost:1", access.form_value)
    assert not access.may_change("http://evil.example", "localhost:1", access.form_value)
    assert not access.may_change("http://localhost:1", "localhost:1", "guessed")
    assert not access.may_change("", "", access.form_value)
    assert not access.may_change("null", "localhost:1", access.form_value)


@given(st.text(), st.text())
def test_text_never_becomes_markup(content: str, attribute: str) -> None:
    """Neither in an element nor in an attribute."""
    made = tag("p", content, title=attribute)

    inner = made.removeprefix("<p title=").removesuffix("</p>")
    assert inner.count("<") == 0
    assert inner.count('"') == 2
    assert isinstance(made, Markup)


PHASES = ("ready", "waiting", "failing", "gone")
ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(PHASES), st.sampled_from(("x", "y", ""))),
    max_size=40,
)


@given(ROWS)
def test_counts_are_those_of_the_rows(changes: list[tuple[str, str, str]]) -> None:
    """After any changes, as if they were counted anew."""
    board = Board()
    for name, phase, state in changes:
        board.put({"id": name, "controller": "c", "phase": phase, "state": state})
    rows = board.rows.values()
    states = Counter(row["state"] for row in rows if row["phase"] != "gone" and row["state"])
    found = board.counts().get("c", {"states": {}, "phases": {}})

    assert found["states"] == dict(states)
    assert found["phases"] == dict(Counter(row["phase"] for row in rows))


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (Cause("self", "create", SHOP), "the creation of the object itself"),
        (Cause("child", "delete", SHOP), "the deletion of its child WebApp default/shop"),
        (Cause("relative", "update", SHOP), "a change of the related WebApp default/shop"),
        (Cause("read", "update", SHOP, "s"), "a change of WebApp default/shop, which state s read"),
        (Cause("resync"), "the regular resync"),
        (Cause("timer", ref=SHOP), "its timer"),
    ],
)
def test_what_woke_a_pass_is_told_in_words(cause: Cause, text: str) -> None:
    """Each relation has its own sentence."""
    assert cause_text(cause) == text


def test_every_relation_has_words() -> None:
    """A relation that is added needs a text."""
    assert all(cause_text(Cause(relation)) for relation in get_args(Relation))


def test_the_edges_of_a_way_through_a_fork() -> None:
    """Both branches and the bars between them; not the edge that was not taken."""
    states = {
        "a": State("a", "A", ("b", "c"), fork=True),
        "b": State("b", "B", ("d",)),
        "c": State("c", "C", ("d",)),
        "d": State("d", "D", ("e", "f")),
        "e": State("e", "E"),
        "f": State("f", "F"),
    }
    machine = {
        "controller": "x",
        "initial": "a",
        "finalizer": None,
        "states": [one._asdict() for one in states.values()],
    }
    graph = graph_of(machine)
    walked = walked_edges(graph, ["a", "b", "c", "d", "e"])

    assert isinstance(graph, Graph)
    assert walked[0] == "(created)>a"
    assert {"a>a__fork", "a__fork>b", "a__fork>c", "b>d__join", "d__join>d", "d>e"} <= {*walked}
    assert "d>f" not in walked
    assert walked_edges(graph, []) == []


def test_a_machine_survives_its_json() -> None:
    """The graph of another process is drawn from it."""
    machine = json.loads(json.dumps(machine_of(WebApps())))

    assert graph_of(machine).drawn_edges == WebApps.graph.drawn_edges


def test_the_story_of_a_simulation_is_text() -> None:
    """Also if a name in it looks like HTML."""
    page = simulation_page(
        {"oracle": "O1", "role": "<b>", "message": "<i>", "story": ["0.100 s user applies <u>"]}
    )

    assert not any(one in page for one in ("<b>O", "<i>", "<u>"))
    assert "&lt;u&gt;" in page


def test_a_file_decides_what_is_shown(tmp_path: Path) -> None:
    """The artefact of a simulation has a page of its own."""
    path = tmp_path / "failure.json"
    path.write_text(json.dumps({"oracle": "O1", "plan": {}, "seed": 7, "story": ["x"]}))

    source = source_of(path)

    assert "seed 7" in source.title
    assert source.front is not None


def test_a_write_says_what_it_changed() -> None:
    """Conditions one by one, other fields with their values, and long values cut."""
    before = {
        "spec": {"replicas": 1, "text": "a"},
        "status": {
            "conditions": [{"type": "A", "status": "False", "reason": "No", "message": "m"}]
        },
    }
    after = {
        "spec": {"replicas": 3, "text": "b" * 1000},
        "status": {
            "conditions": [{"type": "A", "status": "True", "reason": "Done", "message": ""}]
        },
    }
    at = datetime(2026, 1, 1, tzinfo=UTC)

    def told(part: str) -> dict[str, tuple[str, str]]:
        found = differences(Wrote(at, "patch", SHOP, part), before, after)
        return {one["path"]: (one["before"], one["after"]) for one in found}

    assert told("status") == {"status.conditions[A]": ("False No: m", "True Done")}
    assert told("")["spec.replicas"] == ("1", "3")
    assert len(told("")["spec.text"][1]) == VALUE_MAX + 1


@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(0, 30))
def test_the_past_is_what_was_recorded(names: list[str], number: int) -> None:
    """Each object that had a pass by then, and no other."""
    recorder = Recorder()
    state = State("made", "Made")
    for second, name in enumerate(names):
        value = ConditionValue("False", "Later", str(second))
        record = PassRecord(
            ("c", ObjectRef(KIND, name, "default")),
            at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second),
            seconds=0.1,
            causes=(),
            outcome=Outcome((Visit(state, value),), backoff=True),
        )
        recorder.add(("c", record.ref), record)
    found = {row["name"]: row["message"] for row in rows_at(recorder, {}, number).rows}

    expected = {name: str(place) for place, name in enumerate(names[:number])}
    assert found == expected


# ------------------------------------------------------------------------------- the server


def run(test: Callable[[Shown, aiohttp.ClientSession], Awaitable[None]]) -> None:
    """Run a test against the page of examples/web_app."""

    async def whole() -> None:
        async with shown() as there:
            await there.converged()
            headers = {"Authorization": f"Bearer {there.live.token}"}
            async with aiohttp.ClientSession(there.url, headers=headers) as session:
                await test(there, session)

    asyncio.run(whole())


@asynccontextmanager
async def stream(session: aiohttp.ClientSession, last: str) -> AsyncIterator[AsyncIterator[Any]]:
    """Open the stream of events, after the last one that was received."""

    async def events(answer: aiohttp.ClientResponse) -> AsyncIterator[Any]:
        found: dict[str, str] = {}
        async for line in answer.content:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                found[name] = value
            elif "data" in found:
                yield found.get("id", ""), found["event"], json.loads(found["data"])
                found = {}

    async with session.get("/events", headers={"Last-Event-ID": last}) as answer:
        yield events(answer)


def test_without_the_token_nothing_is_shown_and_every_answer_is_protected() -> None:
    """No page, no data, no stream, no action; and the first visit leaves only a cookie."""

    async def story(there: Shown, session: aiohttp.ClientSession) -> None:
        async with aiohttp.ClientSession(there.url) as stranger:
            for path in (
                "/",
                "/board.json",
                "/events",
                "/export.json",
                "/objects/web-app/default/shop",
            ):
                async with stranger.get(path) as answer:
                    assert answer.status == 401, path
                    assert (
                        answer.headers["Content-Security-Policy"]
                        == HEADERS["Content-Security-Policy"]
                    )
                    assert "shop" not in await answer.text()
            async with stranger.get(f"/?token={there.live.token}", allow_redirects=False) as answer:
                assert (answer.status, answer.headers["Location"]) == (303, "/")
                assert "HttpOnly" in answer.headers["Set-Cookie"]
                assert "SameSite=Strict" in answer.headers["Set-Cookie"]
                assert there.live.token not in answer.headers["Set-Cookie"]
        async with session.get("/") as answer:
            assert answer.status == 200
            assert "unsafe" not in answer.headers["Content-Security-Policy"]
        async with session.post("/act/delete/web-app/default/shop") as answer:
            assert answer.status == 403

    run(story)


def test_a_stream_goes_on_where_the_last_one_ended() -> None:
    """Whatever happened in between, each pass is sent once."""

    async def story(there: Shown, session: aiohttp.ClientSession) -> None:
        async with session.get("/board.json") as answer:
            begun = (await answer.json())["since"]
        last, number = begun, int(begun.partition(".")[2])
        for replicas in (2, 4):
            await there.bench.client.patch(SHOP, {"spec": {"replicas": replicas}})
            await there.converged()
            recorder = there.live._source.recorder
            assert recorder is not None
            async with stream(session, last) as events:
                async for event_id, name, data in events:
                    if name == "passes":
                        assert data["from"] == number
                        last, number = event_id, data["to"]
                    assert name != "reset"
                    if number == recorder.number:
                        break
        async with stream(session, "another-process.7") as events:
            async for _event_id, name, _data in events:
                assert name == "reset"
                break

    run(story)


def test_other_code_makes_the_page_load_itself_again() -> None:
    """The graphs that it shows may be others."""

    async def story(there: Shown, session: aiohttp.ClientSession) -> None:
        names = list[str]()
        async with stream(session, "") as events:
            async for _event_id, name, _data in events:
                names.append(name)
                if name == "vitals":
                    there.bench._next = there.bench._prepared()
                    await there.bench.stop()
                    there.bench._manager = there.bench._next
        assert names[-1] == "reload"

    run(story)


def test_an_export_opens_on_another_page_and_in_explain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the same rows and passes; and the past can be asked for."""
    path = tmp_path / "recording.json"

    async def story(there: Shown, session: aiohttp.ClientSession) -> None:
        async with session.get("/export.json") as answer:
            path.write_bytes(await answer.read())
        async with session.get("/at/1") as answer:
            then = await answer.json()
            assert len(then["rows"]) == 1
            assert then["rows"][0]["phase"] == "waiting"

    run(story)
    source = RecordedSource(read_recording(path))
    found = asyncio.run(source.story(PageObject("web-app", "default", "shop")))

    assert found is not None
    assert found["passes"][0]["writes"]
    assert main(["explain", "webapp", "shop", "--file", str(path)]) == 0
    assert "configured → deployed → exposed" in capsys.readouterr().out
    assert main(["explain", "webapp", "nosuch", "--file", str(path)]) == 2


def test_a_file_that_is_not_a_recording_is_refused(tmp_path: Path) -> None:
    """With one sentence."""
    path = tmp_path / "x.json"
    for content in (
        "{",
        "[]",
        '{"format": "myrmidon-recording/1", "machines": [1], "objects": []}',
    ):
        path.write_text(content)
        with pytest.raises(UsageError):
            read_recording(path)
