"""What the shard map says, whichever client wrote it, and the names of the Leases."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.runtime.shards.shard_map import (
    BY_ANNOTATION,
    CHECKSUM_ANNOTATION,
    EPOCH_ANNOTATION,
    SLICES_ANNOTATION,
    UNOWNED,
    _checksum,
    is_map,
    label_value,
    map_name,
    member_name,
    read_map,
    with_owners,
    written_map,
)
from myrmidon.runtime.shards.slices import SLICES
from myrmidon.runtime.shards.written_versions import Versions, collection_of, merged, note

OWNERS = st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=SLICES, max_size=SLICES)


@given(owners=OWNERS)
@settings(max_examples=25)
def test_owners_are_read_as_they_were_written(owners: list[str]) -> None:
    """And so are the epoch, the way of dividing, and the versions."""
    new = written_map(map_name("p"), "p", "uid")
    assert read_map(new).owners == UNOWNED
    lease = with_owners(new, tuple(owners), 7, "uid", {"things.x": 4})
    found = read_map(with_owners(lease, tuple(owners), 8, "uid", {"things.x": 3, "secrets": 9}))
    assert found.owners == tuple(owners)
    assert (found.epoch, found.by) == (8, "uid")
    assert found.versions == {"things.x": 4, "secrets": 9}
    assert found.owned_by("a") == {number for number, owner in enumerate(owners) if owner == "a"}


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[]", '{"a": 7}', '{"a": "x"}', '{"a": "0-999"}', "null", "7"]
)
def test_s1_owners_that_cannot_be_read_are_none(text: str) -> None:
    """So nobody works by them, and the slices wait for the lease duration."""
    noted = {SLICES_ANNOTATION: text, EPOCH_ANNOTATION: "x", BY_ANNOTATION: "uid"}
    noted[CHECKSUM_ANNOTATION] = _checksum(noted, "")
    found = read_map({"metadata": {"annotations": noted}})
    assert found.owners == UNOWNED
    assert found.epoch == 0


def test_s1_a_slice_with_two_owners_has_none() -> None:
    """A person may have written it."""
    noted = {SLICES_ANNOTATION: '{"a": "0-3", "b": "3-5"}'}
    noted[CHECKSUM_ANNOTATION] = _checksum(noted, "")
    owners = read_map({"metadata": {"annotations": noted}}).owners
    assert owners[:7] == ("a", "a", "a", "", "b", "b", "")


@pytest.mark.parametrize("name", ["uid", EPOCH_ANNOTATION, SLICES_ANNOTATION])
def test_s1_owners_that_a_person_edited_or_copied_are_none(name: str) -> None:
    """The checksum covers the uid of the Lease, the epoch and the owners."""
    new = written_map(map_name("p"), "p", "uid")
    new["metadata"]["uid"] = "u1"
    lease = with_owners(new, ("a",) * SLICES, 7, "uid", {})
    assert read_map(lease).owners == ("a",) * SLICES
    meta = lease["metadata"]
    if name == "uid":
        meta["uid"] = "u2"
    else:
        meta["annotations"][name] += " "
    assert read_map(lease).owners == UNOWNED


def test_names_are_valid_and_differ() -> None:
    """However long the name of the program or of the host is."""
    program = "myrmidon-" + "x" * 240
    assert len(map_name(program)) <= 253
    assert len(label_value(program)) <= 63
    assert label_value(program) != label_value(program + "y")
    assert label_value("short") == "short"
    assert member_name("p", "Host_1.example-0a") == "p-shard-host-1-example-0a"
    assert is_map(written_map(map_name("p"), "p", "uid"), "p")
    assert not is_map({"metadata": {"name": map_name("p")}}, "p")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/namespaces/a/configmaps/b", "configmaps"),
        ("/api/v1/namespaces/a/configmaps", "configmaps"),
        ("/api/v1/namespaces/a", "namespaces"),
        ("/api/v1/namespaces/a/status", "namespaces"),
        ("/api/v1/nodes/n/status", "nodes"),
        ("/apis/apps/v1/namespaces/a/deployments/b/status", "deployments.apps"),
        ("/apis/g.example.org/v1/things/b", "things.g.example.org"),
        ("/api", ""),
    ],
)
def test_the_collection_of_a_request(path: str, expected: str) -> None:
    """Its plural and its group."""
    assert collection_of(path) == expected


def test_s5_the_version_of_the_last_write_counts() -> None:
    """Not of deletes, refusals, or answers without a number."""
    known: Versions = {}

    def send(method: str, status: int, body: bytes) -> None:
        request = HttpRequest(method, "/api/v1/namespaces/a/configmaps/b")
        note(known, request, HttpResponse(status, body=body))

    refused: list[tuple[str, int, Any]] = [
        ("DELETE", 200, b'{"metadata":{"resourceVersion":"9"}}'),
        ("PATCH", 409, b'{"metadata":{"resourceVersion":"9"}}'),
        ("PATCH", 200, b'{"metadata":{}}'),
        ("PATCH", 200, b"nothing"),
    ]
    for each in refused:
        send(*each)
    assert known == {}
    send("PATCH", 200, b'{"metadata":{"resourceVersion":"5"}}')
    send("PATCH", 200, b'{"metadata":{"resourceVersion":"3"}}')
    assert known == {"configmaps": 5}
    assert merged(known, {"configmaps": 8, "secrets": 1}) == {"configmaps": 8, "secrets": 1}
