"""Readers: which keys a change concerns, compared with a model that remembers every read."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, labels_of, namespace_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.selectors import selector
from myrmidon.io.watch.changes import Change, Source, encode, encode_unreadable
from myrmidon.runtime.wakeups import read_dependencies as module
from myrmidon.runtime.wakeups.read_dependencies import Listed, Readers, Reading, Record
from tests.runtime.things import Thing

NAMES, SPACES, VALUES = "abc", ("x", "y"), ("", "1", "2")
KEYS = [ObjectRef(Thing.KIND, name, "x") for name in NAMES]
KINDS = (kinds.SECRET, kinds.CLUSTER_ROLE)

refs = st.builds(
    lambda kind, name, space: ObjectRef(kind, name, space if kind.namespaced else ""),
    st.sampled_from(KINDS),
    st.sampled_from(NAMES),
    st.sampled_from(SPACES),
)
lists = st.builds(
    lambda kind, space, labels, index: Listed(
        kind, space if kind.namespaced else "", str(selector(labels)), index
    ),
    st.sampled_from(KINDS),
    st.sampled_from(("", *SPACES)),
    st.sampled_from(
        (
            "",
            "tier=1",
            "tier in (1,2)",
            "tier!=1",
            "!tier",
            "tier",
            "tier=1,zone=2",
            "zone!=1,tier=2",
        )
    ),
    st.sampled_from((None, None, ("size", "1"), ("size", "2"))),
)
records = st.one_of(refs, lists)
bodies = st.one_of(
    st.none(),
    st.just("unreadable"),
    st.fixed_dictionaries({name: st.sampled_from(VALUES) for name in ("tier", "zone", "size")}),
)


def words(_kind: Kind, index: str, obj: Json) -> Iterable[str]:
    """Return the values of the index ``size``, for every kind."""
    return [obj["data"][index]] if obj["data"][index] else []


def entry(ref: ObjectRef, body: Any, version: int) -> bytes | None:
    """Build a cached object with these labels and this size."""
    if body is None:
        return None
    if body == "unreadable":
        return encode_unreadable("broken", "uid", version)
    labels = {name: body[name] for name in ("tier", "zone") if body[name]}
    metadata = {"name": ref.name, "namespace": ref.namespace, "labels": labels}
    return encode({"metadata": metadata, "data": {"size": body["size"]}}, "uid", version)


def change_of(ref: ObjectRef, before: Any, after: Any) -> Change:
    """Build a change from one body to another."""
    return Change(ref, entry(ref, before, 1), entry(ref, after, 2), Source.WATCH)


def covers(record: Record, change: Change) -> bool:
    """The model: whether a read covers a change."""
    if isinstance(record, ObjectRef):
        return record == change.ref
    return any(
        record.kind == change.ref.kind
        and record.namespace in ("", namespace_of(obj))
        and selector(record.labels).matches(labels_of(obj))
        and (
            record.indexed is None
            or record.indexed[1] in words(record.kind, record.indexed[0], obj)
        )
        for obj in (change.before, change.after)
        if obj is not None
    )


class ReadersMachine(RuleBasedStateMachine):
    """Passes begin, read, end and are interrupted, objects change and are deleted, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.position = 0
        self.readers = Readers(words, lambda: self.position)
        self.ended: dict[ObjectRef, set[Record]] = {}  # reads of the last pass
        self.under_way: dict[ObjectRef, tuple[Reading, set[Record]]] = {}
        self.began: dict[ObjectRef, int] = {}

    @rule(key=st.sampled_from(KEYS))
    def begin(self, key: ObjectRef) -> None:
        """A pass begins."""
        if key not in self.under_way:
            self.under_way[key] = self.readers.begin(key), set()
            self.began[key] = self.position

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), record=records)
    def read(self, data: st.DataObject, record: Record) -> None:
        """A state reads an object or a list."""
        reading, seen = self.under_way[data.draw(st.sampled_from(sorted(self.under_way)))]
        reading.note(record, "state")
        seen.add(record)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), complete=st.booleans())
    def end(self, data: st.DataObject, complete: bool) -> None:
        """A pass ends, or is interrupted."""
        key = data.draw(st.sampled_from(sorted(self.under_way)))
        reading, seen = self.under_way.pop(key)
        reading.end(complete=complete)
        self.ended[key] = seen if complete else seen | self.ended.get(key, set())

    @rule(key=st.sampled_from(KEYS))
    def forget(self, key: ObjectRef) -> None:
        """The object of a key is deleted."""
        if key not in self.under_way:
            self.readers.forget(key)
            self.ended.pop(key, None)

    @rule(ref=refs, before=bodies, after=bodies, lag=st.integers(0, 2))
    def change(self, ref: ObjectRef, before: Any, after: Any, lag: int) -> None:
        """R1: a change wakes the keys that have read the object, and no other."""
        self.position += 1
        position = self.position - lag
        change = change_of(ref, before, after)
        found = self.readers.of(change)
        expected = {
            key
            for key in KEYS
            if any(
                covers(record, change)
                for record in self.ended.get(key, set())
                | (self.under_way[key][1] if key in self.under_way else set())
            )
        }
        assert set(found) == expected
        late = {key for key in expected if self.began[key] < position}
        assert set(self.readers.of(change, position)) == late, "woken by a change that it has seen"

    @invariant()
    def holds_what_exists(self) -> None:
        """Q12: keys without reads have no entries."""
        if not any(self.ended.values()) and not any(seen for _, seen in self.under_way.values()):
            assert self.readers.is_empty
        assert self.under_way or self.readers.dependencies == sum(map(len, self.ended.values()))


TestReaders = ReadersMachine.TestCase


@given(st.lists(records, max_size=30), st.integers(1, 4), refs, bodies, bodies)
def test_r1_a_pass_with_many_reads_is_still_woken(
    reads: list[Record], limit: int, ref: ObjectRef, before: Any, after: Any
) -> None:
    """Above the limit any change of the kind may wake it; no change is missed."""
    assume(before is not None or after is not None)
    change = change_of(ref, before, after)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "READS_MAX", limit)
        readers = Readers(words)
        reading = readers.begin(KEYS[0])
        for record in reads:
            reading.note(record, "state")
        reading.end(complete=True)
        concerned = bool(readers.of(change))
        assert concerned or not any(covers(record, change) for record in reads)
        assert not concerned or any(record.kind == ref.kind for record in reads)
        assert readers.dependencies <= max(limit, 1) * len(KINDS)
        readers.forget(KEYS[0])
        assert readers.is_empty


def test_a_pass_that_reads_a_thousand_objects_depends_on_their_namespace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other namespaces do not wake it, until it has read too many namespaces."""
    monkeypatch.setattr(module, "READS_MAX", 3)
    readers = Readers(words)
    reading = readers.begin(KEYS[0])
    for name in "abcde":
        reading.note(ObjectRef(kinds.SECRET, name, "x"), "state")
    reading.note(ObjectRef(kinds.CLUSTER_ROLE, "a"), "other")
    reading.end(complete=True)

    def wakes(namespace: str) -> bool:
        return bool(readers.of(change_of(ObjectRef(kinds.SECRET, "z", namespace), None, plain)))

    plain = {"tier": "", "zone": "", "size": ""}
    assert readers.dependencies == 2
    assert (wakes("x"), wakes("y")) == (True, False)
    reading = readers.begin(KEYS[0])
    for namespace in "xuvw":
        reading.note(ObjectRef(kinds.SECRET, "a", namespace), "state")
    reading.end(complete=True)
    assert readers.dependencies == 1
    assert (wakes("x"), wakes("y")) == (True, True)


def test_an_interrupted_pass_with_many_reads_keeps_only_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Q12: reads of repeatedly interrupted passes do not accumulate."""
    monkeypatch.setattr(module, "READS_MAX", 3)
    readers = Readers(words)
    for number in range(50):
        reading = readers.begin(KEYS[0])
        reading.note(ObjectRef(kinds.SECRET, f"s{number}", "x"), "state")
        reading.end(complete=False)
        assert readers.dependencies <= 3


def test_the_object_of_the_pass_is_not_a_dependency() -> None:
    """Each change of it causes a pass anyway."""
    readers = Readers(words)
    reading = readers.begin(KEYS[0])
    reading.note(KEYS[0], "state")
    reading.end(complete=True)
    assert readers.is_empty
