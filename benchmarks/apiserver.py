"""Measures how fast the embedded server is.

    python -m benchmarks.apiserver

Start to first answer in a new process, and requests per second of a 1 KB object through the local
transport, in CPU time of one core.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable

import orjson

from myrmidon.api import HttpRequest
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer

PATH = "/api/v1/namespaces/default/configmaps"
_IN_PROCESS = """
import time
started = time.process_time()
from myrmidon.apiserver.server import ApiServer
imported = time.process_time()
server = ApiServer()
server.request("GET", "/api/v1/namespaces/default/configmaps")
print(imported - started, time.process_time() - imported)
"""
_REQUESTS = 5_000


def body(number: int) -> bytes:
    """Build an object of about 1 KB."""
    return orjson.dumps({"metadata": {"name": f"cm-{number:06}"}, "data": {"text": "x" * 850}})


async def rate(request: Callable[[int], HttpRequest], transport: LocalTransport) -> float:
    """Return requests per second of CPU time."""
    started = time.process_time()
    for number in range(_REQUESTS):
        answer = await transport.send(request(number))
        assert answer.status < 300, answer.body
    return _REQUESTS / (time.process_time() - started)


async def rates() -> tuple[float, float]:
    """Return the rates of creates and gets."""
    transport = LocalTransport(ApiServer())
    headers = {"content-type": "application/json"}
    creates = await rate(lambda n: HttpRequest("POST", PATH, (), headers, body(n)), transport)
    gets = await rate(lambda n: HttpRequest("GET", f"{PATH}/cm-{n:06}"), transport)
    return creates, gets


def main() -> None:
    """Print the table."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", _IN_PROCESS], capture_output=True, text=True, check=True
        )
        for _ in range(5)
    ]
    imports, starts = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    creates, gets = asyncio.run(rates())
    print("| what | measured | target |\n|---|---:|---:|")
    print(f"| import of the server | {min(imports) * 1000:.0f} ms | |")
    print(f"| from there to the first answer | {min(starts) * 1000:.0f} ms | 150 ms |")
    print(f"| creates per second, local | {creates:,.0f} | 3,000 |")
    print(f"| gets per second, local | {gets:,.0f} | 10,000 |")


if __name__ == "__main__":
    main()
