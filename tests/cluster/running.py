"""A manager in a thread, and the faults between it and the server."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.watch.protocol import Timing
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.testing.faults.transport import Fault, FaultyTransport
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.lives import SECONDS_MAX, Json, Life
from tests.cluster.web_apps import WebApps

# A fault of a watch affects the next one that is opened, so watches are short.
SHORT = Timing(
    backoff_seconds_min=0.1,
    backoff_seconds_max=2.0,
    watch_seconds=2.0,
    idle_seconds=2.0,
    ask_seconds=2.0,
    short_seconds=0.5,
)
QUIET_SECONDS = 2.5
REQUEST_SECONDS = 5.0
PROBES = "127.0.0.1:0"


class Trouble:
    """The current fault, if any.  ``hits`` counts how often it was applied."""

    def __init__(self) -> None:
        self._rule: Callable[[HttpRequest], Fault | None] | None = None
        self.hits = 0

    def begin(
        self, fault: Fault, when: Callable[[HttpRequest], bool], times: int = 1_000_000
    ) -> None:
        """Apply the fault to requests that ``when`` accepts, so many times at most."""
        self.hits = 0

        def rule(request: HttpRequest) -> Fault | None:
            if self.hits >= times or not when(request):
                return None
            self.hits += 1
            return fault

        self._rule = rule

    def end(self) -> None:
        """Stop applying the fault."""
        self._rule = None

    def wait_for_hits(self, number: int = 1) -> None:
        """Wait until it was applied so often."""
        wait_until(lambda: self.hits >= number, f"{number} faults", SECONDS_MAX)

    def __call__(self, request: HttpRequest) -> Fault | None:
        """Return the fault of a request."""
        return None if self._rule is None else self._rule(request)


class Running:
    """A manager that runs one application."""

    def __init__(self, life: Life, kubeconfig: Path, timing: Timing = SHORT) -> None:
        self.life, self.trouble = life, Trouble()
        self._kubeconfig = kubeconfig
        self._options = ManagerOptions(
            namespaces=(life.namespace,),
            health_addr=PROBES,
            watching=timing,
            stale_after=timedelta(seconds=5),
            request_timeout=timedelta(seconds=REQUEST_SECONDS),
        )
        self._manager: Manager | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool = ThreadPoolExecutor(1)
        self._result: Future[None] | None = None

    def start(self) -> None:
        """Start, and wait until its workers run."""
        self._result = self._pool.submit(asyncio.run, self._main())
        wait_until(self._is_working, "manager at work", SECONDS_MAX)

    def stop(self) -> None:
        """Stop it; raise the error that ended it."""
        assert self._result is not None
        if self._loop is not None and self._manager is not None and not self._result.done():
            self._loop.call_soon_threadsafe(self._manager.stop)
        self._result.result(SECONDS_MAX)
        self._pool.shutdown()

    def readyz(self) -> tuple[int, str]:
        """Return the status of readyz."""
        assert self._manager is not None
        connection = HTTPConnection(self._manager.addresses[PROBES], timeout=SECONDS_MAX)
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def is_ready(self) -> bool:
        """Whether readyz succeeds."""
        return self.readyz()[0] == 200

    def _is_working(self) -> bool:
        assert self._result is not None
        if self._result.done():
            self._result.result()
        return self._manager is not None and self._manager._working.is_set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        transport = FaultyTransport(
            HttpTransport(await load_endpoint(self._kubeconfig)), self.trouble
        )
        manager = Manager(self._options, transport=transport)
        manager.add(WebApps())
        self._manager = manager
        try:
            await manager.run()
        finally:
            await transport.close()


@contextmanager
def running(life: Life, kubeconfig: Path, timing: Timing = SHORT) -> Iterator[Running]:
    """Run a manager whose application has converged."""
    manager = Running(life, kubeconfig, timing)
    manager.start()
    try:
        life.create(hosts=["shop.example"])
        life.wait_converged()
        wait_until(manager.is_ready, "ready", SECONDS_MAX)
        yield manager
    finally:
        manager.stop()


def check_rest(manager: Running, **made: int) -> None:
    """Check that the objects are as asked for, writes have ended, and nothing was created twice.

    ``made`` lists what had to be created more than once.
    """
    life = manager.life
    life.wait_converged()
    wait_until(manager.is_ready, manager.readyz()[1], SECONDS_MAX)
    wait_until(lambda: is_as_asked(life), "children as asked for", SECONDS_MAX)
    before = len(life.own_writes())
    threading.Event().wait(QUIET_SECONDS)
    later = life.own_writes()[before:]
    assert not later, f"no rest: {later[:3]}"
    twice = {what: times for what, times in life.made().items() if times > 1}
    assert twice == made, twice


def is_as_asked(life: Life) -> bool:
    """Whether the children are what the application asks for."""
    world = life.world()
    wanted = {"WebApp shop", "ConfigMap shop-config", "Deployment shop", "Service shop"}
    if not {*wanted, "ClusterRole *-shop"} <= set(world):
        return False
    spec, deployment = world["WebApp shop"]["spec"], world["Deployment shop"]["spec"]
    image = deployment["template"]["spec"]["containers"][0]["image"]
    hosts = [rule["host"] for rule in world.get("Ingress shop", EMPTY)["spec"]["rules"]]
    return (image, deployment["replicas"], hosts) == (
        spec["image"],
        spec["replicas"],
        spec["hosts"],
    ) and world["ConfigMap shop-config"]["data"] == {"image": spec["image"]}


EMPTY: Json = {"spec": {"rules": []}}
