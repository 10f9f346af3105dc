"""Durations in Go's form."""

from datetime import timedelta

import pytest

from myrmidon.api.values.durations import parse_duration, read_nanoseconds


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0), ("1h30m", 5400 * 10**9), ("-1.5s", -1_500_000_000), ("+.5us", 500), ("1\u00b5s2\u03bcs", 3000),
        ("0.5ns0.5ns", 0), ("", None), ("1", None), ("h", None), ("1d", None), ("1h ", None), ("--1s", None),
    ],
)  # fmt: skip
def test_durations_are_read_as_go_does(text: str, nanoseconds: int | None) -> None:
    """Each part is cut to nanoseconds by itself."""
    assert read_nanoseconds(text) == nanoseconds


def test_a_schema_allows_only_some_of_them() -> None:
    """The server checks the pattern, so other spellings of Go are refused here as well."""
    assert parse_duration("-1.5s") == -timedelta(seconds=1.5)
    assert parse_duration("999ns") == timedelta()
    for text in ("+1s", ".5s", "1\u00b5s", "1s\n", ""):
        with pytest.raises(ValueError, match="is not a duration"):
            parse_duration(text)
