"""Logs, exec and port-forward: no containers run behind the server, and its errors say so."""

from typing import Any

import pytest

from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.server import ApiServer

PODS = "/api/v1/namespaces/default/pods"
NOTHING = "no containers run behind this API server"


def pod(*containers: str) -> dict[str, Any]:
    """A pod of some containers."""
    listed = [{"name": name, "image": "example.com/a"} for name in containers]
    return {"metadata": {"name": "web"}, "spec": {"containers": listed}}


@pytest.fixture
def server() -> ApiServer:
    """Return a server with a pending pod."""
    server = ApiServer()
    server.request("POST", PODS, pod("main"))
    return server


def run(server: ApiServer) -> None:
    """Mark the pod as running, as stand-ins for kubelets do."""
    status = {"status": {"phase": "Running"}}
    merge = "application/merge-patch+json"
    server.request("PATCH", f"{PODS}/web/status", status, content_type=merge)


def ask(
    server: ApiServer, path: str, method: str = "GET", query: tuple[tuple[str, str], ...] = ()
) -> tuple[int, str]:
    """Return the status code and the message, or the whole text."""
    answer = server.request(method, f"{PODS}/{path}", query=query)
    if answer.body.startswith(b"{"):
        return answer.status, str(go_json.decode(answer.body)["message"])
    return answer.status, answer.body.decode()


def test_the_log_of_a_pending_pod_is_empty(server: ApiServer) -> None:
    """As on the real server; a missing pod is a 404."""
    assert ask(server, "web/log") == (200, "")
    assert ask(server, "nope/log") == (404, 'pods "nope" not found')


def test_the_log_of_a_running_pod_is_refused(server: ApiServer) -> None:
    """An empty log would look as if the program had printed nothing."""
    run(server)
    assert ask(server, "web/log") == (501, f"pod web has no logs: {NOTHING}")


@pytest.mark.parametrize("way", ["exec", "attach", "portforward"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_exec_attach_and_port_forward_are_refused(server: ApiServer, way: str, method: str) -> None:
    """Without a node with a 400, in the words of the real server; otherwise with a 501."""
    assert ask(server, f"web/{way}", method) == (400, "pod web does not have a host assigned")
    run(server)
    assert ask(server, f"web/{way}", method) == (
        501,
        f"{way} of pod web is not possible: {NOTHING}",
    )


def test_there_is_no_target_for_proxied_requests(server: ApiServer) -> None:
    """The error names an existing object; a missing one is not found."""
    assert ask(server, "web/proxy/healthz") == (501, f"Pod web cannot be reached: {NOTHING}")
    assert ask(server, "nope/proxy/healthz")[0] == 404


def test_one_of_several_containers_has_to_be_named(server: ApiServer) -> None:
    """It has to exist."""
    server.request("DELETE", f"{PODS}/web")
    server.request("POST", PODS, pod("main", "side"))
    several = "a container name must be specified for pod web, choose one of: [main side]"
    assert ask(server, "web/log") == (400, several)
    assert ask(server, "web/log", query=(("container", "side"),)) == (200, "")
    unknown = "container nope is not valid for pod web"
    assert ask(server, "web/log", query=(("container", "nope"),)) == (400, unknown)


def test_ephemeral_containers_have_their_own_path(server: ApiServer) -> None:
    """Nothing else changes through it, and existing ephemeral containers cannot be changed."""
    path, merge = f"{PODS}/web/ephemeralcontainers", "application/merge-patch+json"

    def patched(*containers: Any) -> Any:
        spec = {"ephemeralContainers": list(containers), "priority": 7}
        change = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
        answer = server.request("PATCH", path, change, content_type=merge)
        return go_json.decode(answer.body)

    first, second = {"name": "one", "image": "i"}, {"name": "two", "image": "i"}
    added = patched(first, second)
    assert [each["name"] for each in added["spec"]["ephemeralContainers"]] == ["one", "two"]
    assert added["metadata"]["generation"] == 2
    assert (added["spec"]["priority"], added["metadata"].get("labels")) == (0, None)
    assert 'existing ephemeral containers "two" may not be removed' in patched(first)["message"]
    changed = patched(first, {**second, "image": "other"})["message"]
    assert 'existing ephemeral containers "two" may not be changed' in changed
    assert "ephemeralContainers[2].name: Duplicate" in patched(first, second, first)["message"]
    assert (
        "cannot be set" in patched(first, second, {**first, "name": "x", "ports": [{}]})["message"]
    )


def test_a_body_that_does_not_fit_is_refused(server: ApiServer) -> None:
    """Bindings, evictions and token requests are decoded as strictly as objects."""
    for path, body in (
        ("pods/web/binding", {"metadata": {"name": "web"}, "target": "x"}),
        ("pods/web/eviction", {"metadata": {"name": "web"}, "deleteOptions": 5}),
        ("pods/web/eviction", {"metadata": {"name": "other"}}),
        ("serviceaccounts/x/token", {"spec": {"expirationSeconds": "1h"}}),
    ):
        assert server.request("POST", f"/api/v1/namespaces/default/{path}", body).status == 400
