"""The benchmark decides what it claims to measure; its speed is not tested."""

from benchmarks.core import Shop, converged, decide


def test_a2_a_pass_over_a_converged_object_sends_no_request() -> None:
    """Three children and a status, all converged; a change costs only the changed object."""
    raw, children = converged()

    assert decide(Shop.from_json(raw), children) == []
    changed = {**raw, "spec": {**raw["spec"], "replicas": 5}}
    assert [str(request) for request in decide(Shop.from_json(changed), children)] == [
        "patch Deployment.apps default/shop"
    ]
