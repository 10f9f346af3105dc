"""A controller process for tests that kill it: ``python -m tests.cluster.contender ...``."""

import asyncio
import os
import signal
import sys

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.http.transport import HttpTransport
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.runtime.leader.election import Terms
from myrmidon.runtime.logs import configure
from myrmidon.testing.faults.transport import is_write
from tests.cluster.web_apps import WebApps

TERMS = Terms(lease_seconds=3.0, renew_seconds=2.0, retry_seconds=0.4)
LEASE = "web-apps"


async def contend(kubeconfig: str, namespace: str, identity: str, mode: str = "leader") -> None:
    """Run the controller as soon as it holds the lease, or with ``shards`` on its share."""
    options = ManagerOptions(
        kubeconfig=kubeconfig,
        namespaces=(namespace,),
        leader_election=mode == "leader",
        shards="auto" if mode == "shards" else None,
        leader_election_id=LEASE,
        leader_election_namespace=namespace,
        terms=TERMS,
        identity=identity,
    )
    manager = Manager(options)
    manager.add(WebApps())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, manager.stop)
    await manager.run()


# -------------------------------------------------------------------------------- crashing


class Deadly(HttpTransport):
    """Kills the process after its k-th write, before the response is handled."""

    writes_left = 0

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send; kill the process after the last write."""
        response = await super().send(request, deadline=deadline)
        if is_write(request):
            self.writes_left -= 1
            if self.writes_left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return response


def crash(kubeconfig: str, namespace: str, writes: int) -> None:
    """Run the controller until its n-th write kills it; without end with 0."""
    asyncio.run(_crash(kubeconfig, namespace, writes))


async def _crash(kubeconfig: str, namespace: str, writes: int) -> None:
    transport = Deadly(await load_endpoint(kubeconfig))
    transport.writes_left = writes
    manager = Manager(ManagerOptions(namespaces=(namespace,)), transport=transport)
    manager.add(WebApps())
    await manager.run()


if __name__ == "__main__":
    configure("text")
    asyncio.run(contend(*sys.argv[1:]))
