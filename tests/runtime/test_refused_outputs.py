"""O2, R1: a parent whose output is refused because another object has the name waits for that object.

The deletion of that object is what the parent waits for, so it causes a pass at once; the backoff
of the refusals, which grows to five minutes, is not waited for.
"""

from datetime import timedelta
from typing import Any

import pytest

from myrmidon.api import kinds
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Act, Thing, Things, config_map, thing

MAP = kinds.CONFIG_MAP
WAYS: dict[str, dict[str, Any]] = {
    "merge": {},
    "update": {"as_update": True},
    "server-side": {"server_side": True, "force": True},
    "create-only": {"create_only": True},
}


def applying(**options: Any) -> Act:
    """A state that applies one ConfigMap."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(config_map("child", it.spec.value), **options)
        return Done()

    return act


def refused(cluster: Harness, reason: str) -> None:
    """Let refusals go on until the backoff is long."""
    cluster.advance(timedelta(minutes=20))
    found = cluster.condition(Thing, "it", "First")
    assert found is not None
    assert (found.status, found.reason) == ("False", reason)


def converges_at_once(cluster: Harness) -> None:
    """Check that the parent is Ready without any time having passed."""
    began_at = cluster.loop.time()
    cluster.step()
    assert cluster.loop.time() == began_at
    assert cluster.ready(Thing, "it")
    assert cluster.get(MAP, "child")["data"] == {"value": "b"}


@pytest.mark.parametrize("way", WAYS)
def test_r1_a_successor_gets_a_pass_when_the_child_of_its_predecessor_is_deleted(way: str) -> None:
    """The garbage collector is late: the child with the uid of the dead parent is still there."""
    with Harness(Things(applying(**WAYS[way])), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(MAP, "child") is not None
        cluster.apply(thing(value="b"))
        refused(cluster, "AlreadyOwned")

        cluster.delete(MAP, "child")
        converges_at_once(cluster)
