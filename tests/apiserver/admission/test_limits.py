"""ResourceQuotas and LimitRanges: recorded answers of kube-apiserver, and what recordings cannot show."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.apiserver.actors import ResourceQuotas
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.server import ApiServer
from tests.apiserver.admission.limit_scenarios import SCENARIOS, Json, play

RECORDED = json.loads((Path(__file__).parent / "recorded_limits.json").read_text())
MERGE = "application/merge-patch+json"


class Embedded:
    """An embedded server with the quota controller, as a partner of a scenario."""

    def __init__(self, namespace: str) -> None:
        self.server, self.namespace = ApiServer(actors=[ResourceQuotas()]), namespace
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})

    def ask(self, method: str, path: str, body: Any) -> tuple[int, Json]:
        """Answer a request, then run the quota controller."""
        path, _, query = path.partition("?")
        kind = MERGE if method == "PATCH" else "application/json"
        pairs = tuple(tuple(each.split("=", 1)) for each in query.split("&") if each)
        answer = self.server.request(method, path, body, content_type=kind, query=pairs)  # type: ignore[arg-type]
        self.server.settle()
        return answer.status, go_json.decode(answer.body)

    def quotas(self) -> list[Json]:
        """Return the quotas of the namespace."""
        path = f"/api/v1/namespaces/{self.namespace}/resourcequotas"
        return list(self.ask("GET", path, None)[1]["items"])


def played(scenario: str, namespace: str = "team") -> list[Json]:
    """Run a scenario on an embedded server."""
    embedded = Embedded(namespace)
    return play(embedded.ask, embedded.quotas, namespace, SCENARIOS[scenario])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_recorded_scenario(scenario: str) -> None:
    """Each step is answered as kube-apiserver did, and the quotas count as much."""
    for step, ours, theirs in zip(
        SCENARIOS[scenario], played(scenario), RECORDED[scenario], strict=True
    ):
        assert ours == theirs, step


# --------------------------------------------------------------- what recordings cannot show

CONFIG = "/api/v1/namespaces/team/configmaps"
QUOTAS = "/api/v1/namespaces/team/resourcequotas"


def limited(hard: Json) -> Embedded:
    """Return a server whose namespace has a quota."""
    embedded = Embedded("team")
    assert (
        embedded.ask("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard}})[0] == 201
    )
    return embedded


def used(embedded: Embedded) -> Json:
    """Return what is used of the quota."""
    return dict(embedded.quotas()[0]["status"]["used"])


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(("POST", "DELETE")), st.integers(0, 5), st.booleans())))
def test_used_is_never_more_than_hard(moves: list[tuple[str, int, bool]]) -> None:
    """Whether or not the quota controller runs between two writes; when it has run, used is exact."""
    embedded = limited({"configmaps": "3"})
    for method, number, settles in moves:
        body = {"metadata": {"name": f"c{number}"}} if method == "POST" else None
        path = CONFIG if method == "POST" else f"{CONFIG}/c{number}"
        embedded.server.request(method, path, body)
        if settles:
            embedded.server.settle()
        quota = embedded.server.store.get("resourcequotas", "team/q")
        stored = embedded.server.store.count("configmaps")
        assert quota is not None
        assert stored <= int(quota.value["status"]["used"]["configmaps"]) <= 3
    embedded.server.settle()
    assert used(embedded) == {"configmaps": str(embedded.server.store.count("configmaps"))}


def test_a_refused_create_is_not_charged() -> None:
    """An object that exists, and a dry run: the quota is not written."""
    embedded = limited({"configmaps": "3"})
    embedded.ask("POST", CONFIG, {"metadata": {"name": "a"}})
    before = embedded.quotas()
    assert embedded.ask("POST", CONFIG, {"metadata": {"name": "a"}})[0] == 409
    assert embedded.ask("POST", f"{CONFIG}?dryRun=All", {"metadata": {"name": "b"}})[0] == 201
    assert embedded.quotas() == before


def test_a_charge_is_written_by_the_server() -> None:
    """The managed fields name the controller for what it counted, and the server for its charge."""
    embedded = limited({"configmaps": "3", "secrets": "1"})
    embedded.ask("POST", CONFIG, {"metadata": {"name": "a"}})
    entries = embedded.quotas()[0]["metadata"]["managedFields"]
    owners = {entry["manager"]: entry for entry in entries if entry.get("subresource") == "status"}
    assert owners.keys() == {"kube-controller-manager", "kube-apiserver"}
    charged = owners["kube-apiserver"]["fieldsV1"]
    assert charged == {"f:status": {"f:used": {"f:configmaps": {}}}}


def test_a_server_without_the_controller_limits_nothing() -> None:
    """As a kube-apiserver without kube-controller-manager: the status is empty."""
    server = ApiServer()
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "0"}}}
    server.request("POST", "/api/v1/namespaces/default/resourcequotas", quota)
    path = "/api/v1/namespaces/default/configmaps"
    assert server.request("POST", path, {"metadata": {"name": "a"}}).status == 201


def test_a_quota_of_a_custom_resource() -> None:
    """``count/widgets.example.com`` is counted once the definition is served."""
    embedded = limited({"count/widgets.example.com": "1"})
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert embedded.ask("POST", path, definition)[0] == 201
    widgets = "/apis/example.com/v1/namespaces/team/widgets"
    manifest = {"apiVersion": "example.com/v1", "kind": "Widget"}
    for name, code in (("a", 201), ("b", 403)):
        assert embedded.ask("POST", widgets, {**manifest, "metadata": {"name": name}})[0] == code
    assert used(embedded) == {"count/widgets.example.com": "1"}


def test_a_quota_of_another_server_does_not_answer() -> None:
    """The memory of answers is shared by all servers, so quotas and limits count as inputs."""
    free, full = Embedded("team"), limited({"pods": "0"})
    body = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    path = "/api/v1/namespaces/team/pods"
    codes = [each.ask("POST", path, body)[0] for each in (free, full, Embedded("team"))]
    assert codes == [201, 403, 201]
