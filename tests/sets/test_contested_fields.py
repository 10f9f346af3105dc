"""A15: when a difference that returns is a stall, decided by values and times alone."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.managed_fields import managers_of, wrote
from myrmidon.sets.stalls.contested_fields import (
    ContestedFields,
    Stalls,
    changed_fields,
    field_text,
)
from tests.sets.outputs import SPECS

MINUTE, HOUR = 60.0, 3600.0
OURS: Json = {"data": {"a": "ours"}}


def theirs(value: object = "theirs") -> Json:
    """Build the object as another writer left it."""
    return {"data": {"a": value}}


class Fight:
    """Two writers: ours writes whenever it may, and the other one reverts it ``pause`` later."""

    def __init__(self, *, pause: float) -> None:
        self.stalls: Stalls[str] = Stalls()
        self.now, self.pause, self.writes = 1000.0, pause, 0
        self.stalled: ContestedFields | None = None

    def round(self, value: object = "theirs", declaration: int = 1) -> bool:
        """Revert once; return whether ours wrote again."""
        self.now += self.pause
        self.stalled = self.stalls.check("key", declaration, self.now)
        if self.stalled is not None:
            return False
        self.writes += 1
        self.stalled = self.stalls.wrote("key", declaration, theirs(value), OURS, self.now)
        return True


@given(pause=st.floats(0.0, 500.0), hours=st.integers(1, 5))
def test_a15_one_difference_is_not_written_for_ever(pause: float, hours: int) -> None:
    """Seven writes at most, and then one in 1, 2, 4, 8, 10, 10, ... minutes."""
    fight = Fight(pause=pause)
    ends_at = fight.now + hours * HOUR
    while fight.now < ends_at:
        if not fight.round():
            assert fight.stalled is not None
            assert fight.stalled.fields == (("data", "a"),)
            assert 0 < fight.stalled.seconds <= 10 * MINUTE
            fight.now += max(fight.stalled.seconds - fight.pause, 0.001)
    assert fight.writes <= 7 + 4 + hours * 6


@given(
    values=st.lists(st.integers(), unique=True, min_size=10, max_size=40),
    pause=st.floats(1.0, HOUR),
)
def test_edits_that_differ_are_never_a_stall(values: list[int], pause: float) -> None:
    """Edits to different values, for example by a person, are each corrected at once."""
    fight = Fight(pause=pause)
    assert all(fight.round(value) for value in values)


@given(pauses=st.lists(st.floats(0.0, MINUTE), min_size=10, max_size=40))
def test_another_declaration_begins_a_new_series(pauses: list[float]) -> None:
    """The parent or the controller has changed what it wants, so no edit was reverted."""
    fight = Fight(pause=0.0)
    for number, pause in enumerate(pauses):
        fight.pause = pause
        assert fight.round(declaration=number % 2)


def test_slow_corrections_are_never_a_stall() -> None:
    """A correction every eleven minutes causes no load."""
    fight = Fight(pause=11 * MINUTE)
    assert all(fight.round() for _ in range(50))


def stalled_fight() -> Fight:
    """Return a fight that has come to a stall."""
    fight = Fight(pause=0.1)
    while fight.round():
        pass
    return fight


def test_a15_a_stall_lasts_until_a_write_has_held() -> None:
    """The write after the delay does not end it; ten quiet seconds after it do."""
    fight = stalled_fight()
    assert fight.stalls.stalled
    fight.now += MINUTE
    assert fight.round()
    assert fight.stalled == ContestedFields((("data", "a"),), 10.0, None)
    assert fight.stalls.held("key", 1, fight.now + 4) == ContestedFields(
        (("data", "a"),), 6.0, None
    )
    assert fight.stalls.held("key", 1, fight.now + 10) is None
    assert not fight.stalls.stalled
    assert fight.round()


def test_a15_each_write_in_vain_doubles_the_delay() -> None:
    """The delay grows up to ten minutes."""
    fight, delays = stalled_fight(), []
    fight.pause = 0.0
    for _ in range(6):
        assert fight.stalled is not None
        delays.append(round(fight.stalled.seconds / MINUTE, 2))
        fight.now += fight.stalled.seconds
        assert fight.round()
        assert not fight.round()
    assert delays == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_stall_is_over_with_its_declaration() -> None:
    """Whether the new declaration has to be written or is met already."""
    for ask in ("check", "held"):
        fight = stalled_fight()
        assert getattr(fight.stalls, ask)("key", 2, fight.now) is None
        assert not fight.stalls.stalled


def test_the_other_writer_is_remembered_with_the_stall() -> None:
    """The message of the condition stays the same."""
    fight = stalled_fight()
    fight.stalls.blame("key", "rival")
    assert not fight.round()
    assert fight.stalled is not None
    assert fight.stalled.others == "rival"


def test_a_stall_without_further_passes_is_forgotten() -> None:
    """Its parent is gone, or no longer declares the object."""
    fight = stalled_fight()
    fight.stalls.expire(fight.now)
    assert list(fight.stalls.stalled) == ["key"]
    fight.stalls.expire(fight.now + HOUR)
    assert not fight.stalls.stalled
    fight = stalled_fight()
    fight.stalls.forget(["key", "other"])
    assert not fight.stalls.stalled


def test_very_many_fields_and_values_are_not_all_remembered() -> None:
    """Memory is bounded for each object."""
    stalls: Stalls[str] = Stalls()
    for number in range(200):
        before = {"data": {f"k{number}-{index}": number for index in range(10)}}
        assert stalls.wrote("key", 1, before, {"data": {}}, 2.0 * number) is None
    series = stalls._series["key"]
    assert len(series.fields) <= 64
    for number in range(200):
        stalls.wrote("key", 1, {"data": {"k0-0": -number}}, {"data": {}}, 400.0 + 2.0 * number)
    assert all(len(contest.values) <= 16 for contest in series.fields.values())


class AnyHistory(RuleBasedStateMachine):
    """In any history, memory covers the last twenty minutes, and no delay is too long."""

    def __init__(self) -> None:
        super().__init__()
        self.stalls: Stalls[int] = Stalls()
        self.now = 0.0
        self.written: dict[int, float] = {}

    @rule(seconds=st.floats(0.0, 2 * HOUR))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds

    @rule(key=st.integers(0, 3), declaration=st.integers(0, 1), value=st.integers(0, 2))
    def differs(self, key: int, declaration: int, value: int) -> None:
        """A write is needed, and is sent if that is allowed."""
        stall = self.stalls.check(key, declaration, self.now)
        if stall is None:
            self.written[key] = self.now
            stall = self.stalls.wrote(key, declaration, theirs(value), OURS, self.now)
        assert stall is None or (stall.fields and 0 < stall.seconds <= 600)

    @rule(key=st.integers(0, 3), declaration=st.integers(0, 1))
    def holds(self, key: int, declaration: int) -> None:
        """No write is needed."""
        stall = self.stalls.held(key, declaration, self.now)
        assert stall is None or 0 < stall.seconds <= 10

    @invariant()
    def memory(self) -> None:
        """Nothing is kept about objects without recent writes."""
        recent = {key for key, at in self.written.items() if self.now - at <= 1200}
        self.stalls.expire(self.now)
        assert set(self.stalls.stalled) <= recent
        assert set(self.stalls._series) <= recent


TestAnyHistory = AnyHistory.TestCase


# ------------------------------------------------------------------------------- differences


def fields(before: Json, after: Json, declared: Json | None = None) -> list[str]:
    """Return the names of the changed fields."""
    return [field_text(name) for name, _ in changed_fields(before, after, declared)]


def test_a_status_counts_if_it_was_written() -> None:
    """A write to the status subresource declares it; in any other write it belongs to others."""
    before, after = {"status": {"x": 1, "y": 1}}, {"status": {"x": 2, "y": 2}}

    assert fields(before, after, {"status": {"x": 2}}) == ["status.x"]
    assert fields(before, after, {"spec": {}}) == []


def test_a_difference_is_named_by_its_field() -> None:
    """A list is one field; fields that the server maintains do not count."""
    before = {
        "apiVersion": "v1",
        "metadata": {"labels": {"a.b/c": "x"}, "resourceVersion": "1", "generation": 1},
        "spec": {"replicas": 1, "ports": [1, 2], "same": {"x": 1}, "flag": True},
        "status": {"x": 1},
    }
    after = {
        "apiVersion": "v2",
        "metadata": {"resourceVersion": "2", "generation": 2, "annotations": {"d": "e"}},
        "spec": {"replicas": 2, "ports": [1], "same": {"x": 1.0}, "flag": 1},
        "data": "new",
    }
    assert fields(before, after) == [
        "metadata.labels",
        "metadata.annotations",
        "spec.replicas",
        "spec.ports",
        "spec.flag",
        "data",
    ]
    after["metadata"]["labels"] = {"a.b/c": "y"}  # type: ignore[index]
    assert fields(before, after)[0] == "metadata.labels[a.b/c]"


def test_only_declared_fields_count_where_the_request_names_them() -> None:
    """An autoscaler that changes another field at that time is not the other writer of a stall."""
    before = {"spec": {"replicas": 1, "image": "old", "free": {"a": 1}}, "data": {"x": 1}}
    after = {"spec": {"replicas": 5, "image": "new", "free": {"a": 2}}, "data": {"x": 2}}
    assert fields(before, after, {"spec": {"image": "new"}}) == ["spec.image"]
    assert fields(before, after, {"spec": {"free": None}}) == ["spec.free.a"]
    assert fields({"metadata": {"labels": {"a": "x"}}}, {"metadata": None}, {"spec": {}}) == []


@given(spec=SPECS)
def test_equal_values_are_not_a_difference(spec: Any) -> None:
    """Values that the server prints in another form are equal, too."""
    assert fields({"spec": spec}, {"spec": spec}) == []


# ---------------------------------------------------------------------------- field managers


def test_managers_of_a_field_are_read_from_managed_fields() -> None:
    """Managers of the field or of a part of it; malformed entries are ignored."""
    tree: Json = {"f:spec": {"f:replicas": {}, "f:ports": {'k:{"port":80}': {".": {}}}}}
    obj = {
        "metadata": {
            "managedFields": [
                {"manager": "hpa", "time": "now", "fieldsV1": tree, "subresource": "scale"},
                {"fieldsV1": {"f:spec": {"f:ports": {}}}},
                {"manager": "broken", "fieldsV1": None},
                "nonsense",
            ]
        }
    }
    assert managers_of(obj, ("spec", "replicas")) == {"hpa": "now"}
    assert managers_of(obj, ("spec", "ports")) == {"hpa": "now", "unknown": ""}
    assert managers_of(obj, ("spec", "replicas", "deeper")) == {}
    assert managers_of({}, ("spec",)) == {}
    assert wrote(obj, "broken")
    assert not wrote(obj, "hpa")


def test_a15_a_write_under_another_declaration_ends_the_delay() -> None:
    """The reversals were about the old declaration."""
    stalls: Stalls[str] = Stalls()
    for now in range(8):
        stalls.wrote("it", 1, {"spec": {"size": 1}}, {"spec": {"size": 2}}, float(now))
    assert stalls.delayed
    assert stalls.begins("it", 2, 9.0)
    assert not stalls.delayed
