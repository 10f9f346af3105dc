"""Malformed requests get the same status codes from both servers.

The examples are always the same ones; `HYPOTHESIS_PROFILE=explore` looks for others.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.server import ApiServer
from tests.apiserver.differential.lines import PANIC, OwnLine, RealLine
from tests.apiserver.fuzzing import APPLY, COLLECTIONS, JSON, PATHS, documents, patches, populate
from tests.cluster.controlplane.controlplane import ControlPlane

DRY = ("dryRun", "All")  # so that one request cannot change what the next one meets


class Pair:
    """The two servers, with the same objects."""

    def __init__(self, plane: ControlPlane) -> None:
        self.real = RealLine(plane.port, plane.ca)
        self.own = OwnLine(ApiServer())
        for line in (self.real, self.own):
            populate(line, await_served=line is self.real)

    def ask(self, request: HttpRequest) -> None:
        """Send to both servers, and compare."""
        headers = {"authorization": "Bearer admin-token", "user-agent": "x"} | dict(request.headers)
        sent = HttpRequest(request.method, request.path, request.query, headers, request.body)
        real, own = self.real.send(sent), self.own.send(sent)
        if real.status != PANIC:  # which ours must not copy
            assert own.status == real.status, (real.body[:600], own.body[:600])


@pytest.fixture(scope="module")
def pair(controlplane: ControlPlane) -> Iterator[Pair]:
    """Return one pair for all tests."""
    made = Pair(controlplane)
    yield made
    made.real.close()


@settings(max_examples=200)
@given(data=st.data(), path=PATHS)
def test_wrong_types_anywhere_in_an_object(pair: Pair, data: st.DataObject, path: str) -> None:
    """For objects of all kinds."""
    name, document = COLLECTIONS[path]["metadata"]["name"], data.draw(documents(COLLECTIONS[path]))
    method = data.draw(st.sampled_from(["POST", "PUT"]))
    target = path if method == "POST" else f"{path}/{name}"

    pair.ask(_sent(method, target, document, JSON, []))


@settings(max_examples=200)
@given(data=st.data(), path=PATHS)
def test_wrong_types_anywhere_in_a_patch(pair: Pair, data: st.DataObject, path: str) -> None:
    """For patches of all types."""
    media, patch = data.draw(patches(path))
    manager = [("fieldManager", "fuzz")] if media == APPLY else []
    target = f"{path}/{COLLECTIONS[path]['metadata']['name']}"

    pair.ask(_sent("PATCH", target, patch, media, manager))


def _sent(
    method: str, path: str, document: Any, media: str, query: list[tuple[str, str]]
) -> HttpRequest:
    headers = {"content-type": media}
    return HttpRequest(method, path, (DRY, *query), headers, json.dumps(document).encode())
