"""The document ``/openapi/v2`` of the embedded server and of the real one, as JSON and protobuf."""

import json
from collections.abc import Iterator
from http.client import HTTPSConnection
from typing import Any

import pytest
import yaml

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.discovery.openapi_v2 import MEDIA_TYPE
from myrmidon.apiserver.server import ApiServer
from tests.apiserver.discovery.definitions import GROUP, definitions
from tests.cluster.controlplane.binaries import UnavailableError, find
from tests.cluster.controlplane.controlplane import ADMIN_TOKEN, ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.gotypes import ask
from tests.cluster.record_openapi_paths import DEFINITIONS

PROTOBUF = MEDIA_TYPE.replace("v2.v1.0", "v2@v1.0")  # as clients write it


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A server of its own, because its document has all definitions of the server."""
    try:
        binaries = find()
    except UnavailableError as error:
        pytest.skip(str(error))
    with ControlPlane(binaries) as plane:
        for each in definitions():
            assert plane.client().post(DEFINITIONS, each).status == 201
        wait_until(lambda: has_paths(theirs(plane, "application/json")[1]), "paths", 60)
        yield plane


def has_paths(document: bytes) -> bool:
    """Whether the document has the paths of all definitions."""
    names = [each["spec"]["names"]["plural"] for each in definitions()]
    return all(f"/apis/{GROUP}/v1beta2/{name}".encode() in document for name in names)


def theirs(plane: ControlPlane, accept: str) -> tuple[str, bytes]:
    """The media type and the body of the real server's document."""
    client = plane.client()
    connection = HTTPSConnection("127.0.0.1", client.port, context=client._context)
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "Accept": accept}
    connection.request("GET", "/openapi/v2", headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return str(answer.getheader("content-type")), body


def ours(accept: str) -> tuple[str, bytes]:
    """The media type and the body of the embedded server's document."""
    server = ApiServer()
    for each in definitions():
        assert server.create(each) == ""
    found = server.answer(HttpRequest("GET", "/openapi/v2", (), {"accept": accept}))
    assert isinstance(found, HttpResponse)
    return found.headers[0][1], found.body


def in_go(body: bytes) -> Any:
    """A document in protobuf as Go reads it; extensions are YAML texts, whose style may differ."""
    return yaml.load(ask("openapi", body), Loader=yaml.CSafeLoader)


def test_the_documents_are_the_same(plane: ControlPlane) -> None:
    """Every type and every path, those of custom resources included."""
    real, embedded = theirs(plane, "application/json"), ours("application/json")

    assert json.loads(embedded[1]) == json.loads(real[1])
    assert embedded[0] == real[0]


def test_go_reads_the_same_from_both_as_protobuf(plane: ControlPlane) -> None:
    """This is how kubectl asks for it."""
    real, embedded = theirs(plane, PROTOBUF), ours(PROTOBUF)

    assert in_go(embedded[1]) == in_go(real[1])
    assert embedded[0] == real[0]
