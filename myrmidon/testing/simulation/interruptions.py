"""Interruptions: what keeps one process from following a kind: gaps, refused watches, expired pages.

gap      watches end and cannot be opened until a time.  The first watch after it that begins before a
         change it has missed gets an ERROR event with 410, so the client must list again.
gone     the next watch is refused with the HTTP status 410
empty    the next watches end at once
pages    a list comes in pages of one object; the first continue token that is used has expired.  A
         server without streaming lists is needed for that, so a streaming list is refused with 422.
"""

from collections.abc import Callable
from dataclasses import dataclass

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.store import ObjectStore
from myrmidon.testing.simulation.requests import RequestSubject

EMPTY_WATCHES = 3
Noticed = Callable[[], None]


@dataclass(slots=True)
class _Gap:
    began: float
    until: float
    noticed: Noticed | None


@dataclass(slots=True)
class _Pages:
    noticed: Noticed
    began: bool = False  # whether a first page was sent


class Interruptions:
    """What one process cannot read, by kind."""

    def __init__(self) -> None:
        self._gaps: dict[str, _Gap] = {}
        self._openings: dict[str, list[str]] = {}
        self._pages: dict[str, _Pages] = {}

    def cut(self, kind: str, now: float, until: float, noticed: Noticed | None = None) -> None:
        """End the watches of a kind, and open none until a time."""
        self._gaps[kind] = _Gap(now, until, noticed)

    def spoil_opening(self, kind: str, how: str) -> None:
        """Let the next watch of a kind be refused, or the next ones end at once."""
        self._openings.setdefault(kind, []).extend([how] * (EMPTY_WATCHES if how == "empty" else 1))

    def split_list(self, kind: str, noticed: Noticed) -> None:
        """Let the next list of a kind come in pages that expire."""
        self._pages[kind] = _Pages(noticed)

    def ends(self, kind: str, opened_at: float) -> bool:
        """Whether a watch that was opened at a time has been cut since."""
        gap = self._gaps.get(kind)
        return gap is not None and gap.began >= opened_at

    def at_opening(
        self, subject: RequestSubject, request: HttpRequest, now: float, store: ObjectStore
    ) -> str:
        """Return what happens to a watch that is opened: refused, expired, gone, empty, 422 or ""."""
        kind = subject.kind
        if kind in self._pages and ("sendInitialEvents", "true") in request.query:
            return "422"
        gap = self._gaps.get(kind)
        if gap is not None and now < gap.until:
            return "refused"
        if gap is not None:
            noticed, gap.noticed = gap.noticed, None
            if noticed is not None and _missed(request, store, subject):
                noticed()
                return "expired"
        waiting = self._openings.get(kind)
        return waiting.pop(0) if waiting else ""

    def at_list(self, kind: str, request: HttpRequest) -> HttpRequest | None:
        """Return the list request as the server gets it; None if its continue token has expired."""
        pages = self._pages.get(kind)
        if pages is None:
            return request
        if any(name == "continue" for name, _ in request.query):
            if pages.began:
                del self._pages[kind]
                pages.noticed()
                return None
            return request
        limits = [value for name, value in request.query if name == "limit"]
        if not limits or limits[0] in ("0", "1"):
            return request
        pages.began = True
        rest = tuple(pair for pair in request.query if pair[0] != "limit")
        return request._replace(query=(*rest, ("limit", "1")))

    def heal(self) -> None:
        """End all interruptions; what was missed in a gap stays missed."""
        for gap in self._gaps.values():
            gap.until = 0.0
        self._openings, self._pages = {}, {}


def _missed(request: HttpRequest, store: ObjectStore, subject: RequestSubject) -> bool:
    """Whether a kind has changed since the resourceVersion that a watch begins at."""
    version = next((value for name, value in request.query if name == "resourceVersion"), "")
    if not version.isdigit() or version == "0":
        return False
    resource = f"{subject.plural}.{subject.group}" if subject.group else subject.plural
    return bool(store.changes(resource, after=max(int(version), store.compacted)))
