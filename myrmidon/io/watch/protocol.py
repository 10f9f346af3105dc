"""The watch protocol as a state machine: values in, the next request out.  No I/O, no clock.

Rules
 1  The first list is a consistent read: no resourceVersion, and never "0", which any replica may
    answer from a past that we have already left.  So is every later list.
 2  A list is read in pages of one moment.  Where the server has forgotten that moment (410 on a
    continue token), the whole list is read at once; pages of two moments are never mixed.
 3  After a list at version R we watch from R.  Every event and every bookmark moves R forward,
    nothing moves it back, and an event that is not newer than R is a replay and is dropped.
 4  A watch that ends is opened again from R: no list, no wait, no change for anybody to see.
 5  410 (as an answer or as an event) means that R is compacted away: list again.  The cache
    compares that list with what it holds and makes up the deletions that we slept through.
 6  A watch that is silent for longer than bookmarks take proves nothing: the connection may be
    dead without anybody having said so, the server cut off from its storage, or nothing happened;
    no bookmark comes where nothing moved.  So we ask for one object, as a consistent read, and
    then open the watch again from R, whatever the answer.  Fresh is what a line, a page or such an
    answer was heard of; that a watch can be opened is no news, for a server without its storage
    opens watches, too.
 7  A watch that ends at once with nothing said, cannot be read, or refuses R (too new, 400, 422) is
    suspect; three of these in a row and we list (kubernetes/kubernetes#137089: 200 and closed, for
    ever).
 8  Any other refusal (401, 403, 404, 429, 5xx) or broken connection means waiting, longer each
    time, with jitter, at least for Retry-After; then the same again.  What is cached stays: being
    forbidden to look does not mean that there is nothing.  After 404 we list, because what comes
    back under the name of a removed kind is not what was there.
 9  A list that is older than R is not believed.  If the third in a row still is, the server was
    restored from a backup: its past is the truth now, and versions begin anew.
10  Where the server offers streaming lists, the list arrives as the beginning of a watch and ends
    with a bookmark that says so.  A server that refuses, or never ends it, is asked in pages.  A list
    has no end if no further object comes for a while, not if all of it takes long: a long list
    over a slow connection would otherwise be begun anew for ever.
11  An event about an object that cannot be read is an event like any other.  A line that does not even
    say which object it is about is a gap: we watch again from R, and list if it is there each time.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from myrmidon.api.objects import Json, annotations_of, version_of
from myrmidon.errors import (
    AmbiguousError,
    ApiError,
    BadRequestError,
    ExpiredError,
    InvalidError,
    NotFoundError,
    TransportError,
    api_error,
)
from myrmidon.io.lists.events import Listing, WatchEvent
from myrmidon.io.lists.shapes import Unreadable
from myrmidon.io.watch.changes import OPAQUE, is_ahead, parse_version

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_TYPES = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})
_STREAMING_REFUSED = frozenset({400, 405, 415, 422, 501})


@dataclass(frozen=True, slots=True)
class Timing:
    """Every duration of the protocol, in seconds."""

    backoff_seconds_min: float = 0.25
    backoff_seconds_max: float = 30.0
    retry_after_seconds_max: float = 60.0
    watch_seconds: float = 300.0  # the server ends a watch after once to twice this
    idle_seconds: float = 90.0  # bookmarks come each minute, if anything moved
    ask_seconds: float = 10.0  # for the answer when nothing came
    short_seconds: float = 1.0  # a watch that ended sooner, and silent, is suspect
    progress_seconds: float = 120.0  # until the next object of a streaming list


@dataclass(frozen=True, slots=True)
class List:
    """Ask for a page; ``whole`` asks for all of them in one."""

    continue_token: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class WatchFrom:
    """Open a stream from a version on; ``initial`` asks for a streaming list first."""

    resource_version: str
    timeout_seconds: int
    initial: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask for one object, whichever, and cache nothing: it matters that the server can answer."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for a while, then go on with ``then``."""

    seconds: float
    then: List | WatchFrom


Action: TypeAlias = List | WatchFrom | Ask | Pause


class Watching:
    """One reflector's place in the protocol.

    ``action`` is what to do now.  Whoever does it reports with one of the ``on_`` methods (for a
    stream ``on_open``, then ``on_event`` for each line, then one of the others) and does the
    next.  A stream is of use as long as ``action`` is the same.  What a method returns belongs
    into the cache.
    """

    def __init__(
        self,
        *,
        jitter: Callable[[], float],
        streaming: bool = True,
        timing: Timing | None = None,
    ) -> None:
        self._jitter = jitter  # between 0 and 1
        self._timing = timing or Timing()
        self._streaming = streaming
        self._position, self._number = "", OPAQUE  # R, as it was told and as a number
        self._failures = self._suspicions = self._older_lists = 0
        self._opened_at = self._progress_at = 0.0
        self._heard = False
        self._initial = False  # the stream is still a list
        self._patience = 0.0  # until the next question, after one without an answer
        self.synced = False
        self.idle_at = 0.0  # silence until then is no reason to doubt an open watch
        self.fresh_at: float | None = None
        self.fault: ApiError | TransportError | None = None
        self.action: Action
        self._go(self._list())

    # ------------------------------------------------------------------------ reports

    def on_page(
        self, items: Iterable[Any], version: str, continue_token: str, now: float
    ) -> Listing | None:
        """A page of a list came."""
        assert isinstance(self.action, List), f"a page came in answer to {self.action}"
        begins = not self.action.continue_token
        if continue_token and continue_token == self.action.continue_token:
            self.on_error(AmbiguousError("a page of a list leads to itself"))
            return None
        if begins and not self._believes(version):
            return None
        listing = Listing(items, version, begins, not continue_token, self._forgets(begins))
        self._fresh(now)
        self._failures = 0
        if continue_token:
            self._go(List(continue_token))
        else:
            self._complete(version)
            self._go(self._watch())
        return listing

    def on_open(self, now: float) -> None:
        """The server has begun to answer a watch."""
        self._opened_at = self._progress_at = now
        self._heard = False
        # A list is answered afresh; a watch that goes on inherits the silence of the one before.
        heard_at = now if self._initial or self.fresh_at is None else self.fresh_at
        self.idle_at = max(heard_at + self._timing.idle_seconds, now + self._patience)

    def on_event(self, event: WatchEvent, now: float) -> WatchEvent | Listing | None:
        """A line of a watch came."""
        assert isinstance(self.action, WatchFrom), f"an event came in answer to {self.action}"
        if event.type not in _TYPES:
            if event.type == "ERROR":
                self.on_error(_refusal(event.object))
            return None
        self._fresh(now)
        if self._initial:
            return self._on_initial(event, now)
        if self._is_replay(version_of(event.object)):
            return None
        self._failures = self._suspicions = 0
        self._heard = True
        return event

    def on_end(self, now: float) -> None:
        """The server ended the watch, in good order."""
        assert isinstance(self.action, WatchFrom), f"a watch ended during {self.action}"
        if self._initial and now - self._opened_at >= self._timing.watch_seconds:
            self._list_in_pages()  # the server ended it because we asked it to end a watch by then
        elif self._initial:
            self._suspect(AmbiguousError("a streaming list ended before its end"))
        elif self._heard or now - self._opened_at >= self._timing.short_seconds:
            self._failures = self._suspicions = 0
            self._go(self._watch())
        else:
            self._suspect(AmbiguousError("a watch ended at once, with nothing said"))

    def on_idle(self, now: float) -> None:
        """Nothing came until ``idle_at``."""
        assert isinstance(self.action, WatchFrom), f"a watch was idle during {self.action}"
        if self._initial:
            self._list_in_pages()
            return
        if now - self._opened_at >= self._timing.short_seconds:
            self._suspicions = 0
        self._go(Ask())

    def on_answer(self, version: str, now: float) -> None:
        """The question was answered, at this version."""
        assert isinstance(self.action, Ask), f"an answer came to {self.action}"
        if self._is_behind(version):
            self.on_error(AmbiguousError("an answer is older than what was seen before"))
            return
        self._fresh(now)
        self._failures = 0
        self._go(self._watch())

    def on_garbage(self) -> None:
        """A line came that does not say which object it is about."""
        self._suspect(AmbiguousError("a line of a watch cannot be read"))

    def on_broken(self, error: TransportError) -> None:
        """We failed ourselves to take in an answer: what we hold may lack it, so list again."""
        if not isinstance(self.action, Pause):
            self._again(self._list(), error)

    def on_error(self, error: ApiError | TransportError) -> None:
        """The server refused, or the connection broke."""
        assert not isinstance(self.action, Pause), f"an error came while waiting: {error}"
        if isinstance(self.action, List):
            if isinstance(error, ExpiredError) and self.action.continue_token:
                self._go(List(whole=True))
            else:
                self._again(self.action, error)
        elif isinstance(self.action, Ask) and not isinstance(error, NotFoundError):
            self.fault = error
            self._patience = self._delay(error)
            self._go(self._watch())
        elif self._initial:
            if isinstance(error, ApiError) and error.status in _STREAMING_REFUSED:
                self._list_in_pages()
            else:
                self._suspect(error)
        else:
            self._watch_failed(error)

    def on_waited(self) -> None:
        """The wait is over."""
        assert isinstance(self.action, Pause), f"waited during {self.action}"
        self._go(self.action.then)

    # ---------------------------------------------------------------------- decisions

    def _on_initial(self, event: WatchEvent, now: float) -> WatchEvent | Listing | None:
        if self._has_no_end(now):
            self._list_in_pages()
            return None
        if event.type == "DELETED":
            return event
        begins, self._heard = not self._heard, True
        if event.type != "BOOKMARK":
            if event.type == "ADDED":
                self._progress_at = now
            item = Unreadable(event.object, event.problem) if event.problem else event.object
            return Listing([item], "", begins)
        version = version_of(event.object)
        marks = annotations_of(event.object)
        is_end = isinstance(marks, dict) and marks.get(INITIAL_EVENTS_END) == "true"
        if not is_end or not self._believes(version):
            return None
        listing = Listing([], version, begins, completes=True, forgets=self._forgets(begins=True))
        self._complete(version)
        self._initial = False  # the same stream goes on as a watch
        return listing

    def _has_no_end(self, now: float) -> bool:
        """Whether a streaming list makes no progress, or lasts longer than a watch can.

        A slow list is not begun anew as long as objects keep coming.
        """
        longest = 2.0 * self._timing.watch_seconds + self._timing.progress_seconds
        silent = now - self._progress_at > self._timing.progress_seconds
        return silent or now - self._opened_at > longest

    def _watch_failed(self, error: ApiError | TransportError) -> None:
        if isinstance(error, ExpiredError):
            self._suspicions += 1
            first = self._suspicions == 1
            self._again(self._list(), error, at_once=first)
        elif _is_too_new(error) or isinstance(error, BadRequestError | InvalidError):
            self._suspect(error)
        elif isinstance(error, NotFoundError):
            self._again(self._list(), error)
        else:
            self._again(self._watch(), error)

    def _suspect(self, error: ApiError | TransportError) -> None:
        self._suspicions += 1
        convinced = self._suspicions % 3 == 0
        if convinced and self._initial:
            self._streaming = False
        relist = convinced or self._initial
        self._again(self._list() if relist else self._watch(), error)

    def _again(
        self, then: List | WatchFrom, error: ApiError | TransportError, *, at_once: bool = False
    ) -> None:
        self.fault = error
        if at_once:
            self._go(then)
            return
        self._go(Pause(self._delay(error), then))

    def _delay(self, error: ApiError | TransportError) -> float:
        """How long to leave the server alone; longer each time.  Rule 8."""
        timing = self._timing
        self._failures += 1
        tries = min(self._failures + self._suspicions, 16)
        seconds = min(timing.backoff_seconds_max, timing.backoff_seconds_min * 2.0**tries)
        seconds *= 0.5 + 0.5 * self._jitter()
        asked = error.retry_after if isinstance(error, ApiError) else None
        if asked is not None:
            seconds = max(seconds, min(asked, timing.retry_after_seconds_max))
        return seconds

    def _list_in_pages(self) -> None:
        self._streaming = False
        self._go(List())

    def _complete(self, version: str) -> None:
        self._position, self._number = version, parse_version(version)
        self._older_lists = 0
        self.synced = True

    def _believes(self, version: str) -> bool:
        """Whether a list of this version may be taken; rule 9."""
        if not self._is_behind(version):
            self._older_lists = 0
            return True
        self._older_lists += 1
        if self._older_lists >= 3:
            return True
        self._again(self._list(), AmbiguousError("a list is older than what was seen before"))
        return False

    def _forgets(self, begins: bool) -> bool:
        return begins and self._older_lists > 0

    def _is_replay(self, version: str) -> bool:
        """Whether an event is not ahead of the position; if it is, move the position.

        Where positions are numbers, a version that cannot be one of them (no number, no version at
        all, more than etcd has) is not a position: to watch from there would lose events.
        """
        number = parse_version(version)
        if number == OPAQUE == self._number:
            replay = bool(version) and version == self._position
            self._position = version or self._position
            return replay
        if is_ahead(number, self._number):
            self._position, self._number = version, number
            return False
        return OPAQUE < number <= self._number

    def _is_behind(self, version: str) -> bool:
        return OPAQUE < parse_version(version) < self._number

    def _fresh(self, now: float) -> None:
        self.fresh_at = now
        self.idle_at = now + self._timing.idle_seconds
        self._patience = 0.0
        self.fault = None

    def _go(self, action: Action) -> None:
        self.action = action
        self._initial = isinstance(action, WatchFrom) and action.initial

    def _list(self) -> List | WatchFrom:
        return WatchFrom("", self._seconds(), initial=True) if self._streaming else List()

    def _watch(self) -> WatchFrom:
        return WatchFrom(self._position, self._seconds())

    def _seconds(self) -> int:
        return round(self._timing.watch_seconds * (1.0 + self._jitter()))


def _refusal(status: Json) -> ApiError:
    """Return the error that the Status object of an ERROR event stands for."""
    code = status.get("code")
    return api_error(code if type(code) is int else 500, status)


def _is_too_new(error: ApiError | TransportError) -> bool:
    """Whether the server has not come as far as we have: a replica behind, or a backup."""
    return isinstance(error, ApiError) and any(
        cause.get("reason") == "ResourceVersionTooLarge" for cause in error.causes
    )
