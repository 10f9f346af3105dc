"""Evictions under a PodDisruptionBudget: the answers and the status that a real control plane gave."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.apiserver.actors import DisruptionBudgets
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.server import ApiServer

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
MERGE = "application/merge-patch+json"
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


class Budgeted:
    """A server with pods and a budget for them."""

    def __init__(self, pods: int, actors: Any = None, **spec: Any) -> None:
        self.server = ApiServer(actors=[DisruptionBudgets()] if actors is None else actors)
        for number in range(pods):
            self.pod(f"p{number}", READY)
        self.budget("x", **spec)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request."""
        kind = MERGE if method == "PATCH" else "application/json"
        answer = self.server.request(method, path, body, content_type=kind)
        self.server.settle()
        return answer.status, go_json.decode(answer.body)

    def pod(self, name: str, status: Any = None, **metadata: Any) -> None:
        """Create a pod that the budget selects."""
        meta = {"name": name, "labels": {"a": "b"}, **metadata}
        spec = {"containers": [{"name": "c", "image": "i"}]}
        assert self.ask("POST", PODS, {"metadata": meta, "spec": spec})[0] == 201
        if status:
            self.ask("PATCH", f"{PODS}/{name}/status", {"status": status})

    def budget(self, name: str, **spec: Any) -> None:
        """Create a budget."""
        selector = {"matchLabels": {"a": "b"}}
        body = {"metadata": {"name": name}, "spec": {"selector": selector, **spec}}
        assert self.ask("POST", BUDGETS, body)[0] == 201

    def status(self) -> Any:
        """Return the numbers of the budget's status."""
        found = self.ask("GET", f"{BUDGETS}/x")[1]["status"]
        [condition] = found.pop("conditions")
        return found, (condition["status"], condition["reason"], condition["observedGeneration"])

    def evict(self, name: str, **more: Any) -> tuple[int, Any]:
        """Evict a pod."""
        return self.ask("POST", f"{PODS}/{name}/eviction", {"metadata": {"name": name}, **more})


def counts(allowed: int, healthy: int, desired: int, expected: int, generation: int = 1) -> Any:
    """Build the numbers of a status."""
    return {
        "observedGeneration": generation,
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
    }


def test_a_budget_without_disruptions_left() -> None:
    """A running pod is refused with the numbers; one that never ran goes at once."""
    server = Budgeted(2, minAvailable=2)
    server.pod("pending")
    assert server.status() == (counts(0, 2, 2, 3), ("False", "InsufficientPods", 1))
    code, said = server.evict("p0")
    assert code == 429
    assert said["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert said["reason"] == "TooManyRequests"
    cause = "The disruption budget x needs 2 healthy pods and has 2 currently"
    assert said["details"] == {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    assert server.evict("pending")[0] == 201
    assert server.status()[0] == counts(0, 2, 2, 2)


def test_a_percentage_counts_what_controllers_want() -> None:
    """Pods without a controller count as none, so nothing may be evicted."""
    server = Budgeted(2, minAvailable="50%")
    assert server.status()[0] == counts(0, 2, 0, 0)
    cause = server.evict("p0")[1]["details"]["causes"][0]["message"]
    assert cause == "The disruption budget x does not allow evicting pods currently"


def test_max_unavailable_counts_pods_that_are_missing() -> None:
    """A ReplicaSet that wants 4 and has 3 ready pods: one of two disruptions is left."""
    server = Budgeted(0, maxUnavailable=2)
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 4, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    path = "/apis/apps/v1/namespaces/default/replicasets"
    uid = server.ask("POST", path, {"metadata": {"name": "r"}, "spec": spec})[1]["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": uid}
    for number in range(3):
        server.pod(f"r-{number}", READY, ownerReferences=[{**owner, "controller": True}])
    assert server.status() == (counts(1, 3, 2, 4), ("True", "SufficientPods", 1))


def test_a_budget_that_was_not_looked_at_yet() -> None:
    """Without its status the server asks to come again in ten seconds."""
    server = Budgeted(1, actors=[], minAvailable=0)
    code, said = server.evict("p0")
    assert (code, said["details"]["retryAfterSeconds"]) == (429, 10)
    cause = "The disruption budget x is still being processed by the server."
    assert said["details"]["causes"] == [{"reason": "DisruptionBudget", "message": cause}]


def test_two_budgets() -> None:
    """An eviction does not support several budgets of one pod."""
    server = Budgeted(1, minAvailable=0)
    server.budget("y", minAvailable=0)
    code, said = server.evict("p0")
    text = (
        "This pod has more than one PodDisruptionBudget, "
        "which the eviction subresource does not support."
    )
    assert (code, said["message"]) == (500, text)


def test_a_dry_run_takes_nothing() -> None:
    """Neither the pod nor the budget changes."""
    server = Budgeted(1, minAvailable=0)
    before = server.ask("GET", f"{BUDGETS}/x")
    assert server.evict("p0", deleteOptions={"dryRun": ["All"]})[0] == 201
    assert server.ask("GET", f"{PODS}/p0")[0] == 200
    assert server.ask("GET", f"{BUDGETS}/x") == before


def test_an_unhealthy_pod() -> None:
    """It goes if enough others are healthy, or if the budget always allows that."""
    server = Budgeted(1, minAvailable=1)
    server.pod("sick", {"phase": "Running"})
    assert server.evict("sick")[0] == 201
    server.pod("sick", {"phase": "Running"})
    server.ask("PATCH", f"{BUDGETS}/x", {"spec": {"minAvailable": 2}})
    assert server.evict("sick")[0] == 429
    server.ask("PATCH", f"{BUDGETS}/x", {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}})
    assert server.evict("sick")[0] == 201


@settings(max_examples=25)
@given(st.integers(0, 4), st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=6))
def test_evictions_leave_what_the_budget_demands(least: int, moves: list[tuple[int, bool]]) -> None:
    """Whether or not the disruption controller runs between two evictions."""
    server = Budgeted(4, minAvailable=least)
    for number, settles in moves:
        path, body = f"{PODS}/p{number}/eviction", {"metadata": {"name": f"p{number}"}}
        server.server.request("POST", path, body)
        if settles:
            server.server.settle()
        assert server.server.store.count("pods") >= least
