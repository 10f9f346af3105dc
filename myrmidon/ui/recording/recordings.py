"""Recordings: what a page knows, as a JSON file that ``myrmidon explain --file`` and another page open.

    {"format": "myrmidon-recording/1", "at": "…", "title": "…", "vitals": {…},
     "machines": [{"controller": "web-app", "states": […], …}],
     "objects": [{"row": {…}, "conditions": […], "children": […], "passes": […], …}]}

The parts are those of ``stories``.  A file comes from anywhere, so everything that is read from it is
text for a page, and never HTML.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import UsageError
from myrmidon.runtime.observability.recorder import Recorder, StreamEntry
from myrmidon.ui.pages.history_view import Past, Then, past_of, recorded_rows_at
from myrmidon.ui.pages.markup import Markup
from myrmidon.ui.recording.sources import PageObject, PageSource
from myrmidon.ui.recording.stories import graph_of

FORMAT = "myrmidon-recording/1"
_FIX = "use a file that the page exported (its link Export, or /export.json)"


async def recording_of(source: PageSource, at: str) -> Json:
    """Return everything that a source knows.  No request is sent, however many objects there are."""
    objects = []
    async for row in source.rows():
        of = PageObject(row["controller"], row["namespace"], row["name"])
        story = await source.story(of, asks=False)
        if story is not None:
            objects.append(story)
    return {
        "format": FORMAT,
        "at": at,
        "title": source.title,
        "vitals": source.vitals(),
        "machines": source.machines(),
        "objects": objects,
    }


def read_recording(path: Path) -> Json:
    """Return a recording from a file; raise ``UsageError`` if it is not one."""
    try:
        document = orjson.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a recording: {error}.\n  fix: {_FIX}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UsageError(f"{path} is not a recording of the live page.\n  fix: {_FIX}")
    try:
        for machine in document["machines"]:
            graph_of(machine)
        for one in document["objects"]:
            _ = one["row"]["id"], one["row"]["controller"], one["row"]["phase"], one["passes"]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is damaged: {error!r}") from None
    return document


class RecordedSource:
    """Shows a recording."""

    is_live = False
    front: Markup | None = None
    recorder: Recorder | None = None
    version = 0

    def __init__(self, document: Json) -> None:
        self._document = document
        self.title = f"{document.get('title')}, recorded {str(document.get('at'))[:19]}"
        self._stories = {str(one["row"]["id"]): one for one in document["objects"]}

    def machines(self) -> list[Json]:
        """Return the declaration of each controller."""
        found: list[Json] = self._document["machines"]
        return found

    async def rows(self) -> AsyncIterator[Json]:
        """Yield a row for each object."""
        for story in self._stories.values():
            yield story["row"]

    def row(self, _entry: StreamEntry) -> Json | None:
        """Return None: a recording has no stream."""
        return None

    @property
    def past(self) -> Past:
        """Which passes can be shown."""
        return past_of(self._stories.values())

    def rows_at(self, _rows: dict[str, Json], number: int) -> Then:
        """Return all objects as they were at an earlier pass."""
        return recorded_rows_at(self._stories.values(), number)

    def vitals(self) -> Json:
        """Return how the process was."""
        found: Json = self._document.get("vitals") or {}
        return found

    async def story(self, of: PageObject, *, asks: bool = True) -> Json | None:  # noqa: ARG002 - a file
        """Return everything about one object; None if it is not known."""
        return self._stories.get("/".join(of))
