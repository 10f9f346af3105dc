"""The applicator's memory of past decisions saves comparisons and changes no result."""

from datetime import timedelta
from unittest.mock import Mock

import pytest

from myrmidon.api.objects import kinds
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, config_map, thing

MINUTES = timedelta(minutes=10)


def child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child."""
    out.apply(config_map("child", it.spec.value))
    return Done()


def test_the_same_output_and_object_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass over a converged object compares nothing that an earlier pass has compared."""
    with Harness(Things(child, sync_period=timedelta(minutes=1))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.advance(MINUTES)
        applicator = cluster.manager.loops[0].reconciler._deps.applicator
        decide = Mock(wraps=applicator._decide)
        monkeypatch.setattr(applicator, "_decide", decide)
        cluster.advance(MINUTES)
        decide.assert_not_called()


def test_another_output_object_or_parent_is_compared_again() -> None:
    """W1: a new declaration, a changed object and another parent are each noticed."""
    with Harness(Things(child)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"metadata": {"labels": {"pass": "again"}}})
        cluster.settle()
        cluster.patch(kinds.CONFIG_MAP, "child", {"data": {"value": "x"}})
        cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "child")["data"] == {"value": "a"}
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "child")["data"] == {"value": "b"}
        cluster.patch(Thing, "it", {"spec": {"value": "a"}})
        cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "child")["data"] == {"value": "a"}
        cluster.patch(Thing, "it", {"metadata": {"labels": {"pass": "once-more"}}})
        cluster.settle()
        cluster.apply(thing("rival"))
        cluster.advance(timedelta(seconds=1))
        condition = cluster.condition(Thing, "rival", "First")
        assert condition is not None
        assert condition.reason == "AlreadyOwned"
