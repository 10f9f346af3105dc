"""Text for conditions, Events and logs: encodable and bounded, and the same for the same input."""

from typing import NoReturn

from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.values.texts import (
    condition_message,
    event_message,
    event_reason,
    has_lone_surrogate,
    is_shortened,
    printable,
    shortened,
    shortened_to_bytes,
    text_of,
)

ANY_TEXT = st.text(st.characters(), max_size=300) | st.text(st.sampled_from("ä€😀\ud800a"))


@given(text=ANY_TEXT)
def test_printable_text_can_be_encoded(text: str) -> None:
    """Only lone surrogates are replaced, each by one character."""
    made = printable(text)

    assert made.encode().decode() == made
    assert len(made) == len(text)
    assert (made == text) != has_lone_surrogate(text)


@given(text=ANY_TEXT, limit=st.integers(60, 200))
def test_shortened_text_keeps_its_beginning_and_says_how_much_is_left_out(
    text: str, limit: int
) -> None:
    """In characters, at most the limit."""
    made = shortened(text, limit)

    assert len(made) <= limit
    assert (made == text) == (len(text) <= limit)
    if made != text:
        kept, note = made.rsplit("… (", 1)
        assert text.startswith(kept)
        assert note == f"{len(text) - len(kept)} characters left out)"
        assert is_shortened(made)


@given(text=ANY_TEXT.map(printable), limit=st.integers(60, 200))
def test_a_limit_in_bytes_never_cuts_inside_a_character(text: str, limit: int) -> None:
    """A limit of 128 bytes holds 32 emoji, not 128."""
    made = shortened_to_bytes(text, limit)

    assert len(made.encode()) <= limit
    assert (made == text) == (len(text.encode()) <= limit)
    if made != text:
        assert text.startswith(made.rsplit("… (", 1)[0])


def test_a_condition_message_fits_the_limit_of_the_api() -> None:
    """``metav1.Condition`` allows 32,768 characters."""
    assert condition_message("x" * 32_768) == "x" * 32_768
    long = condition_message("x" * 1_000_000)
    assert len(long) <= 32_768
    assert long.endswith("… (967280 characters left out)")


class UnreadableError(Exception):
    """An error whose text raises."""

    def __str__(self) -> NoReturn:
        raise KeyError("not this way")


def test_text_of_anything() -> None:
    """Also of an exception whose ``__str__`` raises."""
    assert text_of(5) == "5"
    assert text_of(UnreadableError()) == (
        "(the text of this UnreadableError cannot be read: KeyError)"
    )


def test_an_event_fits_the_limits_of_the_api() -> None:
    """In bytes: 128 for the reason, 1024 for the message; anything is made text."""
    assert (event_reason("Started"), event_message(None)) == ("Started", "None")
    assert event_reason("\ud800") == "\ufffd"
    assert len(event_reason("ä" * 200).encode()) <= 128
    assert len(event_message("😀" * 2000).encode()) <= 1024


def test_text_whose_bytes_just_fit_is_kept() -> None:
    """The length in characters says only what is certainly short enough."""
    assert shortened_to_bytes("x" * 1024, 1024) == "x" * 1024
