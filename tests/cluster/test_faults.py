"""Faults between a controller and a real server: it converges after each, and stops writing.

Each test injects a fault, changes what is wanted meanwhile, and ends the fault.  Afterwards the
children are what the application asks for, there are no more writes, no object was created twice,
objects of other parties are untouched, and readyz succeeds again.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.io.watch.protocol import Timing
from myrmidon.testing.faults.transport import (
    Break,
    Cut,
    Expire,
    Fault,
    Lose,
    Refuse,
    Stall,
    Status,
    Truncate,
    is_watch,
    is_write,
)
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.lives import SECONDS_MAX, Life, new_namespace, write_kubeconfig
from tests.cluster.proxy import Proxy
from tests.cluster.running import Running, check_rest, running


@pytest.fixture
def life(plane: ControlPlane) -> Iterator[Life]:
    """Return an application beside an object of another party, which must not change."""
    life = Life(plane, new_namespace(plane))
    foreign = life.put_foreign()
    yield life
    unchanged = life.foreign() == foreign
    life.close()
    assert unchanged, "an object of another party was changed"


# ---------------------------------------------------------------------------------- watches


@pytest.mark.parametrize("fault", [Cut(), Break(1), Expire(), Expire(1)], ids=str)
def test_watches_that_go_wrong(manager: Running, fault: Fault) -> None:
    """They end, break in the middle of a line, or report that their version is too old."""
    manager.trouble.begin(fault, is_watch)
    manager.trouble.wait_for_hits(6)
    manager.life.change(image="shop:2")
    manager.life.delete_child("services")
    manager.trouble.wait_for_hits(12)
    manager.trouble.end()
    check_rest(manager, **{"services shop": 2})


def test_a_watch_refused_with_410(manager: Running) -> None:
    """A refusal instead of an event: everything is listed again, and nothing is lost."""
    manager.trouble.begin(Status(410, "Expired"), is_watch, times=12)
    manager.trouble.wait_for_hits(6)
    manager.life.change(image="shop:2", hosts=[])
    manager.trouble.wait_for_hits(12)
    check_rest(manager)


def test_a_watch_that_stalls(manager: Running) -> None:
    """Connected and silent: the watch is opened again, and the missed events arrive then."""
    manager.trouble.begin(Stall(), is_watch)
    manager.trouble.wait_for_hits(6)
    manager.life.change(image="shop:2")
    manager.trouble.wait_for_hits(12)
    manager.trouble.end()
    check_rest(manager)


# --------------------------------------------------------------------------------- requests


WRITE_FAULTS: dict[str, tuple[Fault, int]] = {
    "429": (Status(429, "TooManyRequests", retry_after=1), 3),
    "500": (Status(500, "InternalError"), 6),
    "503": (Status(503, "ServiceUnavailable"), 3),
    "refused": (Refuse(), 6),
    "lost": (Lose(), 6),
    "truncated": (Truncate(), 6),
}


@pytest.mark.parametrize("name", WRITE_FAULTS)
def test_writes_that_go_wrong(life: Life, kubeconfig: Path, name: str) -> None:
    """From the first write on: refused for now, or executed with the response lost."""
    fault, times = WRITE_FAULTS[name]
    manager = Running(life, kubeconfig)
    manager.trouble.begin(fault, is_write, times=times)
    manager.start()
    try:
        life.create(hosts=["shop.example"])
        manager.trouble.wait_for_hits(times)
        life.wait_converged()
        manager.trouble.begin(fault, is_write, times=times)
        life.change(image="shop:2", replicas=2, hosts=[])
        manager.trouble.wait_for_hits(times)
        check_rest(manager)
        manager.trouble.begin(fault, is_write, times=times)
        life.delete()
        life.wait_gone()
    finally:
        manager.stop()


def test_everything_is_refused_for_a_while(manager: Running) -> None:
    """Reads, watches and writes: the cache is kept, and no decision is made on missing data."""
    fault: Fault = Status(500, "InternalError")
    manager.trouble.begin(fault, _any)
    manager.life.change(image="shop:2")
    wait_until(lambda: not manager.is_ready(), "not ready", SECONDS_MAX)
    manager.trouble.end()
    check_rest(manager)


def _any(_request: HttpRequest) -> bool:
    return True


# ------------------------------------------------------------------------------ connections


@pytest.fixture
def proxied(life: Life, plane: ControlPlane, tmp_path: Path) -> Iterator[tuple[Running, Proxy]]:
    """Run a manager that reaches the server through a proxy."""
    with Proxy(plane.port) as proxy:
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", plane, port=proxy.port)
        timing = Timing(backoff_seconds_min=0.1, backoff_seconds_max=2.0, idle_seconds=3.0)
        with running(life, kubeconfig, timing) as manager:
            yield manager, proxy
            proxy.cut()  # closing a dead connection waits for close_notify


def test_connections_that_are_reset(proxied: tuple[Running, Proxy]) -> None:
    """All at once, including watches, several times."""
    manager, proxy = proxied
    for number in range(5):
        proxy.cut()
        manager.life.change(image=f"shop:{number + 2}")
        wait_until(manager.life.is_converged, "converged", SECONDS_MAX)
    check_rest(manager)


def test_connections_that_are_reset_in_the_middle_of_a_response(
    proxied: tuple[Running, Proxy],
) -> None:
    """The server has executed the request; its response breaks off after some bytes."""
    manager, proxy = proxied
    for size in (100, 400, 1200):
        links = proxy.links + 4
        proxy.limit(old=size, new=4000 + size)
        manager.life.change(image=f"shop:{size}", replicas=size % 7)
        wait_until(partial(proxy.has_made, links), "new links", SECONDS_MAX)
        proxy.heal()
        manager.life.wait_converged()
    check_rest(manager)


def test_connections_that_fall_silent(proxied: tuple[Running, Proxy]) -> None:
    """No error is reported on them; the watches notice by themselves."""
    manager, proxy = proxied
    proxy.stall()
    manager.life.change(image="shop:2")
    check_rest(manager)
