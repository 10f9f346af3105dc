"""For every kind of output, any write may lose its response or be the last of its process."""

from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import labels_of, owners_of
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, Lose
from tests.runtime.reconcile.test_edits import INGRESS, SERVICE, Deploying, deployment
from tests.runtime.things import Thing, config_map, thing

MAP = kinds.CONFIG_MAP
WRITES = 9


def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Use every kind of output; for another size fewer are declared, and a child is released."""
    whole = it.spec.size == 1
    data = {"a": "1", "b": "1"} if whole else {"a": "1"}
    out.apply({**config_map("child"), "data": data}, remove_undeclared=True)
    out.apply(SERVICE)
    out.apply({**SERVICE, "status": INGRESS}, subresource="status")
    out.scale(kinds.DEPLOYMENT, "theirs", replicas=4)
    operations = [{"op": "replace", "path": "/data/value", "value": "z"}]
    out.patch(MAP, "patched", operations, type="json")
    out.label_self({"tier": "gold"})
    if whole:
        out.apply(config_map("later"))
    else:
        out.release(MAP, "later")
        out.delete_all(kinds.SECRET, adopt=True)
    return Done()


@pytest.mark.parametrize("crash", [False, True], ids=["lost", "crashed"])
@pytest.mark.parametrize("change", [False, True], ids=["new", "changed"])
@pytest.mark.parametrize("number", range(WRITES))
def test_a9_any_write_may_lose_its_response(number: int, change: bool, crash: bool) -> None:
    """The final state is the same, and the object converges."""
    count, armed = iter(range(1000)), [not change]

    def fault(request: Any) -> Any:
        if request.method == "GET" or not armed[0] or next(count) != number:
            return None
        if crash:
            cluster.crash()
        return Lose()

    with Harness(Deploying(act), actors=(), faults=fault) as cluster:
        for obj in (deployment(), config_map("patched"), thing()):
            cluster.apply(obj)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "loose"}}
        cluster.apply(secret)
        cluster.settle()
        armed[0] = True
        if cluster.crashed:
            cluster.restart()
            cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"size": 2}})
        cluster.settle()
        if cluster.crashed:
            cluster.restart()
        cluster.settle()

        assert cluster.ready(Thing, "it")
        assert cluster.require(MAP, "child")["data"] == {"a": "1"}
        assert (
            cluster.require(kinds.SERVICE, "child")["status"]["loadBalancer"]
            == INGRESS["loadBalancer"]
        )
        assert cluster.require(kinds.DEPLOYMENT, "theirs")["spec"]["replicas"] == 4
        assert cluster.require(MAP, "patched")["data"] == {"value": "z"}
        assert not owners_of(cluster.require(MAP, "patched"))
        assert cluster.require(Thing, "it").metadata["labels"] == {"tier": "gold"}
        assert not owners_of(cluster.require(MAP, "later"))
        assert not labels_of(cluster.require(MAP, "later"))
        assert cluster.get(kinds.SECRET, "loose") is None
        cluster.at_rest()
