"""Shard selectors: print, read, match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.requests.shard_selectors import (
    HASH_END,
    ShardField,
    ShardRange,
    read_shard_selector,
    write_shard_selector,
)
from myrmidon.api.values.fnv import fnv1a_64
from myrmidon.errors import UsageError

LOW = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
HIGH = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"


@st.composite
def ranges(draw: st.DrawFn) -> tuple[ShardRange, ...]:
    """Some ranges of one field."""
    field: ShardField = draw(st.sampled_from(["uid", "namespace"]))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, HASH_END - 1))
        found.append(ShardRange(field, start, draw(st.integers(start + 1, HASH_END))))
    return tuple(found)


def test_the_text_of_a_range() -> None:
    """The end of the hash space has a digit more than other bounds."""
    assert str(ShardRange("uid", 0, HASH_END // 2)) == LOW
    assert str(ShardRange("uid", HASH_END // 2, HASH_END)) == HIGH


@given(ranges())
def test_what_is_written_can_be_read(found: tuple[ShardRange, ...]) -> None:
    """Reading gives the same ranges again."""
    assert read_shard_selector(write_shard_selector(found)) == found


@given(st.text(), st.integers(1, HASH_END - 1))
def test_each_value_is_in_one_of_two_ranges_that_divide_the_hashes(value: str, middle: int) -> None:
    """A range includes its start and excludes its end."""
    below, above = ShardRange("uid", 0, middle), ShardRange("uid", middle, HASH_END)
    assert below.covers(value) is not above.covers(value)
    hashed = fnv1a_64(value)
    assert ShardRange("uid", hashed, hashed + 1).covers(value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' is not a range"),
        ("shardRange(object.metadata.name, '0x0', '0x1')", "is not a range"),
        (f"{LOW} && {HIGH}", "is not a range"),
        (LOW.replace("0x8", "0x0"), "does not start before its end"),
        (f"{LOW} || {LOW.replace('uid', 'namespace')}", "its ranges name different fields"),
    ],
)
def test_malformed_selectors(text: str, problem: str) -> None:
    """The error says what is wrong and shows a selector."""
    with pytest.raises(UsageError, match="unable to read the shard selector") as raised:
        read_shard_selector(text)
    assert problem in str(raised.value)
    assert "fix: write shardRange(" in str(raised.value)
