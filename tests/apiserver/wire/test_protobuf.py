"""Objects as protobuf: bodies of requests, answers, and events of watches.

The samples were encoded by Go with every field filled.  ``tests/cluster/test_protobuf.py`` compares
all kinds with the Go types, where Go is installed.
"""

import gzip
from base64 import b64decode
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.catalog.resources import builtin_resources
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.wire import protobuf
from myrmidon.apiserver.wire.protobuf_format import as_int, double, fields, int_field

SAMPLES = orjson.loads(gzip.decompress(Path(__file__).with_name("samples.json.gz").read_bytes()))
META = "g=meta.k8s.io;v=v1"


def without_zeros(value: Any) -> Any:
    """A value without members that are zero: protobuf has them where JSON leaves them out."""
    match value:
        case dict():
            kept = {key: without_zeros(item) for key, item in value.items()}
            return {key: item for key, item in kept.items() if item not in ("", 0, None, [], {})}
        case list():
            return [without_zeros(item) for item in value]
        case _:
            return value


def ask(
    server: ApiServer, method: str, path: str, body: bytes = b"", accept: str = protobuf.MEDIA_TYPE
) -> Any:
    """Send a request as a typed client of Go does."""
    headers = {"accept": accept, "content-type": protobuf.MEDIA_TYPE}
    path, _, query = path.partition("?")
    pairs = tuple(tuple(pair.split("=", 1)) for pair in query.split("&") if pair)
    return server.answer(HttpRequest(method, path, pairs, headers, body))  # type: ignore[arg-type]


def content_type(response: HttpResponse) -> str:
    """The media type of an answer."""
    return dict(response.headers)["content-type"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["kind"])
def test_no_field_of_a_body_is_lost(sample: dict[str, Any]) -> None:
    """Field names in protobuf and in JSON differ; what is stored has the names of JSON."""
    assert without_zeros(protobuf.decode(b64decode(sample["protobuf"]))) == without_zeros(
        sample["json"]
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["kind"])
def test_what_is_written_is_read_again(sample: dict[str, Any]) -> None:
    """Answers hold all fields as well."""
    written = protobuf.encode(sample["json"])

    assert without_zeros(protobuf.decode(written)) == without_zeros(sample["json"])


@given(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
def test_every_number_survives(number: int, fraction: float) -> None:
    """Negative numbers have 64 bits, as Go writes them."""
    [(_, value)] = fields(int_field(1, number))
    schema = {"type": "number", "maximum": fraction}
    definition = next(
        each["json"] for each in SAMPLES if each["kind"].endswith("/CustomResourceDefinition")
    )
    version = definition["spec"]["versions"][0] | {"schema": {"openAPIV3Schema": schema}}
    small = definition | {"spec": {"versions": [version]}}

    assert as_int(value) == number
    assert len(double(fraction)) == 8
    assert protobuf.decode(protobuf.encode(small))["spec"]["versions"][0] == version


def test_a_client_that_asks_for_protobuf_gets_it() -> None:
    """Objects, lists, errors and metadata; what has no message is JSON, or refused."""
    server = ApiServer()
    created = protobuf.encode(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"k": "AAE="}}
    )
    made = ask(server, "POST", "/api/v1/namespaces/default/secrets", created)
    listed = ask(server, "GET", "/api/v1/namespaces/default/secrets")
    missing = ask(server, "GET", "/api/v1/namespaces/default/secrets/b")
    partial = f"{protobuf.MEDIA_TYPE};as=PartialObjectMetadataList;{META}"
    metadata = ask(server, "GET", "/api/v1/namespaces/default/secrets", accept=partial)
    table = f"{protobuf.MEDIA_TYPE};as=Table;{META},application/json"
    as_table = ask(server, "GET", "/api/v1/namespaces/default/secrets", accept=table)

    assert (made.status, content_type(made)) == (201, protobuf.MEDIA_TYPE)
    assert protobuf.decode(made.body)["data"] == {"k": "AAE="}
    assert protobuf.decode(listed.body)["items"][0]["metadata"]["name"] == "a"
    assert missing.status == 404
    assert protobuf.decode(missing.body)["reason"] == "NotFound"
    assert protobuf.decode(metadata.body)["items"][0]["metadata"]["name"] == "a"
    assert "data" not in protobuf.decode(metadata.body)["items"][0]
    assert orjson.loads(as_table.body)["kind"] == "SecretList"


def test_events_of_a_watch_have_a_length_in_front() -> None:
    """Each is a message with the type and the object in its envelope."""
    server = ApiServer()
    watch = ask(server, "GET", "/api/v1/namespaces?watch=1&fieldSelector=metadata.name=default")
    assert isinstance(watch, OpenWatch)
    [line] = watch.take()
    sent = watch.frame(line)
    event = dict(fields(sent[4:]))
    [(_, envelope)] = fields(event[2])  # type: ignore[arg-type]

    assert watch.headers == (("content-type", f"{protobuf.MEDIA_TYPE};stream=watch"),)
    assert int.from_bytes(sent[:4]) == len(sent) - 4
    assert event[1] == b"ADDED"
    assert protobuf.decode(envelope)["metadata"]["name"] == "default"  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"])
def test_discovery_documents_as_protobuf(path: str) -> None:
    """The same content as in JSON."""
    server = ApiServer()
    there = ask(server, "GET", path)
    plain = ask(server, "GET", path, accept="application/json")

    assert content_type(there) == protobuf.MEDIA_TYPE
    assert without_zeros(protobuf.decode(there.body)) == without_zeros(orjson.loads(plain.body))


@pytest.mark.parametrize(
    "shape",
    [
        "",
        *(
            f";as={kind};g=meta.k8s.io;v={version}"
            for kind in ("PartialObjectMetadata", "PartialObjectMetadataList", "Table")
            for version in ("v1", "v1beta1")
        ),
    ],
)
def test_every_answer_has_a_message(shape: str) -> None:
    """Whatever is asked about which kind, an answer in protobuf can be read."""
    server = ApiServer()
    for each in builtin_resources():
        kind = each.kind
        for path in (
            f"{kind.root}/{kind.plural}",
            f"{kind.root}/{kind.plural}/x",
            f"{kind.root}/namespaces/default/{kind.plural}/x/status",
        ):
            for method in ("GET", "POST", "DELETE"):
                answer = ask(server, method, path, accept=f"{protobuf.MEDIA_TYPE}{shape}")
                if content_type(answer) == protobuf.MEDIA_TYPE:
                    assert protobuf.decode(answer.body)["kind"]


def test_a_custom_resource_has_no_message() -> None:
    """A client that accepts nothing else is refused, as on the real server; metadata has one."""
    server = ApiServer()
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "racks.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "racks", "kind": "Rack"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    assert server.create(definition) == ""
    path = "/apis/example.com/v1/racks"
    refused = ask(server, "GET", path)
    plain = ask(server, "GET", path, accept=f"{protobuf.MEDIA_TYPE},application/json")
    partial = f"{protobuf.MEDIA_TYPE};as=PartialObjectMetadataList;{META}"
    metadata = ask(server, "GET", path, accept=partial)

    assert refused.status == 406
    assert protobuf.decode(refused.body)["reason"] == "NotAcceptable"
    assert orjson.loads(plain.body)["kind"] == "RackList"
    assert protobuf.decode(metadata.body)["kind"] == "PartialObjectMetadataList"
