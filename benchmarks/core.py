"""What does a decision cost, and what does an import?  ``python -m benchmarks.core``.

One no-op decision is what an object costs that has nothing to do: its three states build a
ConfigMap, a Deployment and a Service, each is compared with what the server has, and the status
with what it was.  Nothing is sent.
"""

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from pydantic import Field

from myrmidon import Controller, Done, Model, OutputSet, Resource, Result, Status, kinds, state
from myrmidon.api import status_patch
from myrmidon.api.objects.accessors import Json
from myrmidon.fsm.engine import Acted, Enter, Finish, Walk, Write
from myrmidon.fsm.status.status import status_after, status_request
from myrmidon.sets import Parent, plan

DECISION_MICROSECONDS_MAX = 150
IMPORT_MILLISECONDS_MAX = 150
NEEDED = "from myrmidon import Controller, Done, Failed, Model, OutputSet, Resource, Status, Wait, Watch, kinds, state"


class ShopSpec(Model):
    """What a user asks for."""

    image: str
    replicas: int = 1
    hosts: list[str] = Field(default_factory=list)


class ShopStatus(Status):
    """What the controller has observed."""

    url: str | None = None


class Shop(Resource[ShopSpec, ShopStatus], group="bench.myrmidon.dev", version="v1"):
    """A shop."""


class Shops(Controller[Shop]):
    """Three states, one child each."""

    manages = (kinds.CONFIG_MAP, kinds.DEPLOYMENT, kinds.SERVICE)

    @state(initial=True, condition="Configured", then="deployed")
    def configured(self, shop: Shop, out: OutputSet) -> Result:
        """The settings are there."""
        out.apply(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": shop.name, "labels": {"app": shop.name}},
                "data": {"hosts": ",".join(shop.spec.hosts), "mode": "production"},
            }
        )
        return Done()

    @state(condition="Deployed", then="exposed")
    def deployed(self, shop: Shop, out: OutputSet) -> Result:
        """The Deployment is there."""
        labels = {"app": shop.name}
        container = {
            "name": "shop",
            "image": shop.spec.image,
            "ports": [{"name": "http", "containerPort": 8080}],
            "envFrom": [{"configMapRef": {"name": shop.name}}],
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        }
        out.apply(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": shop.name, "labels": labels},
                "spec": {
                    "replicas": shop.spec.replicas,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"containers": [container]},
                    },
                },
            }
        )
        return Done()

    @state(condition="Exposed")
    def exposed(self, shop: Shop, out: OutputSet) -> Result:
        """The Service is there."""
        out.apply(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": shop.name, "labels": {"app": shop.name}},
                "spec": {
                    "selector": {"app": shop.name},
                    "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
                },
            }
        )
        return Done()


NOW = datetime(2026, 1, 1, tzinfo=UTC)
RAW: Json = {
    "apiVersion": "bench.myrmidon.dev/v1",
    "kind": "Shop",
    "metadata": {
        "name": "shop", "namespace": "default", "uid": "9f0c8f6e-0000-4000-8000-000000000001",
        "resourceVersion": "1", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
    },
    "spec": {"image": "shop:1", "replicas": 2, "hosts": ["a.example.com", "b.example.com"]},
}  # fmt: skip


def decide(shop: Shop, children: dict[Any, Json]) -> list[Any]:
    """Decide one pass over an object; return every request that it would send."""
    requests: list[Any] = []
    controller, parent = Shops(), Parent(shop.ref, shop.uid)
    walk = Walk("Shops", Shops.graph, finalizer="f", finalizers=shop.finalizers)
    out = OutputSet(())
    while True:
        match walk.action:
            case Enter(entered):
                out = OutputSet(
                    Shops.managed_kinds,
                    namespace=shop.namespace,
                    controller="Shops",
                    state=entered.name,
                )
                walk.report(getattr(controller, entered.name)(shop, out))
            case Write():
                requests += [plan(output, children.get(output.ref), parent) for output in out]
                walk.report(Acted())
            case Finish(outcome):
                status = status_after(
                    outcome, Shops.graph, shop.raw, now=NOW,
                    managed=children, own_fields=status_patch(shop),
                )  # fmt: skip
                requests.append(status_request(shop.ref, shop.raw, status))
                return [request for request in requests if request is not None]
            case other:
                raise AssertionError(other)


def converged() -> tuple[Json, dict[Any, Json]]:
    """Return the object and its children after the server has accepted every write."""
    raw, children = RAW, dict[Any, Json]()
    *writes, status = decide(Shop.from_json(raw), {})
    for request in writes:
        stored = orjson.loads(orjson.dumps(request.body))
        stored["metadata"].update(uid=request.ref.name, resourceVersion="2", generation=1)
        children[request.ref] = stored
    raw = {**raw, "status": status.body["status"]}
    again = decide(Shop.from_json(raw), children)
    raw = {**raw, "status": {**raw["status"], **(again[-1].body["status"] if again else {})}}
    assert decide(Shop.from_json(raw), children) == [], "it did not come to rest"
    return raw, children


def microseconds(act: Callable[[], Any], *, rounds: int = 9, repeat: int = 500) -> float:
    """Return the CPU time of one call: the best of several rounds, as the machine is shared."""
    taken: list[float] = []
    gc.collect()
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(repeat):
            act()
        taken.append((time.process_time() - started) / repeat * 1e6)
    return min(taken)


def import_milliseconds(statement: str, runs: int = 10) -> float:
    """Return the median CPU time of an import in a new interpreter, beyond that of an empty one."""
    program = (
        "import time; began = time.process_time()\n"
        f"{statement}\n"
        "print((time.process_time() - began) * 1000)"
    )
    command = [sys.executable, "-c", program]
    with TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        taken = [float(subprocess.check_output(command, env=environment)) for _ in range(runs + 1)]
    return statistics.median(taken[1:])  # the first run compiles bytecode


def main() -> int:
    """Measure, print the table, and check the limits."""
    raw, children = converged()
    shop = Shop.from_json(raw)
    text = orjson.dumps(raw)
    decision = microseconds(lambda: decide(shop, children))
    rows = [
        ("one no-op decision, typed object in", decision, DECISION_MICROSECONDS_MAX, "µs"),
        ("JSON text to typed object", microseconds(lambda: Shop.from_json(orjson.loads(text))), None, "µs"),
        ("for comparison: json.loads of it", microseconds(lambda: json.loads(text)), None, "µs"),
        ("import myrmidon", import_milliseconds("import myrmidon"), IMPORT_MILLISECONDS_MAX, "ms"),
        ("import of all that a controller needs", import_milliseconds(NEEDED), IMPORT_MILLISECONDS_MAX, "ms"),
        ("of that: import of pydantic", import_milliseconds("import pydantic.main, pydantic.fields"), None, "ms"),
    ]  # fmt: skip
    print("| what | CPU time | limit |\n| --- | ---: | ---: |")
    for what, taken, limit, unit in rows:
        print(f"| {what} | {taken:.0f} {unit} | {f'{limit} {unit}' if limit else ''} |")
    return int(any(limit is not None and taken > limit for _, taken, limit, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
