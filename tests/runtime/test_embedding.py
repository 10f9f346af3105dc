"""A manager is an object: several of them can run in one event loop, beside other code."""

import json
import logging
from datetime import timedelta

from prometheus_client import REGISTRY

from myrmidon.api.objects import kinds
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.generate import crd
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, config_map, thing

PASSES = "controller_runtime_reconcile_total"


def child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child."""
    out.apply(config_map(it.name, it.spec.value))
    return Done()


def passes(manager: Manager) -> float | None:
    """How many passes of this manager have succeeded."""
    labels = {"controller": "thing", "result": "success"}
    return manager.metrics.registry.get_sample_value(PASSES, labels)


def test_two_managers_in_one_event_loop_share_nothing() -> None:
    """Each has its own server, caches and metrics; the global registry and logs stay as they are."""
    handlers, registered = list(logging.root.handlers), list(REGISTRY.collect())
    path = "/apis/test.myrmidon.dev/v1/namespaces/default/things"
    with Harness(Things(child)) as cluster:
        other = ApiServer()
        assert not other.create(crd(Thing))
        for name in ("a", "b"):
            assert other.request("POST", path, thing(name).to_json()).status == 201
        second = Manager(
            ManagerOptions(seed=1), transport=LocalTransport(other), clock=cluster.clock
        )
        second.add(Things(child))
        task = cluster.loop.create_task(second.run())
        cluster.apply(thing("it"))
        cluster.advance(timedelta(minutes=1))
        second.stop()
        cluster.loop.run_until_complete(task)

        assert cluster.ready(Thing, "it")
        assert [one["metadata"]["name"] for one in cluster.list(kinds.CONFIG_MAP)] == ["it"]
        listed = other.request("GET", "/api/v1/namespaces/default/configmaps")
        assert [one["metadata"]["name"] for one in json.loads(listed.body)["items"]] == ["a", "b"]
        assert (passes(cluster.manager), passes(second)) == (1, 2)
    assert logging.root.handlers == handlers
    assert [one.name for one in REGISTRY.collect()] == [one.name for one in registered]
