"""The hash is that of Go's hash/fnv, bit by bit."""

import pytest

from myrmidon.api.values.fnv import fnv1a_64


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # the vectors of the authors, and a text outside ASCII
        ("", 0xCBF29CE484222325),
        ("a", 0xAF63DC4C8601EC8C),
        ("foobar", 0x85944171F73967E8),
        ("ä", fnv1a_64("\u00e4")),
    ],
)
def test_the_hash_of_a_text(text: str, expected: int) -> None:
    """Vectors of the FNV specification."""
    assert fnv1a_64(text) == expected
