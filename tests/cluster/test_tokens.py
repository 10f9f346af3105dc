"""Tokens of service accounts: the same answers from the embedded server and the real one."""

from collections.abc import Iterator
from typing import Any

import pytest

from myrmidon.apiserver.server import ApiServer
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.twins import Answer, Ask, Twins

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
TOKENS = f"{ACCOUNTS}/bot/token"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
POD = {
    "metadata": {"name": "runner"},
    "spec": {"serviceAccountName": "bot", "containers": [{"name": "c", "image": "i"}]},
}


@pytest.fixture
def twins(controlplane: ControlPlane) -> Iterator[Twins]:
    """Both servers, with an account and a Pod that runs as it."""
    both = Twins(controlplane, ApiServer())
    both.ask(Ask("POST", ACCOUNTS, {"metadata": {"name": "bot"}}))
    both.ask(Ask("POST", "/api/v1/namespaces/default/pods", POD))
    yield both
    for path in ("/api/v1/namespaces/default/pods/runner?gracePeriodSeconds=0", f"{ACCOUNTS}/bot"):
        controlplane.client().delete(path)


def told(answer: Answer) -> Any:
    """An answer without the token, its id and the owners of its fields."""
    body = answer.body
    if answer.status != 201:
        return answer.status, body
    body["metadata"].pop("managedFields", None)
    body["metadata"].pop("uid", None)
    body["metadata"].pop("creationTimestamp", None)
    body["spec"].pop("token", None)
    status = body["status"]
    for unstable in ("token", "expirationTimestamp"):
        status.pop(unstable, None)
    user = status.get("user", {})
    user.pop("uid", None)
    user["extra"] = sorted(user.get("extra", {}))
    return answer.status, body


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"spec": {"audiences": ["a", "b"], "expirationSeconds": 700}},
        {"spec": {"expirationSeconds": 1}},
        {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "runner"}}},
        {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "nope"}}},
        {"spec": {"boundObjectRef": {"kind": "Pod", "name": "runner", "uid": "wrong"}}},
        {"spec": {"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "nope"}}},
        {"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}}},
        {"metadata": {"name": "other"}},
        {"metadata": {"namespace": "other"}},
    ],
    ids=str,
)
def test_a_token_request(twins: Twins, body: dict[str, Any]) -> None:
    """Answers and refusals, and what a review says about the token."""
    theirs, ours, _ = twins.ask(Ask("POST", TOKENS, body))
    tokens = [answer.body.get("status", {}) for answer in (theirs, ours)]
    reviews = [
        told(answer)
        for audiences in ([], ["b", "c"])
        if theirs.status == ours.status == 201
        for answer in twins.ask(
            *(
                Ask("POST", REVIEWS, {"spec": {"token": each["token"], "audiences": audiences}})
                for each in tokens
            )
        )[:2]
    ]

    assert told(ours) == told(theirs)
    assert reviews[::2] == reviews[1::2]
