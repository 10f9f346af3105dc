"""Many watchers: every event reaches every one of them, in order."""

import asyncio

import orjson

from myrmidon.api import HttpRequest
from myrmidon.api.objects import kinds
from myrmidon.api.requests.paths import collection_path
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer

OBJECTS, WATCHERS, AT_ONCE = 10_000, 50, 500
PATH = collection_path(kinds.CONFIG_MAP, "default")


async def follow(transport: LocalTransport, count: int) -> list[int]:
    """Return the versions that one watcher gets, in order."""
    request = HttpRequest("GET", PATH, (("watch", "1"), ("timeoutSeconds", "3600")))
    versions: list[int] = []
    async with transport.stream(request) as stream:
        async for line in stream.lines():
            event = orjson.loads(line)
            assert event["type"] == "ADDED"
            versions.append(int(event["object"]["metadata"]["resourceVersion"]))
            if len(versions) == count:
                break
    return versions


async def write(transport: LocalTransport) -> list[int]:
    """Create all objects; watchers run in between."""
    versions: list[int] = []
    for number in range(OBJECTS):
        body = orjson.dumps({"metadata": {"name": f"cm-{number:05}"}, "data": {"k": "v"}})
        headers = {"content-type": "application/json"}
        answer = await transport.send(HttpRequest("POST", PATH, (), headers, body))
        versions.append(int(orjson.loads(answer.body)["metadata"]["resourceVersion"]))
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)  # noqa: TID251 - lets the watchers run
    return versions


def test_every_event_reaches_every_watcher_in_order() -> None:
    """10,000 objects, 50 watchers."""

    async def main() -> tuple[list[int], list[list[int]]]:
        transport = LocalTransport(ApiServer())
        async with asyncio.TaskGroup() as group:
            watchers = [group.create_task(follow(transport, OBJECTS)) for _ in range(WATCHERS)]
            await asyncio.sleep(0)  # noqa: TID251 - lets the watches begin
            written = await write(transport)
        return written, [watcher.result() for watcher in watchers]

    written, heard = asyncio.run(main())

    assert written == sorted(written)
    assert all(versions == written for versions in heard)
