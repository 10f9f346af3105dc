"""Warnings of the API server: read from headers, reported once, in bounded memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.io.http.warning_headers import ApiWarning, Warnings, warning_texts

REFS = st.sampled_from([ObjectRef(kinds.CONFIG_MAP, name, "ns") for name in "abc"])
HEARD = st.lists(st.tuples(st.sampled_from("xy"), REFS, st.sampled_from(["1", "2", "3"])))


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ('299 - "unknown field \\"dta\\""', ['unknown field "dta"']),
        ('299 - "a \\\\ b"', ["a \\ b"]),
        ('299 - "one", 299 - "two"', ["one", "two"]),
        ('299 webhook.example.com "policy"', ["policy"]),
        ('299 - "late" "Wed, 21 Oct 2015 07:28:00 GMT"', ["late"]),
        ('110 - "Response is Stale"', []),
        ('299 - "never ends', []),
        ("", []),
        ('299 - "' + "x" * 5000 + '"', ["x" * 1000]),
    ],
)
def test_texts_of_a_header(value: str, texts: list[str]) -> None:
    """Code 299, quoted, with escapes; other codes are not for users."""
    assert warning_texts([("date", "now"), ("warning", value)]) == texts


def test_every_warning_header_counts() -> None:
    """The real server sends one header for each warning."""
    headers = [("warning", '299 - "a"'), ("content-type", "x"), ("warning", '299 - "b"')]
    assert warning_texts(headers) == ["a", "b"]


@given(heard=HEARD)
def test_each_warning_is_reported_once_for_an_object_and_text(
    heard: list[tuple[str, ObjectRef, str]],
) -> None:
    """By the pass that got it first."""
    warnings = Warnings()
    told: list[ApiWarning] = []
    for by, ref, text in heard:
        warnings.hear(by, ref, [text])
        told += warnings.take(by)
        assert warnings.take(by) == []
    assert told == list(dict.fromkeys(ApiWarning(ref, text) for _, ref, text in heard))


def test_passes_get_only_their_own_warnings() -> None:
    """Two passes run at the same time."""
    warnings, ref = Warnings(), ObjectRef(kinds.CONFIG_MAP, "a", "ns")
    warnings.hear("one", ref, ["1"])
    warnings.hear("two", ref, ["2"])
    assert warnings.take("two") == [ApiWarning(ref, "2")]
    assert warnings.take("one") == [ApiWarning(ref, "1")]


def test_reported_warnings_are_remembered_in_bounded_memory() -> None:
    """The oldest is dropped, and would be reported once more."""
    warnings, ref = Warnings(told_max=2), ObjectRef(kinds.CONFIG_MAP, "a", "ns")
    for text in ("1", "2", "3", "3", "1"):
        warnings.hear("it", ref, [text])
    assert [text for _, text in warnings.take("it")] == ["1", "2", "3", "1"]
