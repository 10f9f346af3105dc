"""The store compared with a model that keeps everything."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.store import CompactedError, ObjectStore, StoredChange

RESOURCES = st.sampled_from(["pods", "widgets.example.com"])
KEYS = st.sampled_from(["a/x", "a/y", "a-b/x", "b/x", "c"])
PREFIXES = st.sampled_from(["", "a/", "b/"])


def value(number: int) -> dict[str, Any]:
    """Build an object that a write may own."""
    return {"metadata": {"name": "x"}, "n": number}


class StoreModel(RuleBasedStateMachine):
    """The model: a snapshot of everything after every revision."""

    @initialize(limit=st.integers(1, 12))
    def start(self, limit: int) -> None:
        """Start; some stores keep little history."""
        self.store = ObjectStore(history_max=limit)
        self.now: dict[tuple[str, str], int] = {}
        self.past = {self.store.revision: dict(self.now)}
        self.writes: list[tuple[int, str, str, bool]] = []

    def _wrote(self, resource: str, key: str, *, deleted: bool) -> None:
        self.past[self.store.revision] = dict(self.now)
        self.writes.append((self.store.revision, resource, key, deleted))

    @rule(resource=RESOURCES, key=KEYS, number=st.integers(0, 9))
    def put(self, resource: str, key: str, number: int) -> None:
        """Every write has a revision of its own, stamped into the object."""
        record = self.store.put(resource, key, value(number))
        self.now[resource, key] = number
        assert record.value["metadata"]["resourceVersion"] == str(self.store.revision)
        self._wrote(resource, key, deleted=False)

    @rule(resource=RESOURCES, key=KEYS)
    def remove(self, resource: str, key: str) -> None:
        """A deletion has a revision, too, and returns the last state."""
        if (resource, key) not in self.now:
            return
        number = self.now.pop((resource, key))
        record = self.store.remove(resource, key)
        assert (record.value["n"], record.revision) == (number, self.store.revision)
        self._wrote(resource, key, deleted=True)

    @rule(resource=RESOURCES, prefix=PREFIXES, back=st.integers(0, 12))
    def look_back(self, resource: str, prefix: str, back: int) -> None:
        """A list at an old revision returns what it was, in the order of keys, or is refused."""
        at = self.store.revision - back
        if at < self.store.compacted:
            with pytest.raises(CompactedError):
                self.store.scan(resource, prefix, at=at)
            return
        wanted = sorted(
            (key, number)
            for (kind, key), number in self.past[at].items()
            if kind == resource and key.startswith(prefix)
        )
        found = self.store.scan(resource, prefix, at=at)
        assert [(record.key, record.value["n"]) for record in found] == wanted

    @rule(resource=RESOURCES, back=st.integers(0, 12))
    def follow(self, resource: str, back: int) -> None:
        """A cursor sees each later change once, in order, or is told that it is too late."""
        after = self.store.revision - back
        if after < self.store.compacted:
            with pytest.raises(CompactedError):
                self.store.changes(resource, after=after)
            return
        wanted = [
            (revision, key, deleted)
            for revision, kind, key, deleted in self.writes
            if revision > after and kind == resource
        ]
        assert [_seen(change) for change in self.store.changes(resource, after=after)] == wanted

    @rule(back=st.integers(0, 3))
    def compact(self, back: int) -> None:
        """Compact the history."""
        self.store.compact(self.store.revision - back)

    @invariant()
    def present_is_known(self) -> None:
        """Single reads agree with the model."""
        for (resource, key), number in self.now.items():
            record = self.store.get(resource, key)
            assert record is not None
            assert record.value["n"] == number


def _seen(change: StoredChange) -> tuple[int, str, bool]:
    return change.revision, change.record.key, change.deleted


TestStore = StoreModel.TestCase
TestStore.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_listeners_are_woken_for_their_resource_only() -> None:
    """A watch of pods is not woken when a secret changes."""
    store, woken = ObjectStore(), []
    stop = store.listen(lambda: woken.append("pods"), "pods")
    store.listen(lambda: woken.append("all"))

    store.put("pods", "a", value(1))
    store.put("secrets", "a", value(1))
    stop()
    store.put("pods", "a", value(2))

    assert woken == ["pods", "all", "all", "all"]


def test_history_is_bounded_in_bytes() -> None:
    """A few large objects displace as much history as many small ones."""
    store = ObjectStore(history_max=1000, history_bytes_max=10_000)
    for index in range(100):
        store.put("widgets", "a", {"metadata": {"name": "a"}, "data": str(index) * 400})

    with pytest.raises(CompactedError):
        store.changes("widgets", after=2)
    kept = store.changes("widgets", after=store.compacted)
    assert 0 < len(kept) < 50
    assert sum(len(go_json.encode(change.record.value)) for change in kept) <= 10_000


def test_an_object_larger_than_the_history_is_stored() -> None:
    """Its change is dropped from the history at once; a watch has to list again."""
    store = ObjectStore(history_bytes_max=100)
    record = store.put("widgets", "a", {"metadata": {"name": "a"}, "data": "x" * 1000})

    assert store.get("widgets", "a") is record
    assert store.compacted == store.revision
