"""Watches as cursors, and as streams."""

import asyncio
import json
from typing import Any

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.server import ApiServer

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, **data: str) -> dict[str, Any]:
    """A body."""
    return {"metadata": {"name": name}, "data": data}


def open_watch(server: ApiServer, *query: tuple[str, str]) -> OpenWatch:
    """Open a watch that no task reads."""
    outcome = server.answer(HttpRequest("GET", CONFIG_MAPS, (("watch", "1"), *query)))
    assert isinstance(outcome, OpenWatch)
    return outcome


def events(lines: list[bytes]) -> list[tuple[str, str]]:
    """Return types and names."""
    read = [json.loads(line) for line in lines]
    return [(each["type"], each["object"].get("metadata", {}).get("name", "")) for each in read]


def test_each_watch_is_read_independently() -> None:
    """A simulation lets one watch lag while another is up to date."""
    server = ApiServer()
    quick, slow = open_watch(server), open_watch(server)
    server.request("POST", CONFIG_MAPS, config_map("a"))
    assert events(quick.take()) == [("ADDED", "a")]
    server.request("DELETE", f"{CONFIG_MAPS}/a")
    assert events(quick.take()) == [("DELETED", "a")]

    assert events(slow.take()) == [("ADDED", "a"), ("DELETED", "a")]
    assert events(slow.take()) == []


def test_a_watch_that_falls_behind_gets_a_410_and_ends() -> None:
    """History is bounded; a lagging watch must list again."""
    server = ApiServer(history_max=5)
    watch = open_watch(server)
    for number in range(10):
        server.request("POST", CONFIG_MAPS, config_map(f"c{number}"))

    (line,) = watch.take()
    assert json.loads(line)["object"]["code"] == 410
    assert watch.over


def test_every_watcher_sees_every_event_in_order() -> None:
    """Fifty watchers, each fed by its own task."""

    async def run() -> list[list[tuple[str, str]]]:
        server = ApiServer(environment=CountingEnvironment())
        transport = LocalTransport(server)
        collected: list[list[tuple[str, str]]] = [[] for _ in range(50)]
        request = HttpRequest("GET", CONFIG_MAPS, (("watch", "1"),))

        async def follow(into: list[tuple[str, str]]) -> None:
            async with transport.stream(request) as response:
                async for line in response.lines():
                    into += events([line])
                    if into[-1] == ("ADDED", "end"):
                        return

        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            for into in collected:
                tasks.create_task(follow(into))
            for number in range(200):
                body = json.dumps(config_map(f"c{number:03}")).encode()
                await transport.send(HttpRequest("POST", CONFIG_MAPS, body=body))
            body = json.dumps(config_map("end")).encode()
            await transport.send(HttpRequest("POST", CONFIG_MAPS, body=body))
        return collected

    wanted = [("ADDED", f"c{number:03}") for number in range(200)] + [("ADDED", "end")]
    assert all(seen == wanted for seen in asyncio.run(run()))


def test_a_read_of_a_later_revision_waits_for_it() -> None:
    """A list at a revision that follows soon is answered when it exists."""

    async def run() -> HttpResponse:
        server = ApiServer()
        transport = LocalTransport(server)
        version = str(server.store.revision + 1)
        request = HttpRequest("GET", CONFIG_MAPS, (("resourceVersion", version),))
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(transport.send(request))
            body = json.dumps(config_map("a")).encode()
            await transport.send(HttpRequest("POST", CONFIG_MAPS, body=body))
        return waiting.result()

    response = asyncio.run(run())
    assert response.status == 200
    assert [item["metadata"]["name"] for item in json.loads(response.body)["items"]] == ["a"]
