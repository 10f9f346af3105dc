"""The list-and-watch protocol as a state machine: answers in, next request out.  No I/O, no clock.

R is the resourceVersion that the next watch starts from.  Rules:
 1  Every list is a consistent read: it has no resourceVersion.  It never has "0", which a replica
    may answer from a cache that is older than what we have already seen.
 2  All pages of a list show one snapshot.  If the server no longer has that snapshot (410 for a
    continue token), the whole list is read in one request; pages of two snapshots are never mixed.
 3  After a list at version R we watch from R.  Every event and every bookmark moves R forward,
    never back; an event that is not newer than R is a replay and is dropped.
 4  A watch that ends is opened again from R: no list, no wait, no change to the cache.
 5  410 (as an answer or as an event) means that R has been compacted: list again.  The cache
    compares the list with the objects it holds and generates the deletions that were missed.
 6  Silence that outlasts the bookmark interval proves nothing: the connection may be dead, the
    server cut off from etcd, or nothing may have changed (a bookmark is sent only if the version
    moved).  So we read one object with a consistent read and then reopen the watch from R, whatever
    the answer.  The cache is fresh as of the last event, page or such answer.  Opening a watch does
    not count, because a server that cannot reach etcd opens watches, too.
 7  A watch that ends at once without an event, cannot be read, or is refused because of R (too new,
    400, 422) is suspect; after three in a row we list.  (In kubernetes/kubernetes#137089 the server
    answers 200 and closes the watch, every time.)
 8  After any other refusal (401, 403, 404, 429, 5xx) or a broken connection we back off with
    jitter, at least for Retry-After, and repeat the request.  Cached objects stay: 403 does not
    mean that there are none.  After 404 we list: a kind that was removed and created again has
    other objects.
 9  A list that is older than R is discarded.  If the third in a row is older as well, the server
    was restored from a backup: that list is accepted, and versions are compared from there.
10  If the server supports streaming lists, the list arrives as the first part of a watch and ends
    with a marked bookmark.  If the server refuses, or the list does not end, we list in pages.
    "Does not end" means that no object came for a while, not that the list takes long in total:
    otherwise a long list over a slow connection would be restarted for ever.
11  An event about an unreadable object is handled like any other.  A line that does not say which
    object it is about is a gap: we watch again from R, and list if the line is there each time.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from myrmidon.api.objects.accessors import Json, annotations_of, version_of
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
from myrmidon.io.watch.actions import Action, Ask, List, Pause, WatchFrom
from myrmidon.io.watch.changes import OPAQUE, is_ahead, parse_version

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_TYPES = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})
_STREAMING_REFUSED = frozenset({400, 405, 415, 422, 501})


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations of the protocol, in seconds."""

    backoff_seconds_min: float = 0.25  # doubled with each failure, up to the maximum
    backoff_seconds_max: float = 30.0
    retry_after_seconds_max: float = 60.0  # a longer Retry-After is cut to this
    watch_seconds: float = 300.0  # timeoutSeconds of a watch is this, plus up to as much again
    idle_seconds: float = 90.0  # silence before an Ask; bookmarks come about once a minute
    ask_seconds: float = 10.0  # deadline of an Ask
    short_seconds: float = 1.0  # a watch that ends sooner, without an event, is suspect
    progress_seconds: float = 120.0  # longest wait for the next object of a streaming list


class Watching:
    """The state of one reflector in the protocol.

    ``action`` is what to do now.  The reflector does it, reports the outcome with one of the
    ``on_`` methods (for a stream: ``on_open``, ``on_event`` for each line, then one of the others)
    and does the next ``action``.  It stops reading a stream as soon as ``action`` changes, and
    passes what ``on_page`` and ``on_event`` return to the cache.
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
        self._position, self._number = "", OPAQUE  # R, as the server sent it and as a number
        self._failures = self._suspicions = self._older_lists = 0
        self._opened_at = self._progress_at = 0.0
        self._heard = False  # the open stream has brought an event
        self._initial = False  # the stream is still in its streaming list
        self._patience = 0.0  # shortest time to the next Ask, after one that failed
        self.synced = False  # a list has been completed
        self.idle_at = 0.0  # when on_idle is due, if the open watch stays silent
        self.fresh_at: float | None = None  # time of the last event, page or answer to an Ask
        self.fault: ApiError | TransportError | None = None  # None while the server answers
        self.action: Action
        self._go(self._list())

    # ------------------------------------------------------------------------ reports

    def on_page(
        self, items: Iterable[Any], version: str, continue_token: str, now: float
    ) -> Listing | None:
        """Report a page of a list.  Return what to load, None if the page is not accepted."""
        assert isinstance(self.action, List), f"a page came in answer to {self.action}"
        begins = not self.action.continue_token
        if continue_token and continue_token == self.action.continue_token:
            self.on_error(AmbiguousError("the server repeated the continue token of a list"))
            return None
        if begins and not self._accepts(version):
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
        """Report that the server has accepted a watch and sent the headers of its answer."""
        self._opened_at = self._progress_at = now
        self._heard = False
        # Silence is counted across reopened watches, but not into a streaming list.
        heard_at = now if self._initial or self.fresh_at is None else self.fresh_at
        self.idle_at = max(heard_at + self._timing.idle_seconds, now + self._patience)

    def on_event(self, event: WatchEvent, now: float) -> WatchEvent | Listing | None:
        """Report a line of a watch.  Return what to load or apply, None if it changes nothing."""
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

    def on_foreign(self, now: float) -> Listing | None:
        """Report an event about an object that is not for this cache, and was not decoded.

        R stays where it is: the next event of ours or the next bookmark moves it past this one.
        """
        assert isinstance(self.action, WatchFrom), f"an event came in answer to {self.action}"
        self._fresh(now)
        begins, self._heard = self._initial and not self._heard, True
        if not self._initial:
            self._failures = self._suspicions = 0
            return None
        if self._has_no_end(now):
            self._list_in_pages()
            return None
        self._progress_at = now
        return Listing([], "", begins) if begins else None

    def on_end(self, now: float) -> None:
        """Report that the server ended the watch normally."""
        assert isinstance(self.action, WatchFrom), f"a watch ended during {self.action}"
        if self._initial and now - self._opened_at >= self._timing.watch_seconds:
            self._list_in_pages()  # the list took longer than the timeoutSeconds of its watch
        elif self._initial:
            self._suspect(AmbiguousError("a streaming list ended before it was complete"))
        elif self._heard or now - self._opened_at >= self._timing.short_seconds:
            self._failures = self._suspicions = 0
            self._go(self._watch())
        else:
            self._suspect(AmbiguousError("a watch ended at once, without an event"))

    def on_idle(self, now: float) -> None:
        """Report that no line came until ``idle_at``."""
        assert isinstance(self.action, WatchFrom), f"a watch was idle during {self.action}"
        if self._initial:
            self._list_in_pages()
            return
        if now - self._opened_at >= self._timing.short_seconds:
            self._suspicions = 0
        self._go(Ask())

    def on_answer(self, version: str, now: float) -> None:
        """Report the answer to an Ask, with the resourceVersion of its list."""
        assert isinstance(self.action, Ask), f"an answer came to {self.action}"
        if self._is_behind(version):
            self.on_error(AmbiguousError("a list of one object is older than the watch"))
            return
        self._fresh(now)
        self._failures = 0
        self._go(self._watch())

    def on_garbage(self) -> None:
        """Report a line of a watch that does not say which object it is about."""
        self._suspect(AmbiguousError("a line of a watch cannot be read"))

    def on_broken(self, error: TransportError) -> None:
        """Report a failure of our own code with an answer: the cache may lack it, so list again."""
        if not isinstance(self.action, Pause):
            self._retry(self._list(), error)

    def on_error(self, error: ApiError | TransportError) -> None:
        """Report that the server refused the action, or that the connection broke."""
        assert not isinstance(self.action, Pause), f"an error came while waiting: {error}"
        if isinstance(self.action, List):
            if isinstance(error, ExpiredError) and self.action.continue_token:
                self._go(List(whole=True))
            else:
                self._retry(self.action, error)
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

    def on_part_changed(self, *, relists: bool) -> None:
        """Report that the cache keeps another part of the objects; the last action was given up.

        With ``relists`` it needs objects that it did not keep before.  Otherwise an interrupted list
        is begun again, and a watch is opened again from R.  A Pause is not cut short.
        """
        then = self._list() if relists or self.is_listing else self._watch()
        self._go(Pause(self.action.seconds, then) if isinstance(self.action, Pause) else then)

    @property
    def is_listing(self) -> bool:
        """Whether a list is under way, or is the next action after a Pause."""
        action = self.action
        if isinstance(action, Pause):
            return isinstance(action.then, List) or action.then.initial
        return self._initial or isinstance(action, List)

    def on_waited(self) -> None:
        """Report that a Pause is over."""
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
        if not is_end or not self._accepts(version):
            return None
        listing = Listing([], version, begins, completes=True, forgets=self._forgets(begins=True))
        self._complete(version)
        self._initial = False  # the same stream goes on as a watch
        return listing

    def _has_no_end(self, now: float) -> bool:
        """Whether a streaming list makes no progress, or lasts longer than a watch can (rule 10).

        A slow list is not restarted as long as objects keep coming.
        """
        longest = 2.0 * self._timing.watch_seconds + self._timing.progress_seconds
        silent = now - self._progress_at > self._timing.progress_seconds
        return silent or now - self._opened_at > longest

    def _watch_failed(self, error: ApiError | TransportError) -> None:
        if isinstance(error, ExpiredError):
            self._suspicions += 1
            first = self._suspicions == 1
            self._retry(self._list(), error, at_once=first)
        elif _is_too_new(error) or isinstance(error, BadRequestError | InvalidError):
            self._suspect(error)
        elif isinstance(error, NotFoundError):
            self._retry(self._list(), error)
        else:
            self._retry(self._watch(), error)

    def _suspect(self, error: ApiError | TransportError) -> None:
        self._suspicions += 1
        convinced = self._suspicions % 3 == 0
        if convinced and self._initial:
            self._streaming = False
        relist = convinced or self._initial
        self._retry(self._list() if relist else self._watch(), error)

    def _retry(
        self, then: List | WatchFrom, error: ApiError | TransportError, *, at_once: bool = False
    ) -> None:
        self.fault = error
        if at_once:
            self._go(then)
            return
        self._go(Pause(self._delay(error), then))

    def _delay(self, error: ApiError | TransportError) -> float:
        """Count a failure and return the seconds of backoff before the next request (rule 8)."""
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

    def _accepts(self, version: str) -> bool:
        """Whether a list of this version is accepted; if not, schedule another list (rule 9)."""
        if not self._is_behind(version):
            self._older_lists = 0
            return True
        self._older_lists += 1
        if self._older_lists >= 3:
            return True
        self._retry(self._list(), AmbiguousError("a list is older than what the watch has seen"))
        return False

    def _forgets(self, begins: bool) -> bool:
        return begins and self._older_lists > 0

    def _is_replay(self, version: str) -> bool:
        """Whether an event is a replay (not newer than R).  If it is newer, move R to its version.

        If R is a number, a version that is missing, is not a number or is more than etcd can have
        leaves R where it is: watching from such a version would lose events.
        """
        number = parse_version(version)
        if is_ahead(number, self._number):  # nearly always
            self._position, self._number = version, number
            return False
        if number == OPAQUE == self._number:
            replay = bool(version) and version == self._position
            self._position = version or self._position
            return replay
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
    """Return the Status object of an ERROR event as an error."""
    code = status.get("code")
    return api_error(code if type(code) is int else 500, status)


def _is_too_new(error: ApiError | TransportError) -> bool:
    """Whether the server has not reached R yet: a replica that lags, or a restored backup."""
    return isinstance(error, ApiError) and any(
        cause.get("reason") == "ResourceVersionTooLarge" for cause in error.causes
    )
