"""Read the answer to a list, a few objects at a time, and the lines of a watch.

Decoding a whole page in one call would block the event loop: 100 ms for 500 Pods, seconds for a
long list in a single answer.  So a large answer is cut into pieces of about 128 KB, and each piece
is decoded when its first item is requested.

Where to cut is guessed and then verified.  All items of a list begin alike (``{"metadata":``), so
the border between two items is found by searching for ``},{"metadata":``.  The same text may occur
deeper inside an item, but a piece that ends there has an unclosed bracket or string and does not
decode; then the piece is made longer.  The frame around the items is verified in the same way: the
answer with a marker in place of its first pieces must decode, and the marker must be its first
item.

If this fails, because the answer is formatted differently or an object in it cannot be decoded, a
``Scanner`` finds the items one by one.  An item that cannot be decoded becomes an ``Unreadable``,
and the others are read normally.  An answer with unbalanced brackets, or one that is not a list, is
an error.  It must not be taken for an empty list, which would mean that all objects were deleted.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import orjson

from myrmidon.errors import AmbiguousError
from myrmidon.io.lists.events import WatchEvent
from myrmidon.io.lists.scanner import BrokenJsonError, Scanner
from myrmidon.io.lists.shapes import Unreadable, problem_in, read_object, stub_of
from myrmidon.io.timers.pacing import pacer

Item: TypeAlias = Any  # JSON or Unreadable

_PIECE_BYTES = 1 << 17
_GUESSES_MAX = 4
_ITEMS = b'"items":['
_NO_LIST = "the answer to a list is not a list"
_MARK = "myrmidon: the first piece ends here"


class Page(NamedTuple):
    """One page of a list; ``continue_token`` is ``""`` on the last one.

    ``items`` can be iterated once.  Each item is an ``Unreadable`` or any JSON value: its shape has
    not been checked (see ``problem_in``).
    """

    items: Iterable[Item]
    version: str
    continue_token: str


async def read_page(body: bytes) -> Page:
    """Return the page in an answer.  Raises ``AmbiguousError`` if the answer is not a list."""
    page = _guessed(body) if len(body) > 2 * _PIECE_BYTES else None
    if page is not None:
        return page
    try:
        whole = orjson.loads(body) if len(body) <= 2 * _PIECE_BYTES else None
    except orjson.JSONDecodeError:
        whole = None
    if whole is not None:
        if not is_list(whole):
            raise AmbiguousError(_NO_LIST)
        return _page(whole)
    try:
        return await _scanned(body)
    except BrokenJsonError as error:
        raise AmbiguousError(f"the answer to a list cannot be read: {error}") from error


def read_event(line: bytes) -> WatchEvent | None:
    """Return the event in a line of a watch, None if it does not say which object it is about."""
    try:
        parsed = orjson.loads(line)
    except orjson.JSONDecodeError:
        return _scanned_event(line)
    try:
        kind, obj = parsed["type"], parsed["object"]
    except (KeyError, TypeError):  # TypeError: not a map
        return None
    if type(obj) is not dict or type(kind) is not str:
        return None
    if type(obj.get("metadata")) is not dict and kind != "ERROR":
        return WatchEvent(kind, stub_of(obj), problem_in(obj))
    return WatchEvent(kind, obj)


def _scanned_event(line: bytes) -> WatchEvent | None:
    """Return the event in a line that cannot be decoded as a whole, with a stub of its object."""
    scanner, kind, item = Scanner(line), None, None
    try:
        for key in scanner.members():
            if key == b'"type"':
                kind = _loaded(line[slice(*scanner.skip())])
            elif key == b'"object"':
                item = read_object(line[slice(*scanner.skip())])
        scanner.expect_end()
    except BrokenJsonError:
        return None
    if (
        type(kind) is not str
        or type(item) is not Unreadable
        or not item.obj["metadata"].get("name")
    ):
        return None
    return WatchEvent(kind, *item)


# -------------------------------------------------------------------------------- lists


def _page(frame: Any) -> Page:
    """Return a decoded list as a Page."""
    meta = frame.get("metadata", {})
    version, token = meta.get("resourceVersion"), meta.get("continue")
    return Page(frame.get("items") or [], str(version or ""), str(token or ""))


def is_list(body: Any) -> bool:
    """Whether an answer is a list.  For an empty one, ``items`` may be null or missing."""
    if type(body) is not dict or type(body.get("metadata", {})) is not dict:
        return False
    if "items" in body:
        return body["items"] is None or type(body["items"]) is list
    kind = body.get("kind")
    return type(kind) is str and kind.endswith("List")


def _guessed(body: bytes) -> Page | None:
    """Return the page in a large answer that is formatted as Go does; None if it is not."""
    begins_at = body.find(_ITEMS, 0, _PIECE_BYTES) + len(_ITEMS)
    colon_at = body.find(b":", begins_at, begins_at + 100)
    if begins_at < len(_ITEMS) or colon_at < 0:
        return None
    border = b"}," + body[begins_at : colon_at + 1]
    ends_at = len(body)
    for _ in range(_GUESSES_MAX):
        ends_at = body.rfind(border, begins_at, ends_at)
        if ends_at < 0:
            return None
        rest = body[ends_at + 1 :]
        frame = _loaded(body[:begins_at] + orjson.dumps(_MARK) + rest)
        if is_list(frame) and (frame["items"] or [None])[0] == _MARK:
            pieces = _pieces(body, begins_at, ends_at + 1, border, frame["items"][1:])
            return _page({**frame, "items": pieces})
    return None


def _pieces(body: bytes, at: int, ends_at: int, border: bytes, last: list[Any]) -> Iterator[Item]:
    """Yield the items between two offsets, decoded piece by piece, and then ``last``."""
    while at < ends_at:
        cut_at, items = at, None
        for _ in range(_GUESSES_MAX):
            cut_at = body.find(border, max(cut_at + 1, at + _PIECE_BYTES), ends_at) + 1 or ends_at
            items = _loaded(b"[" + body[at:cut_at] + b"]")
            if items is not None or cut_at == ends_at:
                break
        if items is None:
            yield from _one_by_one(body, at, ends_at)
            break
        yield from items
        at = cut_at + 1
    yield from last


def _one_by_one(body: bytes, at: int, ends_at: int) -> Iterator[Item]:
    scanner = Scanner(body[at:ends_at])
    while scanner.next_byte():
        start, end = scanner.skip()
        yield read_object(body[at + start : at + end])
        scanner.step_over_comma()


async def _scanned(body: bytes) -> Page:
    """Return the page in an answer of any format, as long as its brackets are balanced."""
    scanner, frame, spans, pace = Scanner(body), dict[Any, Any](), list[tuple[int, int]](), pacer()
    for raw in scanner.members():
        key = _loaded(raw)
        if key == "items" and scanner.next_byte() == b"[":
            for _ in scanner.elements():
                spans.append(scanner.skip())
                await pace.give_way()
            frame[key] = spans
        else:
            frame[key] = _loaded(body[slice(*scanner.skip())])
    scanner.expect_end()
    if not is_list(frame):
        raise AmbiguousError(_NO_LIST)
    return _page({**frame, "items": (read_object(body[start:end]) for start, end in spans)})


def _loaded(text: bytes) -> Any:
    """Return the value of a JSON text, None if it cannot be decoded."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
