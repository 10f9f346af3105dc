"""Answer a write from memory if the same write was answered before in the same circumstances.

A simulator, and any suite of tests, sends nearly the same requests to one new server after the other.
Decoding, defaulting, validation and managedFields of a request take a hundred times as long as to store
its result.  A request is answered by plain functions, so its answer and its write are the same whenever
all of its inputs are:

- the request itself: method, path, query, headers, body and user;
- the time, in whole seconds;
- the custom resource types that are served (built-in ones are the same on every server), whether
  RBAC is on, and the feature gates;
- the objects that it reads.  The store notes them in a ``Journal`` while the request is answered;
- the uids and name suffixes that it draws, which a ``CountingEnvironment`` counts.

``RequestMemo`` keeps all of these with the answer and the written object.  It answers from memory only
if every input is equal; objects are compared by their content as JSON.  resourceVersions are left out
of that comparison and put in anew, so that a run in which one more object was written before still
finds its answers.  A request that names a resourceVersion, or that could copy one (JSON patch), is
compared with them.

Not kept: requests that write more than one object, that read what they have written or an earlier
revision, that need a webhook, and answers that are not plain JSON.  A server with tokens, with admission
steps of its own or with another environment answers everything anew, because these have inputs that are
not listed above.

The memory is shared by all servers of the process.  It holds the ``KEPT_MAX`` newest answers, and up to
``STATES_MAX`` answers to the same request in different circumstances.  An answer is prepared for comparison
only when its request comes again, so a request that never does costs little more than without a memory.
"""

import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from myrmidon.api.objects.refs import Kind
from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.requests.call import Core, Draws
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.requests.outcomes import Outcome
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.store import Journal, ObjectStore, Record, StoredChange, content_of

KEPT_MAX = 5_000
SIZE_MAX = 256 * 1024  # of the bodies of a request and its answer; larger ones are not kept
STATES_MAX = 50  # of one request; they are compared one after the other
_JSON = ("content-type", "application/json")
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')
_JSON_PATCH = "application/json-patch+json"
_NAME_SEGMENTS = {"api": 4, "apis": 5}  # of a path that names a cluster-scoped object

Key: TypeAlias = tuple[Any, ...]
Seen: TypeAlias = tuple[bytes, int] | None
"""An object that was read: its content, and its revision if that matters, else -1.  None: not found."""


class _Entry:
    """One answered request: what it read and drew, what it wrote, and the answer.

    Most requests of a test never come again.  So only what was seen is kept at first; it is prepared for
    comparison, which takes longer than to store an object, when the same request comes again.
    """

    __slots__ = (
        "_first",
        "answer",
        "gets",
        "is_repeatable",
        "scans",
        "suffixes",
        "uids",
        "version_of",
        "write"
    )  # fmt: skip

    def __init__(
        self,
        first: tuple[HttpRequest, HttpResponse, Journal],
        uids: tuple[int, int],
        suffixes: tuple[int, int],
    ) -> None:
        self._first: tuple[HttpRequest, HttpResponse, Journal] | None = first
        self.uids, self.suffixes = (
            uids,
            suffixes,
        )  # how many were drawn before the request, and by it
        self.is_repeatable = False
        self.gets: tuple[tuple[str, str, Seen], ...] = ()
        self.scans: tuple[tuple[str, str, tuple[Seen, ...]], ...] = ()
        self.write: _Write | None = None
        self.answer: tuple[HttpResponse, bytes, bytes] = (first[1], b"", b"")
        self.version_of: tuple[str, str] | str = ""  # the object whose resourceVersion is answered

    def _prepare(self, request: HttpRequest, answer: HttpResponse, journal: Journal) -> None:
        self._first = None
        if not _is_repeatable(request, answer, journal):
            return
        by_version = _names_version(request)
        try:
            self.gets = tuple(
                (resource, key, _seen(record, by_version=by_version))
                for (resource, key), record in journal.gets.items()
            )
            self.scans = tuple(
                (resource, prefix, tuple(_seen(one, by_version=by_version) for one in records))
                for (resource, prefix), records in journal.scans.items()
            )
            self.write = _Write(journal.writes[0]) if journal.writes else None
        except TypeError:  # an object that orjson cannot write
            return
        versions = _VERSION.findall(answer.body)
        if versions:
            around = _split(answer.body, int(versions[0]))
            self.version_of = _source(int(versions[0]), journal)
            if around is None or not self.version_of:
                return
            self.answer = (answer, *around)
        self.is_repeatable = True

    def holds(self, store: ObjectStore, environment: CountingEnvironment) -> bool:
        """Whether everything is as it was when the request was answered first.

        Plain loops, because this runs for every write of a simulated run.
        """
        if self.uids[1] and self.uids[0] != environment.uids_drawn:
            return False
        if self._first is not None:
            self._prepare(*self._first)
        if not self.is_repeatable:
            return False
        if self.suffixes[1] and self.suffixes[0] != environment.suffixes_drawn:
            return False
        for resource, key, seen in self.gets:
            if not _is_same(store.get(resource, key), seen):
                return False
        for resource, prefix, all_seen in self.scans:
            if not all_seen and not store.count(resource):
                continue
            records = store.scan(resource, prefix)
            if len(records) != len(all_seen) or not all(map(_is_same, records, all_seen)):
                return False
        return True

    def replay(self, core: Core, environment: CountingEnvironment) -> HttpResponse:
        """Write what the request wrote, draw what it drew, and return its answer."""
        store = core.store
        environment.uids_drawn += self.uids[1]
        environment.suffixes_drawn += self.suffixes[1]
        revision = 0
        if isinstance(self.version_of, tuple):
            read = store.get(*self.version_of)
            assert read is not None, "the object was compared before"
            revision = read.revision
        if self.write is not None:
            written = self.write.again(core)
            revision = revision or written
        response, before, after = self.answer
        if not self.version_of:
            return response
        return HttpResponse(
            response.status, response.headers, b"%b%d%b" % (before, revision, after)
        )


class _Write:
    """A write that can be done again, on this server or another one."""

    __slots__ = ("_around", "_change", "_content", "_shown_as")

    def __init__(self, change: StoredChange) -> None:
        self._change, record = change, change.record
        self._content = content_of(record)
        self._shown_as, self._around = ("", "", ""), (b"", b"")
        body = representation.kept_body(record)
        if body is not None and not change.deleted:
            around = _split(body, record.revision)
            if around is not None:
                kind: Kind = record.cache_for.kind
                self._shown_as, self._around = (kind.group, kind.version, kind.plural), around

    def again(self, core: Core) -> int:
        """Write the object at the next revision; return that revision."""
        change, key, store = self._change, self._change.record.key, core.store
        if change.deleted:
            return store.remove(change.resource, key).revision
        if change.revision == store.revision + 1:
            store.put_again(change.resource, change.record, change.size)  # a value, and shared
            return change.revision
        revision, value = store.revision + 1, change.record.value
        metadata = {**value["metadata"], "resourceVersion": str(revision)}
        record = Record(key, revision, {**value, "metadata": metadata})
        record.content = self._content
        before, after = self._around
        shown_as = core.registry.find(*self._shown_as) if before else None
        if shown_as is not None:
            body = b"%b%d%b" % (before, revision, after)
            representation.remember(shown_as, record, record.value, body)
        store.put_again(change.resource, record, change.size)
        return revision


class RequestMemo:
    """The answers to earlier requests."""

    def __init__(self, kept_max: int = KEPT_MAX) -> None:
        self._kept: dict[Key, list[_Entry]] = {}
        self._order: deque[tuple[Key, _Entry]] = deque()
        self._kept_max = kept_max
        self.hits = self.misses = 0

    def __len__(self) -> int:
        return len(self._order)

    def answer(
        self,
        core: Core,
        request: HttpRequest,
        user: User | None,
        draws: Draws,
        work: Callable[[], Outcome],
    ) -> Outcome:
        """Return the answer to a write: from memory, or else what ``work`` returns."""
        environment, store = core.environment, core.store
        assert isinstance(environment, CountingEnvironment), "see is_usable"
        key = (
            request.method,
            request.path,
            request.body,
            request.query,
            tuple(request.headers.items()),
            user,
            draws.now,
            type(core.authorizer),
            core.registry.custom,
            core.feature_gates,
        )
        known: Sequence[_Entry] = self._kept.get(key, ())
        for entry in known:
            if entry.holds(store, environment):
                self.hits += 1
                return entry.replay(core, environment)
        self.misses += 1
        drawn = environment.uids_drawn, environment.suffixes_drawn
        store.journal = journal = Journal()
        try:
            outcome = work()
        finally:
            store.journal = None
        if (
            isinstance(outcome, HttpResponse)
            and len(known) < STATES_MAX
            and len(request.body) + len(outcome.body) <= SIZE_MAX
        ):
            uids = drawn[0], environment.uids_drawn - drawn[0]
            suffixes = drawn[1], environment.suffixes_drawn - drawn[1]
            self._keep(key, _Entry((request, outcome, journal), uids, suffixes))
        return outcome

    def _keep(self, key: Key, entry: _Entry) -> None:
        if len(self._order) >= self._kept_max:
            self._forget(*self._order.popleft())
        entries = self._kept.setdefault(key, [])
        entries.insert(0, entry)  # the newest is the most likely to be asked for
        self._order.append((key, entry))

    def _forget(self, key: Key, entry: _Entry) -> None:
        entries = self._kept[key]
        entries.remove(entry)
        if not entries:
            del self._kept[key]


def is_usable(core: Core) -> bool:
    """Whether all inputs of the requests to this server are known."""
    return core.tokens.is_open and isinstance(core.environment, CountingEnvironment)


SHARED = RequestMemo()


# ---------------------------------------------------------------------- what is remembered


def _is_repeatable(request: HttpRequest, answer: HttpResponse, journal: Journal) -> bool:
    segments = request.path.strip("/").split("/")
    return (
        journal.is_whole
        and len(journal.writes) <= 1
        and _JSON in answer.headers
        and "as=" not in request.headers.get("accept", "")
        # A deletecollection answers with the revision of the store, which is not in the journal.
        and (request.method != "DELETE" or len(segments) >= _NAME_SEGMENTS.get(segments[0], 99))
    )


def _names_version(request: HttpRequest) -> bool:
    return (
        b"resourceVersion" in request.body
        or b"\\u" in request.body  # any letter of the word may be escaped
        or any(key == "resourceVersion" for key, _ in request.query)
        or request.headers.get("content-type", "").startswith(_JSON_PATCH)
    )


def _source(revision: int, journal: Journal) -> tuple[str, str] | str:
    """Return whose resourceVersion the answer has: the written object, or one that was read."""
    if journal.writes and journal.writes[0].revision == revision:
        return "written"
    found = [
        name
        for name, read in journal.gets.items()
        if read is not None and read.revision == revision
    ]
    return found[0] if len(found) == 1 else ""


def _split(body: bytes, revision: int) -> tuple[bytes, bytes] | None:
    """Return the text before and after the resourceVersion; None unless it has exactly one."""
    parts = body.split(b'"resourceVersion":"%d"' % revision)
    if len(parts) != 2 or len(_VERSION.findall(body)) != 1:
        return None
    return parts[0] + b'"resourceVersion":"', b'"' + parts[1]


def _seen(record: Record | None, *, by_version: bool) -> Seen:
    if record is None:
        return None
    return content_of(record), record.revision if by_version else -1


def _is_same(record: Record | None, seen: Seen) -> bool:
    if record is None or seen is None:
        return record is None and seen is None
    content, revision = seen
    if revision not in (-1, record.revision):
        return False
    if record.content is content:
        return True
    try:
        if content_of(record) != content:
            return False
    except TypeError:  # an object that orjson cannot write
        return False
    record.content = content  # the next comparison is one of identity
    return True
