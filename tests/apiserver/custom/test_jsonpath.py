"""Paths of printer columns."""

from typing import Any

import pytest

from myrmidon.apiserver.custom.jsonpath import JsonPath, JsonPathError

VALUE = {
    "a": {"b": [1, 2, 3], "x.y": "dotted", "it's": 1},
    "list": [{"n": "p", "v": 1}, {"n": "q", "v": 2, "deep": {"v": 3}}],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b", [[1, 2, 3]]),
        ("{.a.b[0]}", [1]),
        (".a.b[-1]", [3]),
        (".a.b[0:2]", [1, 2]),
        (".a.b[*]", [1, 2, 3]),
        (".a.b[7]", []),
        (r".a.x\.y", ["dotted"]),
        (".a['x.y']", ["dotted"]),
        (".nope.b", []),
        ('.list[?(@.n=="q")].v', [2]),
        (".list[?(@.v>1)].n", ["q"]),
        (".list[?(@.deep)].n", ["q"]),
        (".list[*].n", ["p", "q"]),
        ("..v", [1, 2, 3]),
        ("", [VALUE]),
    ],
)
def test_a_path_finds(path: str, found: list[Any]) -> None:
    """A missing field gives no values, and no exception."""
    assert JsonPath(path).find(VALUE) == found


@pytest.mark.parametrize("path", [".a[", ".a[?(x)]", ".a[?(@.b==x)]"])
def test_an_invalid_path_is_refused(path: str) -> None:
    """When it is compiled, not when it is used."""
    with pytest.raises(JsonPathError):
        JsonPath(path)
