"""Conditions to and from JSON."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.conditions import Condition, find, is_ready, status_of
from myrmidon.api.values.timestamps import write_time
from tests.strategies import values

CONDITIONS = st.builds(
    Condition,
    st.sampled_from(["Ready", "Deployed"]),
    st.sampled_from(["True", "False", "Unknown"]),
    st.sampled_from(["", "Done"]),
    st.sampled_from(["", "text"]),
    st.integers(0, 3),
    st.sampled_from(["", "2026-01-01T00:00:00Z"]),
)


@given(condition=CONDITIONS)
def test_a_condition_survives_the_wire(condition: Condition) -> None:
    """A condition that we write is read back unchanged."""
    assert Condition.from_json(condition.to_json()) == condition


@given(raw=values(), field=st.sampled_from(["status", "reason", "message", "observedGeneration"]))
def test_reading_a_condition_never_fails(raw: Any, field: str) -> None:
    """Conditions of other writers may hold anything; they must not stop ours."""
    Condition.from_json(raw)
    read = Condition.from_json({"type": "Ready", field: raw})

    assert read is not None
    assert isinstance(read.observed_generation, int)


@pytest.mark.parametrize("raw", [None, "Ready", {}, {"type": ""}, {"status": "True"}])
def test_a_value_that_is_not_a_condition_is_none(raw: Any) -> None:
    """It is then left alone."""
    assert Condition.from_json(raw) is None


def test_find_looks_by_type() -> None:
    """An object may have no status, no conditions, or malformed ones."""
    ready = Condition("Ready", "True", "Done", "", 1, "2026-01-01T00:00:00Z")
    obj = {"status": {"conditions": ["odd", {"type": "Other"}, ready.to_json()]}}

    assert find(obj, "Ready") == ready
    assert find(obj, "Missing") is None
    assert find({}, "Ready") is None
    assert find({"status": {"conditions": None}}, "Ready") is None


@given(condition=CONDITIONS, wanted=st.sampled_from(["Ready", "Deployed"]))
def test_the_status_alone_is_that_of_the_condition(condition: Condition, wanted: str) -> None:
    """Without a condition, or without a status in it, it is unknown."""
    obj = {"status": {"conditions": [condition.to_json()]}}
    found = find(obj, wanted)
    assert status_of(obj, wanted) == (found.status if found else "Unknown")
    assert status_of({"status": {"conditions": [{"type": wanted}]}}, wanted) == "Unknown"


def test_timestamps_are_utc_in_whole_seconds() -> None:
    """As metav1.Time prints them."""
    berlin = timezone(timedelta(hours=1))

    assert write_time(datetime(2026, 1, 1, 1, 0, 0, 999, tzinfo=berlin)) == "2026-01-01T00:00:00Z"
    assert write_time(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00Z"


@given(condition=CONDITIONS, generation=st.integers(0, 3))
def test_c4_ready_is_true_for_the_current_generation_only(
    condition: Condition, generation: int
) -> None:
    """An older or a missing condition Ready says nothing about the object as it is now."""
    obj = {"metadata": {"generation": generation}, "status": {"conditions": [condition.to_json()]}}

    assert is_ready(obj) == (
        (condition.type, condition.status) == ("Ready", "True")
        and condition.observed_generation == generation
    )
    assert not is_ready({"metadata": {"generation": generation}})
