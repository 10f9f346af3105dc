"""A3 without a server: what kube-apiserver v1.36.4 made of one object of every kind.

The answers were recorded by ``python -m tests.cluster.test_planning DIR``; the same test runs
against the server itself in tests/cluster.
"""

import pytest

from myrmidon.sets import plan
from tests.sets.samples import PARENT, outputs, recorded

ANSWERS = recorded()


@pytest.mark.parametrize("way", ["merge", "update"])
@pytest.mark.parametrize("index", range(len(ANSWERS)), ids=lambda i: f"{ANSWERS[i]['kind']}-{i}")
def test_a3_a_restart_on_converged_objects_costs_no_write(index: int, way: str) -> None:
    """Whatever the server adds: defaults, normalized quantities, fields from admission."""
    output = outputs("default", as_update=way == "update")[index]

    assert plan(output, ANSWERS[index], PARENT) is None
