"""A database service over HTTP, for the tests and for trying out the example.

    python -m examples.database_claim.service 8099

It keeps its databases in memory.  A POST with an Idempotency-Key that it has seen returns the
database of the first one.  ``lose`` makes it close the connection after it has acted, or before:
the client cannot tell which.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from threading import Thread
from typing import Any

from aiohttp import web

Json = dict[str, Any]


class DatabaseService:
    """The service, in a thread of its own while ``serving``."""

    def __init__(self) -> None:
        self.databases: dict[str, Json] = {}
        self.created = 0
        self.lose: list[str] = []
        """The next requests of these methods get no answer: ``POST after``, ``DELETE before``."""
        self._tokens: dict[str, str] = {}

    @contextmanager
    def serving(self, port: int = 0) -> Iterator[str]:
        """Serve on a port of this machine, by default a free one; yield the address."""
        loop = asyncio.new_event_loop()
        app = web.Application(middlewares=[self._unreliable])
        app.router.add_post("/databases", self._create)
        app.router.add_get("/databases/{id}", self._get)
        app.router.add_patch("/databases/{id}", self._update)
        app.router.add_delete("/databases/{id}", self._delete)
        runner = web.AppRunner(app)
        thread = Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(_listen(runner, port), loop).result()
            host, bound = runner.addresses[0][:2]
            yield f"http://{host}:{bound}"
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    @web.middleware
    async def _unreliable(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if f"{request.method} before" in self.lose:
            self.lose.remove(f"{request.method} before")
            return _cut(request)
        answer: web.StreamResponse = await handler(request)
        if f"{request.method} after" in self.lose:
            self.lose.remove(f"{request.method} after")
            return _cut(request)
        return answer

    async def _create(self, request: web.Request) -> web.Response:
        body, token = await request.json(), request.headers["Idempotency-Key"]
        if body["size"] > 100:
            return web.Response(status=422, text="at most 100 GiB")
        if token not in self._tokens:
            self.created += 1
            name = self._tokens[token] = f"db-{self.created}"
            host, version = f"{name}.databases.example.com", body["version"] or "17.2"
            self.databases[name] = {"id": name, "host": host, "version": version, **_stored(body)}
        return web.json_response({"id": self._tokens[token]}, status=201)

    async def _get(self, request: web.Request) -> web.Response:
        found = self.databases.get(request.match_info["id"])
        return web.json_response(found, status=200 if found else 404)

    async def _update(self, request: web.Request) -> web.Response:
        self.databases[request.match_info["id"]] |= _stored(await request.json())
        return web.Response(status=204)

    async def _delete(self, request: web.Request) -> web.Response:
        found = self.databases.pop(request.match_info["id"], None)
        return web.Response(status=204 if found else 404)


async def _listen(runner: web.AppRunner, port: int) -> None:
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()


def _stored(body: Json) -> Json:
    return {"size": body["size"], "digest": sha256(body["password"].encode()).hexdigest()}


def _cut(request: web.Request) -> web.Response:
    """Close the connection instead of answering."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


if __name__ == "__main__":
    with DatabaseService().serving(int(sys.argv[1])) as address:
        print(f"databases at {address}, until Enter is pressed")  # noqa: T201
        sys.stdin.readline()
