"""The web application's controller as a process of its own, which a test can kill.

    python -m tests.cluster.program --kubeconfig F --namespace NS --name WHO [--die-at K [--acted]] [--lease ID]

With --die-at it kills itself with SIGKILL at its K-th write, before that is sent or, with --acted, as
soon as the server has answered it.  Its name is its User-Agent, so that the audit log tells it
from others.
"""

import argparse
import asyncio
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager

from myrmidon.api.wire import HttpRequest, HttpResponse, ResponseStream, Transport
from myrmidon.errors import MyrmidonError
from myrmidon.io.config import load_endpoint
from myrmidon.io.http import HttpTransport
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.runtime.election import Terms
from myrmidon.runtime.logs import configure
from myrmidon.testing import is_write
from tests.runtime.webapps import WebApps


class Mortal:
    """A transport that kills its process at a certain write."""

    def __init__(self, inner: Transport, at: int, *, acted: bool) -> None:
        self._inner, self._at, self._acted = inner, at, acted
        self._writes = 0

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send; or die, before or after it."""
        counts = is_write(request)
        self._writes += counts
        last = counts and self._writes == self._at
        if last and not self._acted:
            os.kill(os.getpid(), signal.SIGKILL)
        response = await self._inner.send(request, deadline=deadline)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return response

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Watches kill nobody."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Close what is behind."""
        await self._inner.close()


async def main(args: argparse.Namespace) -> None:
    """Run until stopped or dead."""
    endpoint = await load_endpoint(args.kubeconfig)
    transport: Transport = HttpTransport(endpoint, user_agent=args.name)
    options = ManagerOptions(
        namespaces=(args.namespace,),
        leader_election=bool(args.lease),
        leader_election_id=args.lease or "none",
        leader_election_namespace=args.namespace,
        identity=args.name,
        terms=Terms(*map(float, args.terms.split(","))),
    )
    manager = Manager(options, transport=Mortal(transport, args.die_at, acted=args.acted))
    manager.add(WebApps())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, manager.stop)
    await manager.run()


def parse() -> argparse.Namespace:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--die-at", type=int, default=0)
    parser.add_argument("--acted", action="store_true")
    parser.add_argument("--lease", default="")
    parser.add_argument("--terms", default="15,10,2", help="lease, renewal, retry in seconds")
    return parser.parse_args()


if __name__ == "__main__":
    configure("text")
    try:
        asyncio.run(main(parse()))
    except MyrmidonError as error:
        sys.exit(f"error: {error}")
