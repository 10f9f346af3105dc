"""Every built-in message, encoded by Go and decoded here, and the other way."""

import json
from base64 import b64decode, b64encode
from typing import Any

import pytest

from myrmidon.apiserver.catalog.resources import builtin_resources
from myrmidon.apiserver.wire import protobuf
from tests.cluster.controlplane.binaries import UnavailableError
from tests.cluster.gotypes import ask
from tests.cluster.record_protobuf_types import served

Json = dict[str, Any]


@pytest.fixture(scope="module")
def samples() -> list[Json]:
    """Objects of all kinds with all fields filled, as Go writes them."""
    try:
        printed = ask("encode")
    except UnavailableError as error:
        pytest.skip(str(error))
    found = [json.loads(line) for line in printed.splitlines()]
    return [each for each in found if protobuf.is_known(*each["kind"].rsplit("/", 1))]


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


def test_what_go_encodes_is_decoded_whole(samples: list[Json]) -> None:
    """No field of any message is lost or renamed."""
    wrong = [
        each["kind"]
        for each in samples
        if without_zeros(protobuf.decode(b64decode(each["protobuf"])))
        != without_zeros(each["json"])
    ]

    assert wrong == []


def test_every_kind_that_is_served_has_a_message(samples: list[Json]) -> None:
    """The samples above are of all kinds that a client may send, with their lists."""
    sent = {each["kind"] for each in samples}
    kinds = [each.kind for each in builtin_resources()]

    assert {f"{kind.api_version}/{kind.kind}" for kind in kinds} <= sent


def test_go_decodes_what_is_encoded_here(samples: list[Json]) -> None:
    """The answers of the embedded server are what Go's clients read."""
    sent = [b64encode(protobuf.encode(each["json"])) for each in samples]
    read = [json.loads(line) for line in ask("decode", b"\n".join(sent) + b"\n").splitlines()]

    wrong = [each["kind"] for each, got in zip(samples, read, strict=True) if got != each["json"]]
    assert wrong == []


def test_the_recorded_table_is_that_of_the_go_types(samples: list[Json]) -> None:
    """The data file of the product is what ``record_protobuf_types`` writes today."""
    assert samples
    table = served(json.loads(ask("table")))

    assert protobuf._table()._asdict() == table
