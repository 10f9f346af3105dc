"""Parsing the response to a list in pieces: all items, of any content, and never all at once."""

from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.errors import AmbiguousError
from myrmidon.io.lists import answers as lists
from myrmidon.io.lists.answers import Page, read_page
from myrmidon.io.lists.scanner import BrokenJsonError, Scanner
from myrmidon.io.lists.shapes import Unreadable
from myrmidon.testing.harness.clock import run
from tests.io.watch.poison import good, list_of, with_spec

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["", '"', "\\", "},{", "[]", "é"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["metadata", "items", "a", '"b']), inner, max_size=3)
    ),
    max_leaves=8,
)


_REST = {"dumps": orjson.dumps, "JSONDecodeError": orjson.JSONDecodeError}


def page(body: bytes) -> Page:
    """Build the page of a response, with its items in a list."""
    read = run(read_page(body))
    return read._replace(items=list(read.items))


@settings(deadline=None)
@given(
    items=st.lists(JSON, max_size=30),
    last=st.booleans(),
    indented=st.booleans(),
    size=st.integers(1, 400),
)
def test_pieces_are_the_same_as_the_whole(
    items: list[object], last: bool, indented: bool, size: int
) -> None:
    """Wherever the pieces end, however the response is formatted, and wherever its metadata is."""
    meta = {"metadata": {"resourceVersion": "5", "continue": "more"}}
    body = {"items": items, **meta} if last else {**meta, "items": items}
    text = orjson.dumps(body, option=orjson.OPT_INDENT_2 if indented else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_PIECE_BYTES", size)
        assert page(text) == Page(items, "5", "more")


@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_a_piece_holds_only_some_of_the_items(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q8: no single call decodes more than a piece and its last item."""
    monkeypatch.setattr(lists, "_PIECE_BYTES", 4000)
    items = [good(f"cm-{number}") for number in range(count)]
    longest, loads = 0, orjson.loads

    def loaded(text: bytes) -> object:
        nonlocal longest
        longest = max(longest, len(text))
        return loads(text)

    body = list_of(*items)
    monkeypatch.setattr(lists, "orjson", SimpleNamespace(loads=loaded, **_REST))
    found = list(page(body).items)
    monkeypatch.undo()
    assert [orjson.dumps(item) for item in found] == items
    assert longest <= 2 * 4000


@pytest.mark.parametrize("at", [0, 1, 20, 38, 39])
def test_one_item_that_cannot_be_decoded_affects_no_other(
    at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first piece, in the last, and between."""
    monkeypatch.setattr(lists, "_PIECE_BYTES", 2000)
    items = [good(f"cm-{number}") for number in range(40)]
    items[at] = with_spec(b"NaN", name="odd")
    found = list(page(list_of(*items)).items)
    assert isinstance(found[at], Unreadable)
    assert found[at].obj["metadata"]["name"] == "odd"
    names = [item["metadata"]["name"] for item in found if not isinstance(item, Unreadable)]
    assert names == [f"cm-{number}" for number in range(40) if number != at]


def test_items_elsewhere_are_not_the_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first text that looks like the key may be in another list or in the metadata."""
    monkeypatch.setattr(lists, "_PIECE_BYTES", 100)
    inner: list[Any] = [{"metadata": {}}] * 20
    body: dict[str, Any] = {"metadata": {"items": inner}, "items": [{"metadata": {"name": "a"}}]}
    assert page(orjson.dumps(body)).items == body["items"]


@pytest.mark.parametrize("size", [10, 1 << 17])
@pytest.mark.parametrize(
    "body", [b"[]", b'{"items":5}', b'{"a":1}', b'{"items":[{}', b'{"items":[]]}', b"nope"]
)
def test_a_response_that_is_not_a_list_is_an_error(
    body: bytes, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not be taken for an empty list."""
    monkeypatch.setattr(lists, "_PIECE_BYTES", size)
    with pytest.raises(AmbiguousError):
        page(body)


@given(JSON, st.booleans())
def test_the_scanner_steps_over_any_value(value: object, indented: bool) -> None:
    """From its first byte to its last."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 if indented else None)
    scanner = Scanner(text + b" ")
    assert scanner.skip() == (0, len(text))
    scanner.expect_end()


@given(st.binary(max_size=40) | st.text('{}[]",:\\a1 ', max_size=40).map(str.encode))
def test_the_scanner_ends_on_any_text(text: bytes) -> None:
    """It finds an end or reports that there is none."""
    try:
        for key in Scanner(text).members():
            assert key.startswith(b'"')
        for start in Scanner(text).elements():
            assert start < len(text)
        start, end = Scanner(text).skip()
        assert start < end
    except BrokenJsonError:
        pass
