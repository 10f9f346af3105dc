"""The response to a write is lost, and the written object is no longer wanted."""

from datetime import timedelta
from typing import Any

import pytest

from myrmidon import Context, Done, OutputSet, Result, kinds
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.testing import Fault, Harness, Lose, Stall, Status, is_watch
from tests.runtime.things import Thing, Things, thing


class Faults:
    """The first create of a ConfigMap gets no response, and no watch reports ConfigMaps."""

    def __init__(self, read: Fault | None = None) -> None:
        self._creates, self._reads, self._read = 0, 0, read

    def __call__(self, request: HttpRequest) -> Fault | None:
        """The fault of a request."""
        if not request.path.split("?")[0].partition("/configmaps")[1]:
            return None
        if is_watch(request):
            return Stall(lines=1)  # the end of the first list
        if request.method == "POST":
            self._creates += 1
            return Lose() if self._creates == 1 else None
        if request.method == "GET" and request.path.endswith("/it"):
            self._reads += 1
            return self._read if self._reads == 1 else None
        return None


def wanted_once(**how: Any) -> Any:
    """Return a state that applies a ConfigMap in its first pass only."""
    runs: list[str] = []

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        runs.append(it.name)
        if len(runs) == 1:
            metadata = {"name": it.name}
            out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, **how)
        return Done()

    return act


@pytest.mark.parametrize("read", [None, Status(503)], ids=["answered", "refused once"])
def test_an_unwanted_child_is_looked_up_on_the_server_before_it_is_forgotten(
    read: Fault | None,
) -> None:
    """It is recorded and not in the cache; a live read finds it, and it is deleted."""
    things = Things(wanted_once(owner_refs=False), prune=True)
    with Harness(things, faults=Faults(read)) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=10))

        assert cluster.ready(Thing, "it")
        assert cluster.get(kinds.CONFIG_MAP, "it") is None
        assert cluster.require(Thing, "it").raw["status"].get("resourceRefs", []) == []
