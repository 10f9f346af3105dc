# ruff: noqa: T201 - a command prints
"""Replays scenarios, and counts: ``python -m tests.apiserver.conformance.replaying [-k REGEX]``."""

import argparse
import asyncio
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from io import BytesIO

import aiohttp
from yarl import URL

from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport
from myrmidon.apiserver.actors import GarbageCollector, NamespaceController
from myrmidon.apiserver.auth.users import MASTERS, User
from myrmidon.apiserver.fronts.http import serve
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.server import ApiServer
from tests.apiserver.conformance.comparing import Comparison
from tests.apiserver.conformance.running import Runner, SetupError
from tests.apiserver.conformance.scenarios import Scenario, all_scenarios

USERS = {"admin-token": User("kubernetes-admin", (MASTERS,)), "dev-token": User("dev", ("devs",))}


class WallClockEnvironment(CountingEnvironment):
    """Deterministic identifiers, and the time of day, as some scenarios wait for it to pass."""

    def now(self) -> datetime:
        """The time."""
        return datetime.now(UTC)  # noqa: TID251 - some scenarios compare times


def new_server() -> ApiServer:
    """Return a server as the scenarios need it: two users, RBAC, garbage collection."""
    actors = (GarbageCollector(), NamespaceController())
    return ApiServer(environment=WallClockEnvironment(), users=USERS, actors=actors, rbac=True)


class HttpTransport:
    """A minimal transport over sockets."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url = session, url

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send and wait for the whole response."""
        async with self._open(request) as response:
            headers = tuple((key.lower(), value) for key, value in response.headers.items())
            return HttpResponse(response.status, headers, await response.read())

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        """Send and return the response as it arrives."""
        async with self._open(request) as response:
            yield _HttpStream(response)

    async def close(self) -> None:
        """Do nothing: the caller owns the session."""

    def _open(self, request: HttpRequest) -> "aiohttp.client._RequestContextManager":
        url = URL(self._url + request.path, encoded=True).with_query(list(request.query))
        data = BytesIO(request.body) if request.body else None  # aiohttp warns of large bytes
        return self._session.request(request.method, url, headers=dict(request.headers), data=data)


class _HttpStream:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers = tuple((key.lower(), value) for key, value in response.headers.items())

    async def lines(self) -> AsyncIterator[bytes]:
        async for line in self._response.content:
            yield line

    async def read(self) -> bytes:
        return await self._response.read()


@asynccontextmanager
async def transport_of(server: ApiServer, *, http: bool) -> AsyncIterator[Transport]:
    """Yield a transport to the server: in the process, or over sockets."""
    if not http:
        yield LocalTransport(server)
        return
    timeout = aiohttp.ClientTimeout(total=None)
    async with serve(server) as url, aiohttp.ClientSession(timeout=timeout) as session:
        yield HttpTransport(session, url)


async def replay(transport: Transport, scenario: Scenario) -> dict[str, list[str]]:
    """Run a scenario; return the differences of each step."""
    run_id = f"{scenario.name[:40]}-{uuid.uuid4().hex[:6]}"
    try:
        answers = await Runner(transport, scenario, run_id).run()
    except SetupError as error:
        return {step.name: [f"setup failed: {error}"] for step in scenario.steps}
    comparison = Comparison(scenario, run_id)
    return {answer.step.name: comparison.differences(answer) for answer in answers}


async def _replay_all(scenarios: list[Scenario], *, http: bool, verbose: bool) -> bool:
    passed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    limit = asyncio.Semaphore(8)
    async with transport_of(new_server(), http=http) as transport, asyncio.TaskGroup() as tasks:

        async def one(scenario: Scenario) -> None:
            async with limit:
                outcome = await replay(transport, scenario)
            for step, differences in outcome.items():
                total[scenario.category] += 1
                passed[scenario.category] += not differences
                if differences and verbose:
                    print(f"FAIL {scenario} [{step}]", *differences[:6], sep="\n       ")

        for scenario in scenarios:
            tasks.create_task(one(scenario))
    print(table(passed, total))
    return passed == total


def table(passed: Counter[str], total: Counter[str]) -> str:
    """The table that the documentation shows."""
    lines = ["| area | steps | as the real server |", "| --- | ---: | ---: |"]
    for area in sorted(total):
        share = 100 * passed[area] / total[area]
        lines.append(f"| {area} | {total[area]} | {passed[area]} ({share:.1f} %) |")
    share = 100 * passed.total() / total.total()
    lines.append(f"| **all** | {total.total()} | {passed.total()} ({share:.1f} %) |")
    return "\n".join(lines)


def main() -> int:
    """Replay, and print the table that the documentation shows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="", metavar="REGEX", help="only scenarios that match")
    parser.add_argument("--http", action="store_true", help="over sockets")
    parser.add_argument("-q", action="store_true", help="only the table")
    options = parser.parse_args()
    chosen = [each for each in all_scenarios() if re.search(options.k, str(each))]
    return 0 if asyncio.run(_replay_all(chosen, http=options.http, verbose=not options.q)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
