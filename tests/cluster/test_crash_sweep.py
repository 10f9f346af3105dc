"""F15 on a real server: kill -9 at every write of a web application's life, and a restart."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from subprocess import Popen

import pytest

from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.shops import PATIENCE, Shop, start, stop

WRITES = 18  # of a calm life; the first test holds it to that

STEPS: dict[str, Callable[[Shop], None]] = {
    "create": lambda shop: shop.create(),
    "change": lambda shop: shop.change(image="shop:2", replicas=2),
    "expose": lambda shop: shop.change(hosts=["a.example"]),
    "hide": lambda shop: shop.change(hosts=[]),
    "delete": lambda shop: shop.delete(),
}


def settle(shop: Shop, step: str) -> None:
    """Wait for the end of a step."""
    if step == "delete":
        shop.wait_gone()
    else:
        shop.wait_ready()


@pytest.fixture(scope="module")
def calm(controlplane: ControlPlane) -> dict[str, object]:
    """The world after each step of a life in which nothing goes wrong."""
    client = controlplane.client()
    client.post("/api/v1/namespaces", {"metadata": {"name": "calm"}})
    shop = Shop(controlplane, "calm")
    process = start(controlplane.kubeconfig, "calm", "calm")
    worlds: dict[str, object] = {}
    try:
        for step, act in STEPS.items():
            act(shop)
            settle(shop, step)
            worlds[step] = shop.world()
    finally:
        assert stop(process) == 0
    worlds["writes"] = len(shop.writes("calm"))
    return worlds


def test_calm_life_writes_as_often_as_the_sweep_strikes(calm: dict[str, object]) -> None:
    """Else the sweep would miss some; as many as on the embedded server."""
    assert calm["writes"] == WRITES


@pytest.mark.parametrize("acted", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_killed_at_any_write(
    controlplane: ControlPlane,
    kubeconfig: Path,
    namespace: str,
    calm: dict[str, object],
    at: int,
    *,
    acted: bool,
) -> None:
    """After a restart the world is the undisturbed run's: nothing missing, left over, or made twice."""
    shop = Shop(controlplane, namespace)
    doomed, heir = f"{namespace}-doomed", f"{namespace}-heir"
    process = start(kubeconfig, namespace, doomed, f"--die-at={at}", *(["--acted"] * acted))
    died = False
    try:
        for step, act in STEPS.items():
            act(shop)
            if not died:
                over = partial(_is_over, shop, step, process)
                wait_until(over, step, PATIENCE)
            if process.poll() is not None and not died:
                assert process.returncode == -9
                died = True
                process = start(kubeconfig, namespace, heir)
            settle(shop, step)
            assert shop.world() == calm[step], step
    finally:
        stop(process)
    assert died
    twice = [name for name, times in Counter(shop.made(doomed, heir)).items() if times > 1]
    assert twice == []


def _is_over(shop: Shop, step: str, process: "Popen[bytes]") -> bool:
    if process.poll() is not None:
        return True
    return shop.is_gone() if step == "delete" else shop.is_ready()
