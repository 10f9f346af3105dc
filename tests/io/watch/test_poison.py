"""K7: no response ends a reflector, and a malformed object affects no other."""

import logging

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.io.lists.events import WatchEvent
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.changes import Change
from myrmidon.testing.harness.clock import run
from tests.io.watch.poison import (
    END,
    Bytes,
    Reflected,
    added,
    good,
    json_values,
    list_of,
    nested,
    spoiled,
    with_meta,
    with_spec,
)

ITEMS = {
    "null": b"null",
    "a string": b'"odd"',
    "a number": b"7",
    "a list": b"[1]",
    "empty": b"{}",
    "metadata null": b'{"metadata":null}',
    "metadata a list": b'{"metadata":["name"]}',
    "metadata a string": b'{"metadata":"odd"}',
    "no name": with_meta(name=None),
    "name a number": with_meta(name=5),
    "name a list": with_meta(name=["odd"]),
    "namespace a number": with_meta(namespace=5),
    "300 levels": with_spec(nested(300)),
    "1,000 levels": with_spec(nested(1000)),
    "5,000 levels": with_spec(nested(5000)),
    "100,000 levels": with_spec(nested(100_000)),
    "100,000 lists": with_spec(b"[" * 100_000 + b"]" * 100_000),
    "100,000 levels in metadata": b'{"metadata":{"name":"odd","a":' + nested(100_000) + b"}}",
    "version 2^63": with_meta(resourceVersion=str(2**63)),
    "version 2^64": with_meta(resourceVersion=str(2**64)),
    "version of 5,000 digits": with_meta(resourceVersion="9" * 5000),
    "version negative": with_meta(resourceVersion="-7"),
    "version empty": with_meta(resourceVersion=""),
    "version no number": with_meta(resourceVersion="seven"),
    "version an integer": with_meta(resourceVersion=7),
    "version a float": with_meta(resourceVersion=7.5),
    "version a list": with_meta(resourceVersion=[7]),
    "version in other digits": with_meta(resourceVersion="\u0667"),
    "uid of 256": with_meta(uid="u" * 256),
    "uid of 100,000": with_meta(uid="u" * 100_000),
    "uid a number": with_meta(uid=5),
    "uid an object": with_meta(uid={}),
    "labels a list": with_meta(labels=["a"]),
    "labels a string": with_meta(labels="a"),
    "label a number": with_meta(labels={"a": 5}),
    "annotations a list": with_meta(annotations=[5]),
    "owners an object": with_meta(ownerReferences={"uid": "u"}),
    "owners of strings": with_meta(ownerReferences=["u"]),
    "owners of null": with_meta(ownerReferences=[None]),
    "finalizers a string": with_meta(finalizers="a"),
    "finalizers of numbers": with_meta(finalizers=[5]),
    "generation a string": with_meta(generation="five"),
    "generation a float": with_meta(generation=1.5),
    "deletion a number": with_meta(deletionTimestamp=5),
    "generation 1e400": b'{"metadata":{"name":"odd","namespace":"ns","generation":1e400}}',
    "NaN": with_spec(b"NaN"),
    "infinite": with_spec(b"-1e999"),
    "lone surrogate": with_spec(b'"\\ud800"'),
    "lone surrogate in metadata": b'{"metadata":{"name":"odd","namespace":"ns","labels":{"a":"\\ud800"}}}',
    "lone surrogate in the name": b'{"metadata":{"name":"\\ud800"}}',
    "no UTF-8": with_spec(b'"\xff\xfe"'),
    "wrong brackets": with_spec(b"[}"),
    "bare words": with_spec(b"yes"),
    "huge integer": with_spec(b"1" * 400),
    "integer over 64 bits": with_spec(b"123456789012345678901234567890"),
    "the same key twice": b'{"metadata":{"name":"other"},"metadata":{"name":"odd","namespace":"ns"}}',
    "10 MB": with_spec(b'"' + b"x" * 10_000_000 + b'"'),
}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("item", ITEMS.values(), ids=list(ITEMS))
def test_a_malformed_object_of_a_list_affects_no_other(
    item: bytes, streaming: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The other objects are cached, the watch continues, and no exception is logged."""
    if streaming:
        lines = [added(one) for one in (good("a"), item, good("z"))]
        transport = Bytes(list_of(good("a"), item, good("z")), lines=[*lines, END], streaming=True)
    else:
        transport = Bytes(list_of(good("a"), item, good("z")))
    reflected = Reflected(transport)
    transport.queue.put_nowait(added(good("later", 2000)))

    with caplog.at_level(logging.ERROR):
        run(reflected.runs_for(600.0))

    assert reflected.reflector.is_synced
    assert [name for name in reflected.names() if name not in {"odd", "5"}] == ["a", "later", "z"]
    assert not caplog.records


@pytest.mark.parametrize("type_", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "NEWS"])
@pytest.mark.parametrize("item", ITEMS.values(), ids=list(ITEMS))
def test_a_malformed_event_affects_no_other(
    item: bytes, type_: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Later events are handled, on the same stream or on a new one."""
    transport = Bytes(list_of(good("a")), lines=[added(item, type_)])
    reflected = Reflected(transport)
    transport.queue.put_nowait(added(good("later", 2000)))

    with caplog.at_level(logging.ERROR):
        run(reflected.runs_for(300.0))

    assert {"a", "later"} <= set(reflected.names())
    assert not caplog.records


LINES = [
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"{}",
    b'{"type":"ADDED"}',
    b'{"object":{}}',
    b'{"type":null,"object":{}}',
    b'{"type":["ADDED"],"object":{}}',
    b'{"type":{"a":1},"object":{}}',
    b'{"type":"ADDED","object":{"metadata":{"name":"half',
    b'{"type":"ADDED","object":{"metadata":{"name":"half"}}',
    b'{"type":"ERROR","object":{"code":"410"}}',
    b'{"type":"ERROR","object":{"code":410,"details":[]}}',
    b'{"type":"ERROR","object":{"code":429,"details":{"retryAfterSeconds":"soon"}}}',
    b'{"type":"ERROR","object":{"code":429,"details":{"retryAfterSeconds":1e308}}}',
    b'{"type":"ERROR","object":{"code":429,"details":{"retryAfterSeconds":-5}}}',
    b'{"type":"ERROR","object":{"code":403,"details":{"causes":"many"}}}',
    b'{"type":"ERROR","object":{"code":403,"details":{"causes":[null,5]}}}',
    b'{"type":"ERROR","object":{"code":500,"message":{"a":1},"reason":[5]}}',
    b'{"type":"ERROR","object":{"code":-1}}',
    b'{"type":"ERROR","object":{"code":true}}',
    b'{"type":"BOOKMARK","object":{"metadata":{"annotations":["k8s.io/initial-events-end"]}}}',
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'"' + b"\\" * 100_001,
    b'"\\"' * 20_000,
]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("line", LINES, ids=[repr(line[:60]) + str(len(line)) for line in LINES])
def test_no_line_of_a_watch_ends_it(
    line: bytes, streaming: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The stream continues, or is opened again."""
    first = [added(good("a")), line, END] if streaming else [line]
    transport = Bytes(list_of(good("a")), lines=first, streaming=streaming)
    reflected = Reflected(transport)

    async def main() -> None:
        await reflected.runs_for(200.0)
        transport.lines = [added(good("later", 2000))]
        await reflected.runs_for(1000.0)

    with caplog.at_level(logging.ERROR):
        run(main())
    assert not caplog.records
    assert "later" in reflected.names() or streaming


ANSWERS = [
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"7",
    b"{}",
    b'{"metadata":null}',
    b'{"kind":"Status","status":"Success"}',
    b'{"metadata":[],"items":[]}',
    b'{"metadata":"","items":"abc"}',
    b'{"metadata":{"resourceVersion":"5"},"items":{"a":1}}',
    b'{"metadata":{"resourceVersion":"5"},"items":7}',
    b'{"metadata":{"resourceVersion":"5"},"items":[{"metadata"',
    b'{"metadata":{"resourceVersion":"5","continue":"again"},"items":[]}',
    b'{"metadata":{"resourceVersion":"5","continue":["again"]},"items":[]}',
    b"[" * 100_000,
    b'{"items":' + b"[" * 100_000,
    b"\xff\xfe\x00",
]


@pytest.mark.parametrize(
    "body", ANSWERS, ids=[repr(body[:60]) + str(len(body)) for body in ANSWERS]
)
def test_a_response_that_is_not_a_list_changes_nothing(
    body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """K4: the list is repeated, and cached objects stay: it does not mean that all are deleted."""
    expired = b'{"type":"ERROR","object":{"kind":"Status","code":410}}'
    transport = Bytes(
        list_of(good("a")), body, body, body, list_of(good("a"), good("b"), version="2000")
    )
    transport.queue.put_nowait(expired)
    reflected = Reflected(transport)

    with caplog.at_level(logging.ERROR):
        run(reflected.runs_for(300.0))

    assert reflected.names() == ["a", "b"]
    assert [change.type for change in reflected.changes] == ["added", "added"]
    assert not caplog.records


def test_a_list_without_items_is_empty() -> None:
    """Go prints an empty list as null."""
    transport = Bytes(
        list_of(good("a")),
        b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"2000"},"items":null}',
    )
    transport.queue.put_nowait(b'{"type":"ERROR","object":{"kind":"Status","code":410}}')
    reflected = Reflected(transport)
    run(reflected.runs_for(10.0))
    assert reflected.names() == []


@settings(max_examples=150, deadline=None)
@given(data=st.data(), streaming=st.booleans(), cut=st.floats(0.0, 2.0))
def test_no_response_of_any_shape_ends_a_reflector(
    data: st.DataObject, streaming: bool, cut: float
) -> None:
    """K7: a list and a line that are spoiled anywhere, or cut; it recovers when they are valid."""
    item = orjson.loads(good("good", 30))
    item["metadata"]["ownerReferences"] = [{"uid": "u", "controller": True}]
    item["metadata"]["labels"] = {"a": "b"}
    whole = orjson.loads(list_of(good("a"), orjson.dumps(item)))
    event = {"type": data.draw(st.sampled_from(["ADDED", "MODIFIED", "DELETED"])), "object": item}
    values = json_values()
    body = orjson.dumps(spoiled(whole, data.draw(values), data))
    line = orjson.dumps(spoiled(event, data.draw(values), data))
    body, line = body[: int(cut * len(body)) + 1], line[: int(cut * len(line)) + 1]
    healthy = list_of(good("a", 3000), good("new", 3001), version="5000")
    transport = Bytes(body, healthy, lines=[line], streaming=streaming)
    reflected = Reflected(transport)

    async def main() -> None:
        await reflected.runs_for(100.0)
        for _ in range(4):
            transport.queue.put_nowait(b'{"type":"ERROR","object":{"kind":"Status","code":410}}')
            transport.lines = (
                [
                    added(good("a", 3000)),
                    added(good("new", 3001)),
                    END.replace(b'"1000"', b'"5000"'),
                ]
                if streaming
                else []
            )
            await reflected.runs_for(200.0)

    run(main())
    assert {"a", "new"} <= set(reflected.names())


def test_an_internal_error_is_logged_and_leads_to_a_list(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Q9: the event that was not handled is not lost, and the reflector continues."""
    transport = Bytes(
        list_of(good("a")),
        list_of(good("a"), good("lost", 2000), version="2000"),
        lines=[added(good("lost", 2000))],
    )
    reflected = Reflected(transport)
    apply = Cache.apply
    broken = [True]

    def apply_badly(cache: Cache, event: WatchEvent) -> Change | None:
        if broken:
            broken.clear()
            raise RuntimeError("a mistake")
        return apply(cache, event)

    monkeypatch.setattr(Cache, "apply", apply_badly)
    run(reflected.runs_for(60.0))
    assert reflected.names() == ["a", "lost"]
    assert [record.getMessage() for record in caplog.records if record.exc_info] == [
        "an answer could not be processed"
    ]
