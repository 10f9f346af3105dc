"""Admission policies, compared with what a real server answered (``recorded.json``)."""

import json
from pathlib import Path
from typing import Any

import pytest

from myrmidon.apiserver.auth.users import User
from tests.apiserver.admission.policy_cases import (
    LIMITS,
    MUTATING,
    VALIDATING,
    apply,
    binding,
    config_map,
    configuration,
    patch,
    policy,
    recorded_asks,
    rule,
    steady,
)
from tests.apiserver.admission.questions import (
    CONFIG_MAPS,
    GROUP,
    Asking,
    allow,
    message,
    patching,
    warnings,
)
from tests.cluster.twins import Ask

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())
ADMIN = User("admin", ("system:masters", "system:authenticated"), "admin")


def send(asking: Asking, ask: Ask) -> Any:
    """Send a request, as the administrator of the recorded server."""
    return asking.send(
        ask.method, ask.path, ask.body, ask.content_type, query=ask.query, user=ADMIN
    )


def test_the_recorded_answers() -> None:
    """Writes that policies allow, refuse, warn about and change; policies that are refused."""
    asking = Asking()
    send(asking, Ask("POST", "/api/v1/namespaces", {"metadata": {"name": "adm"}}))
    send(asking, LIMITS)
    for kind, cases in (("Validating", VALIDATING), ("Mutating", MUTATING)):
        for ask in configuration(kind, cases):
            assert send(asking, ask).status == 201

    for title, ask in recorded_asks().items():
        answer = send(asking, ask)
        said = [value for name, value in answer.headers if name == "warning"]
        found = [answer.status, steady(json.loads(answer.body)), said]
        assert found == RECORDED[title], title


def install(asking: Asking, kind: str, title: str, spec: Any, **bound: Any) -> None:
    """Create a policy and its binding."""
    for ask in configuration(kind, {title: (spec, bound)}):
        made = send(asking, ask)
        assert made.status == 201, made.body


def test_a_policy_without_a_binding_does_nothing() -> None:
    """Nor does a binding whose policy does not exist."""
    asking = Asking()
    deny = policy("Validating", "deny", {"validations": [rule("false")]})
    send(asking, Ask("POST", f"{GROUP}/validatingadmissionpolicies", deny))
    other = binding("Validating", "other", {})
    send(asking, Ask("POST", f"{GROUP}/validatingadmissionpolicybindings", other))

    assert asking.create("x", metadata={"labels": {"policy": "deny"}}).status == 201


def test_policies_also_look_at_the_writes_of_actors() -> None:
    """A request that cannot wait for webhooks is validated all the same."""
    asking = Asking()
    install(asking, "Validating", "deny", {"validations": [rule("false", message="no")]})
    body = {"metadata": {"name": "x", "labels": {"policy": "deny"}}}

    refused = asking.server.request("POST", CONFIG_MAPS, body)

    assert refused.status == 422
    assert message(refused).endswith("denied request: no")


def test_a_policy_is_seen_as_soon_as_it_is_written() -> None:
    """A changed policy is compiled anew; answers from memory do not outlive it."""
    asking = Asking()
    labelled = {"labels": {"policy": "p"}}
    first = {"validations": [rule("object.metadata.name != 'b'")]}
    install(asking, "Validating", "p", first)
    assert [asking.create(name, metadata=labelled).status for name in "ab"] == [201, 422]

    path = f"{GROUP}/validatingadmissionpolicies/p.example.com"
    second = {"spec": {"validations": [rule("object.metadata.name != 'c'")]}}
    asking.send("PATCH", path, second, "application/merge-patch+json")

    assert [asking.create(name, metadata=labelled).status for name in "bc"] == [201, 422]
    asking.send("DELETE", path)
    assert asking.create("c", metadata=labelled).status == 201


@pytest.mark.parametrize("reinvoked", ["Never", "IfNeeded"])
def test_policies_are_reinvoked_after_webhooks(reinvoked: str) -> None:
    """A policy comes before webhooks; it sees their changes only if it asks for that."""
    asking = Asking()
    copy = "Object{data: {'copy': object.?data.?late.orValue('nothing')}}"
    spec = {"mutations": [apply(copy)], "reinvocationPolicy": reinvoked}
    install(asking, "Mutating", "p", spec)
    late = patching({"op": "add", "path": "/data/late", "value": "x"})
    asking.webhook("w", lambda _: late, mutating=True)

    made = json.loads(asking.create("a", metadata={"labels": {"policy": "p"}}).body)

    wanted = "x" if reinvoked == "IfNeeded" else "nothing"
    assert made["data"] == {"late": "x", "copy": wanted}
    assert len(asking.asked) == 1, "the webhook does not ask to be called again"


def test_validating_policies_see_what_webhooks_have_changed() -> None:
    """They are evaluated after all mutations, and before validating webhooks."""
    asking = Asking()
    install(asking, "Validating", "p", {"validations": [rule("!has(object.data)", message="data")]})
    asking.webhook(
        "m",
        lambda _: patching({"op": "add", "path": "/data", "value": {"k": "v"}}),
        mutating=True,
    )
    asking.webhook("v", allow)

    refused = asking.create("a", metadata={"labels": {"policy": "p"}})

    assert message(refused).endswith("denied request: data")
    assert [name for name, _ in asking.asked] == ["m.example.com"]


def test_params_in_the_namespace_of_the_object() -> None:
    """A paramRef without a namespace names an object beside the one that is written."""
    asking = Asking()
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [rule("false", messageExpression="string(params.data.text)")],
    }
    ref = {"name": "limits", "parameterNotFoundAction": "Deny"}
    install(asking, "Validating", "p", spec, paramRef=ref)
    for namespace in ("default", "kube-system"):
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        asking.send("POST", path, {"metadata": {"name": "limits"}, "data": {"text": namespace}})

    for namespace in ("default", "kube-system"):
        ask = config_map("p")._replace(path=f"/api/v1/namespaces/{namespace}/configmaps")
        assert message(send(asking, ask)).endswith(f"denied request: {namespace}")


def test_a_policy_for_deletes() -> None:
    """The object is null, and the old object is what is deleted."""
    asking = Asking()
    constraints = {
        "resourceRules": [
            {
                "operations": ["DELETE"],
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
            }
        ]
    }
    spec = {
        "matchConstraints": constraints,
        "validations": [
            rule("object == null && oldObject.metadata.name != 'b'", reason="Forbidden")
        ],
    }
    install(asking, "Validating", "p", spec)
    for name in "abc":
        asking.create(name, metadata={"labels": {"policy": "p"}})

    assert asking.send("DELETE", CONFIG_MAPS).status == 403
    assert asking.names() == ["b", "c"], "objects are deleted one after the other"


def test_a_budget_ends_expensive_policies() -> None:
    """An expression that costs too much fails, as on the real server."""
    asking = Asking()
    costly = "object.data.k.contains(object.data.k + 'y')"
    install(asking, "Validating", "p", {"validations": [rule(costly)]})

    labelled = {"labels": {"policy": "p"}}
    answer = asking.create("a", metadata=labelled, data={"k": "x" * 20_000})

    assert message(answer).endswith("operation cancelled: actual cost limit exceeded")


@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
def test_mutations_that_fail(failure_policy: str) -> None:
    """All errors are causes; with Ignore, the other mutations are applied."""
    asking = Asking()
    mutations = [
        apply("Object{data: {'x': object.spec.x}}"),
        patch("[JSONPatch{op: 'remove', path: '/nope'}]"),
        apply("Object{data: {'done': 'yes'}}"),
    ]
    install(asking, "Mutating", "p", {"mutations": mutations, "failurePolicy": failure_policy})

    answer = asking.create("a", metadata={"labels": {"policy": "p"}})

    body = json.loads(answer.body)
    if failure_policy == "Ignore":
        assert body["data"] == {"done": "yes"}
        return
    assert (answer.status, body["reason"]) == (403, "Invalid")
    assert len(body["details"]["causes"]) == 2
    assert body["message"] == body["details"]["causes"][0]["message"]


def test_warnings_of_several_bindings() -> None:
    """Each binding of a policy is evaluated by itself."""
    asking = Asking()
    spec = {"validations": [rule("false", message="careful")]}
    install(asking, "Validating", "p", spec, validationActions=["Warn"])
    second = binding("Validating", "p", {"validationActions": ["Warn", "Audit"]})
    second["metadata"]["name"] = "second"
    send(asking, Ask("POST", f"{GROUP}/validatingadmissionpolicybindings", second))

    answer = asking.create("a", metadata={"labels": {"policy": "p"}})

    assert [text.partition("with binding ")[2] for text in warnings(answer)] == [
        "'p-binding': careful",
        "'second': careful",
    ]
