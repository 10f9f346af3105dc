"""The artefact of a failed simulation on the page: what is wrong, and what happened before.

The artefact is a file of ``myrmidon simulate``; ``myrmidon.testing.simulation`` writes and replays it.
Here it is only read, as text.
"""

import re
from collections.abc import AsyncIterator

from myrmidon.api.objects.accessors import Json
from myrmidon.runtime.observability.recorder import Recorder, StreamEntry
from myrmidon.ui.pages.history_view import Past, Then
from myrmidon.ui.pages.markup import Markup, joined, tag
from myrmidon.ui.recording.sources import PageObject

_STEP = re.compile(r"\s*(\d+(?:\.\d+)?) s\s+(\S+) (.*)")
_DONE = re.compile("created|updated|changed|deleted")
_WRONG = ("error", "refused", "failed", "killed", "answer: 4", "answer: 5")


class SimulationSource:
    """Shows the artefact of a simulation."""

    is_live = False
    recorder: Recorder | None = None
    version = 0

    def __init__(self, artefact: Json) -> None:
        self.title = f"simulation {artefact.get('scenario')}, seed {artefact.get('seed')}"
        self.front: Markup | None = simulation_page(artefact)

    def machines(self) -> list[Json]:
        """Return nothing: the artefact has no declarations."""
        return []

    async def rows(self) -> AsyncIterator[Json]:
        """Yield nothing."""
        rows: list[Json] = []
        for row in rows:
            yield row

    def row(self, _entry: StreamEntry) -> Json | None:
        """Return None: an artefact has no stream."""
        return None

    @property
    def past(self) -> Past:
        """Return nothing: the timeline shows all of it."""
        return Past()

    def rows_at(self, _rows: dict[str, Json], _number: int) -> Then:
        """Return nothing."""
        return Then([])

    def vitals(self) -> Json:
        """Return nothing."""
        return {}

    async def story(self, of: PageObject, *, asks: bool = True) -> Json | None:  # noqa: ARG002 - has none
        """Return None: an artefact has no objects."""
        return None


def simulation_page(artefact: Json) -> Markup:
    """Return the page of a failure: what is wrong, and its story as a timeline."""
    lines = [str(line) for line in artefact.get("story") or ()]
    items = [_item(line) for line in lines if line.strip()]
    return joined(
        [
            tag(
                "h1",
                tag("span", artefact.get("oracle", ""), class_="soft"),
                " ",
                artefact.get("role", ""),
            ),
            tag("p", tag("b", artefact.get("message", "")), class_="notice bad"),
            tag(
                "section",
                tag("h2", "What happened"),
                tag("ol", *items, class_="history"),
                class_="card",
                aria_label="What happened",
            ),
            tag(
                "section",
                tag("h2", "Replay it"),
                tag("pre", f"scenario {artefact.get('scenario')}, seed {artefact.get('seed')}"),
                class_="card",
                aria_label="Replay it",
            ),
        ]
    )


def _item(line: str) -> Markup:
    found = _STEP.fullmatch(line)
    at, actor, said = (f"{found[1]} s", found[2], found[3]) if found else ("", "", line)
    is_fault = actor == "FAULT"
    is_wrong = is_fault or any(word in said for word in _WRONG)
    kind = "bad" if is_wrong else "wrote" if _DONE.match(said) else "quiet"
    head = [
        tag("span", at, class_="at") if at else "",
        tag("span", actor.lower(), class_="pill actor") if actor else "",
        tag("span", said, class_="path"),
    ]
    return tag("li", tag("div", *head, class_="pass-head"), class_=f"pass {kind}")
