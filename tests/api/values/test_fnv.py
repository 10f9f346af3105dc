"""The hash FNV-1a."""

import pytest

from myrmidon.api.values.fnv import fnv1a_64


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", 0xCBF29CE484222325),
        ("a", 0xAF63DC4C8601EC8C),
        ("foobar", 0x85944171F73967E8),
        ("pp", 0x08D55807B5757FAD),  # as kube-apiserver hashes this namespace
    ],
)
def test_fnv1a_64(text: str, wanted: int) -> None:
    """The hashes are those of the published test vectors."""
    assert fnv1a_64(text) == wanted


def test_the_hash_is_that_of_the_bytes_in_utf_8() -> None:
    """Go hashes the bytes of a string."""
    assert fnv1a_64("ü") != fnv1a_64("u")
    assert 0 <= fnv1a_64("ü" * 1000) < 2**64
