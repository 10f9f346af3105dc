"""A3 without a server: what kube-apiserver v1.36.4 made of one object of every kind.

The answers were recorded by ``python -m tests.cluster.test_planning DIR``; the same test runs
against the server itself in tests/cluster.
"""

import pytest

from myrmidon.errors import InvalidError
from myrmidon.sets import plan, plan_recreate
from tests.sets.outputs import apply, manifest
from tests.sets.samples import PARENT, outputs, recorded

ANSWERS = recorded()


@pytest.mark.parametrize("way", ["merge", "update"])
@pytest.mark.parametrize("index", range(len(ANSWERS)), ids=lambda i: f"{ANSWERS[i]['kind']}-{i}")
def test_a3_a_restart_on_converged_objects_costs_no_write(index: int, way: str) -> None:
    """Whatever the server adds: defaults, shorter quantities, admission."""
    output = outputs("default", as_update=way == "update")[index]

    assert plan(output, ANSWERS[index], PARENT) is None


@pytest.mark.parametrize(
    "message",
    [
        "spec.selector: Invalid value: {}: field is immutable",
        "spec: Forbidden: spec is immutable after creation except resources.requests",
        "spec.clusterIPs[0]: Invalid value: may not change once set",
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
        "roleRef: Invalid value: cannot change roleRef",
        "value: Forbidden: may not be changed in an update.",
    ],
)
def test_recreate_knows_the_words_of_a_refusal(message: str) -> None:
    """In the message or in a cause; a refusal of another sort stays one."""
    there = manifest({}, uid="u")
    recreated = apply(manifest({}), recreate=True)
    refusal = InvalidError(422, "Invalid", message)
    caused = InvalidError(422, "Invalid", "", details={"causes": [{"message": message}]})
    other = InvalidError(422, "Invalid", "spec.replicas: Invalid value: -1")

    for said in (refusal, caused):
        request = plan_recreate(recreated, there, said)
        assert request is not None
        assert request.body["preconditions"] == {"uid": "u"}
        assert plan_recreate(apply(manifest({})), there, said) is None
    assert plan_recreate(recreated, there, other) is None
