"""Watch protocol and cache compared with a model of the server, under all known faults."""

from copy import deepcopy
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.kinds import CONFIG_MAP
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import AmbiguousError, ExpiredError
from myrmidon.io.lists.events import Listing, WatchEvent
from myrmidon.io.watch.actions import Ask, List, Pause, WatchFrom
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.changes import Change, Entry, uid_in, version_in
from myrmidon.io.watch.protocol import Watching
from tests.io.model_server import ModelServer, refusal

NAMES = st.sampled_from(["a", "b", "c", "d"])
FAULTS = st.sampled_from([401, 403, 404, 429, 500, 503, "broken"])


class CacheModel(RuleBasedStateMachine):
    """Others write, we write and get late responses, the server compacts, connections break."""

    def __init__(self) -> None:
        super().__init__()
        self.server = ModelServer()
        self.cache = Cache(CONFIG_MAP)
        self.now = 0.0
        self.stream: list[WatchEvent] | None = None
        self.cursor = 0
        self.answers: list[tuple[str, Json]] = []  # own writes whose responses are on their way
        self.seen: dict[str, Entry] = {}  # the objects that a subscriber knows from changes alone
        self.buried: dict[str, None] = {}  # uids that an own delete has removed
        self.streaming_refused = False

    @initialize(streaming=st.booleans(), refused=st.booleans())
    def begin(self, streaming: bool, refused: bool) -> None:
        """Start; some servers offer streaming lists."""
        self.watching = Watching(jitter=lambda: 0.5, streaming=streaming)
        self.streaming_refused = refused

    # ---------------------------------------------------------------------- the world

    @rule(name=NAMES)
    def somebody_writes(self, name: str) -> None:
        """Another client creates or changes an object."""
        self.server.write(name)

    @rule(name=NAMES)
    def somebody_deletes(self, name: str) -> None:
        """Another client deletes an object."""
        self.server.delete(name)

    @rule()
    def server_compacts(self) -> None:
        """The history is compacted; open streams go on."""
        self.server.compact()

    @rule(name=NAMES)
    def we_write(self, name: str) -> None:
        """An own write is executed; its response is on its way."""
        self.answers.append(("write", self.server.write(name)))

    @rule(name=NAMES)
    def we_delete(self, name: str) -> None:
        """An own delete is executed; its response is on its way."""
        known = self.server.delete(name)
        if known is not None:
            self.answers.append(("delete", known))

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def answer_comes(self, data: st.DataObject) -> None:
        """The responses of concurrent writes come in any order."""
        which = data.draw(st.integers(0, len(self.answers) - 1))
        self.take_answer(*self.answers.pop(which))

    def take_answer(self, verb: str, obj: Json) -> None:
        """Own writes are visible as soon as they are recorded (K3)."""
        meta = obj["metadata"]
        ref = ObjectRef(CONFIG_MAP, meta["name"], "ns")
        if verb == "delete":
            version = meta["resourceVersion"]
            self.note(self.cache.record_delete(ref, uid=meta["uid"], version=version))
            self.buried[meta["uid"]] = None
        else:
            self.note(self.cache.record_write(obj))
        current = self.server.objects.get(meta["name"])
        if verb == "write" and current == obj:
            assert self.cache.get(meta["name"], "ns") is not None
            entry = self.cache.entry(("ns", meta["name"]))
            assert entry is not None
            assert version_in(entry) == int(meta["resourceVersion"])

    # ------------------------------------------------------------------- the protocol

    @rule(seconds=st.sampled_from([0.1, 2.0, 100.0]))
    def time_passes(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds

    @rule()
    def step(self) -> None:
        """Do what the protocol asks for, without a fault."""
        match self.watching.action:
            case Pause():
                self.watching.on_waited()
            case List(token, whole):
                self.do_list(token, 0 if whole else 2)
            case WatchFrom() as action:
                self.do_watch(action)
            case Ask():
                _, version, _ = self.server.page("", 1)
                self.watching.on_answer(version, self.now)

    @rule(fault=FAULTS)
    def request_fails(self, fault: Any) -> None:
        """The next request is refused, or the stream breaks."""
        if not isinstance(self.watching.action, Pause):
            self.stream = None
            error = AmbiguousError("reset") if fault == "broken" else refusal(fault)
            self.watching.on_error(error)

    @precondition(lambda self: self.stream is not None)
    @rule(how=st.sampled_from(["end", "idle", "garbage"]))
    def stream_ends(self, how: str) -> None:
        """A stream ends, is silent, or is cut in the middle of a line."""
        self.stream = None
        if how == "garbage":
            self.watching.on_garbage()
        elif how == "idle":
            self.watching.on_idle(self.now)
        else:
            self.watching.on_end(self.now)

    @precondition(lambda self: self.stream is not None and self.cursor > 0)
    @rule(back=st.integers(1, 3))
    def server_replays(self, back: int) -> None:
        """A server repeats earlier events (F04)."""
        self.cursor = max(0, self.cursor - back)

    def do_list(self, token: str, limit: int) -> None:
        """Answer a list."""
        try:
            items, version, following = self.server.page(token, limit)
        except ExpiredError as error:
            self.watching.on_error(error)
            return
        self.take(self.watching.on_page(items, version, following, self.now))

    def do_watch(self, action: WatchFrom) -> None:
        """Open a stream, or take its next line."""
        if self.stream is None:
            self.open(action)
        if self.stream is not None and self.watching.action is action:
            self.stream += self.news()
            if self.cursor < len(self.stream):
                event = self.stream[self.cursor]
                self.cursor += 1
                self.take(self.watching.on_event(deepcopy(event), self.now))
        if self.watching.action is not action:
            self.stream = None

    def open(self, action: WatchFrom) -> None:
        """Begin to answer a watch."""
        self.cursor = 0
        if action.initial and self.streaming_refused:
            self.watching.on_error(refusal(422))
            return
        self.watching.on_open(self.now)
        if action.initial:
            items, version, _ = self.server.page("", 0)
            self.stream = [WatchEvent("ADDED", item) for item in items]
            self.stream.append(self.server.bookmark(ends_initial=True))
            self.told = int(version)
            return
        self.told = int(action.resource_version)
        try:
            self.stream = self.server.events_after(self.told)
        except ExpiredError:
            gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
            self.stream = [WatchEvent("ERROR", gone)]
        self.told = self.server.version

    def news(self) -> list[WatchEvent]:
        """Return the events since the stream was last read; a stream survives a compaction."""
        floor, self.server.floor = self.server.floor, 0
        events = self.server.events_after(self.told)
        self.server.floor, self.told = floor, self.server.version
        return events

    def take(self, fact: Listing | WatchEvent | None) -> None:
        """Store in the cache what the protocol accepts."""
        if isinstance(fact, Listing):
            for change in self.cache.load(fact):
                self.note(change)
        elif fact is not None:
            self.note(self.cache.apply(fact))

    # ----------------------------------------------------------------------- the laws

    def note(self, change: Change | None) -> None:
        """Check that each change continues where the last one of that object ended."""
        if change is None:
            return
        name = change.ref.name
        assert change.old == self.seen.get(name), "a change got lost, or came twice"
        if change.old is not None and change.new is not None:
            assert version_in(change.old) < version_in(change.new)
        if change.new is None:
            del self.seen[name]
        else:
            assert change.uid not in self.buried, "a deleted object came back"
            self.seen[name] = change.new

    @invariant()
    def changes_tell_everything(self) -> None:
        """A subscriber that applies all changes has the content of the cache."""
        held = {key[1]: self.cache.entry(key) for key in self.cache.keys()}  # noqa: SIM118
        assert held == self.seen

    def teardown(self) -> None:
        """When all faults are over, the cache equals the server."""
        if not hasattr(self, "watching"):
            return
        for verb, obj in self.answers:
            self.take_answer(verb, obj)
        self.answers = []
        for _ in range(200):
            self.now += 2.0
            self.step()
            if self.stream is not None and self.cursor >= len(self.stream):
                self.stream += self.news()
                if self.cursor >= len(self.stream):
                    break
        held = {n: (uid_in(e), str(version_in(e))) for n, e in self.seen.items()}
        assert held == self.server.visible()


TestCacheModel = CacheModel.TestCase
TestCacheModel.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
