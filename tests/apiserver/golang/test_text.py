"""Values are printed as Go prints them."""

from typing import Any

import pytest

from myrmidon.apiserver.golang import text as go_text


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (1.0, "1"),
        (0.5, "0.5"),
        (1e6, "1e+06"),
        (1234567.0, "1.234567e+06"),
        (1e-05, "1e-05"),
        (2**63 - 1, "9223372036854775807"),
        ("a\n\x00ä\u200b", r'"a\n\x00ä\u200b"'),
        (None, "null"),
        (True, "true"),
        ({"b": "<&>", "a": [1.0, 1e21, 1e-7]}, '{"a":[1,1e+21,1e-7],"b":"\\u003c\\u0026\\u003e"}'),
        (go_text.Struct(B=1, A=None), '{"B":1,"A":null}'),
    ],
)
def test_shown(value: Any, printed: str) -> None:
    """As they appear in messages."""
    assert go_text.shown(value) == printed
