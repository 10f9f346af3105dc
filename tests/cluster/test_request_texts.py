"""Single requests whose answers both servers must give with the same status and the same text."""

from typing import Any

import pytest

from myrmidon.apiserver.server import ApiServer
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.twins import Answer, Ask, Twins

NAMESPACE = "/api/v1/namespaces/{namespace}"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
PARENT = {"resource": "services", "name": "x", "namespace": "default", "group": ""}
DRY = (("dryRun", "All"),)
REQUESTS = [
    *(
        Ask(
            "POST",
            f"{NAMESPACE}/configmaps",
            {"metadata": {"name": f"v-{version}", "resourceVersion": version}},
            query=query,
        )
        for version in ("0", "7", "abc")
        for query in ((), DRY)
    ),
    *(
        Ask(
            "POST",
            ADDRESSES,
            {"metadata": {"name": name}, "spec": {"parentRef": PARENT}},
            query=DRY,
        )
        for name in ("10.9.0.200", "2001:db8::1", "2001:DB8::1", "::ffff:1.2.3.4", "web")
    ),
    Ask("GET", f"{NAMESPACE}/configmaps", query=(("timeout", "invalid"),)),
    Ask("POST", f"{NAMESPACE}/pods/nope/eviction", {"metadata": {"name": "nope"}}),
]


@pytest.mark.parametrize("asked", REQUESTS, ids=str)
def test_a_request(controlplane: ControlPlane, namespace: str, asked: Ask) -> None:
    """The status is the same, and the message of a failure."""
    embedded = ApiServer()
    embedded.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    placed = asked._replace(path=asked.path.format(namespace=namespace))
    theirs, ours, _ = Twins(controlplane, embedded).ask(placed)
    assert _said(ours) == _said(theirs)


def _said(answer: Answer) -> tuple[int, Any, list[str]]:
    body = answer.body if isinstance(answer.body, dict) else {}
    return answer.status, body.get("message"), answer.warnings
