"""Field names in CEL expressions."""

import pytest

from myrmidon.api.values.cel_names import escape


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("replicas", "replicas"),
        ("my-key", "my__dash__key"),
        ("a.b/c__d", "a__dot__b__slash__c__underscores__d"),
        ("namespace", "__namespace__"),
        ("with space", None),
        ("1st", None),
        ("", None),
    ],
)
def test_names_are_escaped_as_the_api_server_escapes_them(name: str, escaped: str | None) -> None:
    """Names that cannot be escaped have no name in an expression."""
    assert escape(name) == escaped
