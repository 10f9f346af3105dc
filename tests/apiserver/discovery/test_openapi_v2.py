"""The document ``/openapi/v2``, compared with what was recorded from the real server.

``tests/cluster/test_openapi.py`` compares the whole document with a real server.
"""

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.discovery.openapi_v2 import MEDIA_TYPE
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.wire.protobuf_format import as_bytes, as_text, fields
from tests.apiserver.discovery.definitions import GROUP, definitions

RECORDED = Path(__file__).with_name("custom_v2.json.gz")
PATHS, DEFINITIONS = 8, 9  # fields of the message


def ask(accept: str) -> HttpResponse:
    """Ask a server with the definitions for its document."""
    server = ApiServer()
    for each in definitions():
        assert server.create(each) == ""
    answer = server.answer(HttpRequest("GET", "/openapi/v2", (), {"accept": accept}))
    assert isinstance(answer, HttpResponse)
    return answer


def test_custom_resources_are_as_recorded() -> None:
    """Their paths, and their types without what kubectl cannot read; enums stay."""
    document = orjson.loads(ask("application/json").body)
    recorded: Any = orjson.loads(gzip.decompress(RECORDED.read_bytes()))
    paths = {path: item for path, item in document["paths"].items() if GROUP in path}
    types = {
        name: schema
        for name, schema in document["definitions"].items()
        if name.startswith("com.example.")
    }

    assert paths == recorded["paths"]
    assert types == recorded["definitions"]


def names(parts: dict[int, list[bytes]], message: int, entry: int) -> set[str]:
    """Return the names in a map of the document; its messages follow each other and are merged."""
    return {
        as_text(dict(fields(as_bytes(value)))[1])
        for body in parts[message]
        for number, value in fields(body)
        if number == entry
    }


def test_protobuf_has_every_type_and_every_path() -> None:
    """Built-in and custom."""
    answer = ask(MEDIA_TYPE.replace("v2.v1.0", "v2@v1.0"))
    document = orjson.loads(ask("application/json").body)
    parts: dict[int, list[bytes]] = {}
    for number, value in fields(answer.body):
        parts.setdefault(number, []).append(as_bytes(value))

    assert answer.headers == (("content-type", MEDIA_TYPE),)
    assert names(parts, PATHS, 2) == set(document["paths"])
    assert names(parts, DEFINITIONS, 1) == set(document["definitions"])


def test_a_document_of_version_3_is_json() -> None:
    """Whatever a client accepts that also asks for version 2 as protobuf."""
    server = ApiServer()
    for path in ("/openapi/v3", "/openapi/v3/api/v1", "/openapi/v3/nope"):
        answer = server.answer(HttpRequest("GET", path, (), {"accept": MEDIA_TYPE}))
        assert isinstance(answer, HttpResponse)
        assert answer.body[:1] in (b"{", b"")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/version", "406: Not Acceptable\n\nAvailable representations: application/json"),
        (
            "/api",
            (
                "406: Not Acceptable\n\nAvailable representations: application/json, "
                "application/yaml, application/vnd.kubernetes.protobuf"
            ),
        ),
        (
            "/apis/apps/v1",
            (
                "406: Not Acceptable\n\nAvailable representations: application/json, "
                "application/yaml, application/vnd.kubernetes.protobuf"
            ),
        ),
        (
            "/apis/apps",
            (
                "only the following media types are accepted: application/json, application/yaml, "
                "application/vnd.kubernetes.protobuf"
            ),
        ),
    ],
)
def test_discovery_says_what_it_can_send(path: str, problem: str) -> None:
    """In the words of the real server."""
    answer = ApiServer().answer(HttpRequest("GET", path, (), {"accept": "text/html"}))
    assert isinstance(answer, HttpResponse)

    assert (answer.status, orjson.loads(answer.body)["message"]) == (406, problem)


def test_other_media_types_are_refused() -> None:
    """With an empty body."""
    answer = ask("application/yaml")

    assert (answer.status, answer.body) == (406, b"")
