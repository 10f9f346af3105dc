"""Sharded lists and watches of the embedded server; the facts are in ``shard_facts``."""

import json
from collections.abc import Callable
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import pytest

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.server import ApiServer
from myrmidon.errors import UsageError
from tests.apiserver.verbs.shard_facts import (
    CHECKS,
    DEFINITION,
    HIGH,
    LOW,
    Answer,
    Shards,
    read_body,
)

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class SpreadUids(CountingEnvironment):
    """Uids whose hashes are spread, as those of a real server are.

    FNV-1a hardly mixes the last letter of a text into its highest bits, so uids that count up would
    all be in the same shard.
    """

    def uid(self) -> str:
        """Return a UUID made from the number of the uid."""
        return str(uuid5(NAMESPACE_OID, super().uid()))


class Embedded:
    """Sends requests to the embedded server."""

    def __init__(self, *gates: str) -> None:
        self.server = ApiServer(feature_gates=gates, environment=SpreadUids())

    def ask(
        self, method: str, path: str, query: dict[str, str], body: Any = None, accept: str = ""
    ) -> Answer:
        """Answer a request; a watch is read once."""
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"accept": accept or "application/json", "content-type": media}
        text = b"" if body is None else json.dumps(body).encode()
        found = self.server.answer(HttpRequest(method, path, tuple(query.items()), headers, text))
        self.server.settle()
        if isinstance(found, OpenWatch):
            return Answer(200, read_body(b"\n".join(found.take()), is_watch=True))
        assert isinstance(found, HttpResponse)
        return Answer(found.status, read_body(found.body, is_watch=False))


def prepared(*gates: str) -> Shards:
    """Return the checks of a server with the objects that they need."""
    embedded = Embedded(*gates)
    assert embedded.ask("POST", DEFINITIONS, {}, DEFINITION).status == 201
    shards = Shards(embedded, gate=bool(gates))
    shards.prepare()
    return shards


@pytest.mark.parametrize("gates", [(), ("ShardedListAndWatch",)], ids=["off", "on"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_sharded_lists_and_watches(check: Callable[[Shards], None], gates: tuple[str, ...]) -> None:
    """The facts hold, with the feature gate and without it."""
    check(prepared(*gates))


def test_every_shard_gets_bookmarks() -> None:
    """A bookmark moves a watch on although all changes were in other shards."""
    shards = prepared("ShardedListAndWatch")
    embedded = shards.server
    assert isinstance(embedded, Embedded)
    server = embedded.server
    watches = []
    for selector in (LOW, HIGH):
        query = (("watch", "1"), ("allowWatchBookmarks", "true"), ("shardSelector", selector))
        asked = HttpRequest(
            "GET", Shards.maps, (*query, ("resourceVersion", str(server.store.revision)))
        )
        watch = server.answer(asked)
        assert isinstance(watch, OpenWatch)
        watches.append(watch)
    server.request("POST", Shards.maps, {"metadata": {"name": "one-more"}})
    assert sorted(len(watch.take()) for watch in watches) == [0, 1]
    for watch in watches:
        line = watch.bookmark()
        assert line is not None
        version = json.loads(line)["object"]["metadata"]["resourceVersion"]
        assert version == str(server.store.revision)


def test_an_unknown_feature_gate_is_refused() -> None:
    """A misspelled gate would be off without a word."""
    with pytest.raises(UsageError, match="does not know the feature gate ShardedLists"):
        ApiServer(feature_gates=["ShardedLists"])
