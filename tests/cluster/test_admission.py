"""Webhooks: the same reviews, answers and error texts from the embedded server and the real one."""

import json
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.apiserver.admission.policy_cases import CONFIG_MAPS, MERGE, NAMESPACE, steady
from tests.cluster.admission_twins import AdmissionTwins, admission_twins, allow
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.twins import Ask

DEPLOYMENTS = "/apis/apps/v1/namespaces/adm/deployments"
APPLY = "application/apply-patch+yaml"
_TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


@pytest.fixture(scope="module")
def twins(
    controlplane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AdmissionTwins]:
    """Both servers, and a webhook that both can call."""
    with admission_twins(controlplane, tmp_path_factory.mktemp("webhook")) as both:
        yield both


@pytest.fixture(autouse=True)
def allowing(twins: AdmissionTwins) -> None:
    """Let the webhook allow everything, unless a test says otherwise."""
    twins.judge = allow


def config_map(name: str, **data: str) -> Ask:
    """Create a ConfigMap."""
    return Ask("POST", CONFIG_MAPS, {"metadata": {"name": name}, "data": data or {"k": "v"}})


def responding(**response: Any) -> Callable[[Any], Any]:
    """Return a webhook with a fixed response."""

    def judge(review: Any) -> Any:
        answer = allow(review)
        answer["response"] = {"uid": review["request"]["uid"], **response}
        return answer

    return judge


def patching(*operations: Any) -> Callable[[Any], Any]:
    """Return a webhook with a fixed patch."""
    patch = b64encode(json.dumps(operations).encode()).decode()
    return responding(allowed=True, patch=patch, patchType="JSONPatch")


def test_reviews_of_every_kind_of_write(twins: AdmissionTwins) -> None:
    """What a webhook is asked: objects, names, options, subresources, for every verb."""
    applied = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "new"},
        "data": {"k": "x"},
    }
    stale = {"preconditions": {"resourceVersion": "1"}}
    manager = ("fieldManager", "me")
    deployment = {
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE},
    }
    scale = {"metadata": {"name": "d", "namespace": "adm"}, "spec": {"replicas": 4}}
    pod = f"{NAMESPACE}/pods/p"
    both = (twins.webhook("Mutating"), twins.webhook("Validating"))
    with twins.configured(*both):
        differences = twins.differences(
            config_map("a"),
            Ask(
                "POST",
                CONFIG_MAPS,
                {"metadata": {"generateName": "g-"}},
                query=(manager, ("fieldValidation", "Strict")),
            ),
            Ask(
                "PUT",
                f"{CONFIG_MAPS}/a",
                {"metadata": {"name": "a"}, "data": {"k": "w"}},
                query=(("dryRun", "All"),),
            ),
            Ask("PATCH", f"{CONFIG_MAPS}/a", {"data": {"k": "x"}}, MERGE, (manager,)),
            Ask("PATCH", f"{CONFIG_MAPS}/new", applied, APPLY, (manager, ("force", "true"))),
            Ask("DELETE", f"{CONFIG_MAPS}/a", stale),
            Ask("DELETE", f"{CONFIG_MAPS}/a", {"propagationPolicy": "Background"}),
            Ask("DELETE", CONFIG_MAPS, query=(("labelSelector", "!x"),)),
            Ask("DELETE", f"{CONFIG_MAPS}/missing"),
            Ask("POST", DEPLOYMENTS, deployment),
            Ask("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}, MERGE),
            Ask("PUT", f"{DEPLOYMENTS}/d/scale", scale),
            Ask("PATCH", f"{DEPLOYMENTS}/d/status", {"status": {"replicas": 1}}, MERGE),
            Ask("PATCH", NAMESPACE, {"metadata": {"annotations": {"x": "y"}}}, MERGE),
        )
        pods = twins.both(
            Ask("POST", f"{NAMESPACE}/pods", {"metadata": {"name": "p"}, "spec": _TEMPLATE["spec"]})
        )
        assert [told.answer.status for told in pods] == [201, 201]
        for ask in (
            Ask("POST", f"{pod}/binding", {"metadata": {"name": "p"}, "target": {"name": "n1"}}),
            Ask("DELETE", pod),
            Ask("DELETE", pod),
            Ask("POST", f"{pod}/eviction", {"metadata": {"name": "p"}}),
        ):
            theirs, ours = twins.both(ask)
            for told in (theirs, ours):
                for review in told.reviews:
                    review["request"].pop("oldObject")  # the real server fills in more of a Pod
            differences += [
                f"{ask.method} {ask.path}: {one} is {other} here"
                for one, other in zip(
                    *(_described(told.reviews) for told in (theirs, ours)), strict=True
                )
                if one != other
            ]
    assert not differences, "\n".join(differences)


def _described(reviews: list[Any]) -> list[Any]:
    return [steady(review["request"]) for review in reviews]


DENIALS: dict[str, Callable[[Any], Any]] = {
    "deny": responding(allowed=False),
    "message": responding(allowed=False, status={"message": "no way"}),
    "reason": responding(allowed=False, status={"reason": "Gone", "code": 410}),
    "success": responding(allowed=False, status={"code": 200, "message": "x"}),
    "odd code": responding(allowed=False, status={"code": 700, "message": "x"}),
    "details": responding(
        allowed=False,
        status={
            "reason": "Invalid",
            "code": 422,
            "message": "m",
            "details": {
                "name": "n",
                "kind": "K",
                "group": "g",
                "causes": [{"field": "f", "reason": "r", "message": "x"}],
            },
        },
    ),
    "no response": lambda _: {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"},
    "wrong uid": lambda review: allow(review, uid="x"),
    "no uid": lambda review: allow(review, uid=""),
    "no kind": lambda review: {"response": allow(review)["response"]},
    "v1beta1": lambda review: {**allow(review), "apiVersion": "admission.k8s.io/v1beta1"},
    "another kind": lambda review: {**allow(review), "apiVersion": "v1", "kind": "Pod"},
    "no such kind": lambda review: {**allow(review), "kind": "Foo"},
    "patch": patching({"op": "add", "path": "/data/x", "value": "y"}),
    "patchType": responding(allowed=True, patchType="JSONPatch"),
    "text": lambda _: (200, b"hello"),
    "nothing": lambda _: (200, b""),
    "list": lambda _: (200, b"[]"),
    "null": lambda _: (200, b"null"),
    "number": responding(allowed=3),
    "wrong warnings": responding(allowed=True, warnings="x"),
    "201": lambda review: (201, json.dumps(allow(review)).encode()),
    "302": lambda _: (302, b"x"),
    "403": lambda _: (403, b"{}"),
    "404": lambda _: (404, b"not here"),
    "500": lambda _: (500, b"oops"),
    "Status": lambda _: (
        503,
        b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"busy","code":503}',
    ),
    "warnings": responding(allowed=True, warnings=["one", "one", "two", "", "a\nb", 'q"uote\\']),
    "warnings of a denial": responding(allowed=False, warnings=["one"]),
    "long warnings": responding(
        allowed=True, warnings=["x" * 3000, "y" * 2000, "z" * 300, *map(str, range(60))]
    ),
    "audit annotations": responding(allowed=True, auditAnnotations={"k": "v"}),
}


def test_replies_of_validating_webhooks(twins: AdmissionTwins) -> None:
    """Denials, malformed replies, statuses and warnings."""
    differences = []
    with twins.configured(twins.webhook("Validating")):
        for number, (title, judge) in enumerate(DENIALS.items()):
            twins.judge = judge
            found = twins.differences(config_map(f"v{number}"))
            differences += [f"{title}: {each}" for each in found]
    assert not differences, "\n".join(differences)


PATCHES: dict[str, Callable[[Any], Any]] = {
    "patch": patching({"op": "add", "path": "/data/x", "value": "y"}),
    "no type": responding(allowed=True, patch=b64encode(b"[]").decode()),
    "no patch": responding(allowed=True, patchType="JSONPatch"),
    "empty type": responding(allowed=True, patch=b64encode(b"[]").decode(), patchType=""),
    "empty": responding(allowed=True, patch=b64encode(b"[]").decode(), patchType="JSONPatch"),
    "another type": responding(
        allowed=True, patch=b64encode(b'[{"op":"test"}]').decode(), patchType="MergePatch"
    ),
    "map": responding(allowed=True, patch=b64encode(b"{}").decode(), patchType="JSONPatch"),
    "not base64": responding(allowed=True, patch="%%%", patchType="JSONPatch"),
    "test": patching({"op": "test", "path": "/data/k", "value": "y"}),
    "operation": patching({"op": "foo", "path": "/data/k", "value": "y"}),
    "unknown field": patching({"op": "add", "path": "/foo", "value": 3}),
    "wrong type": patching({"op": "add", "path": "/data/k", "value": 3}),
    "namespace": patching({"op": "add", "path": "/metadata/namespace", "value": "default"}),
    "invalid result": patching({"op": "add", "path": "/data/x~1 y", "value": "y"}),
}


def test_patches_of_mutating_webhooks(twins: AdmissionTwins) -> None:
    """Patches that fit, that do not fit, and that are none; a delete cannot be patched."""
    differences = []
    with twins.configured(twins.webhook("Mutating")):
        for number, (title, judge) in enumerate(PATCHES.items()):
            twins.judge = judge
            found = twins.differences(config_map(f"m{number}"))
            differences += [f"{title}: {each}" for each in found]
        twins.judge = PATCHES["patch"]
        differences += twins.differences(Ask("DELETE", f"{CONFIG_MAPS}/m0"))
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("policy", ["Never", "IfNeeded"])
def test_reinvocation(twins: AdmissionTwins, policy: str) -> None:
    """The first webhook is asked again after the second has changed the object, if it wants that."""

    def judge(review: Any) -> Any:
        data = review["request"]["object"]["data"]
        count = str(len(data))
        if len(data) < 3:
            operation = {"op": "add", "path": f"/data/k{count}", "value": count}
            return patching(operation)(review)
        return allow(review)

    twins.judge = judge
    first = twins.webhook("Mutating", "first", reinvocationPolicy=policy)
    second = twins.webhook("Mutating", "second", reinvocationPolicy=policy)
    with twins.configured(first, second):
        differences = twins.differences(config_map(f"re-{policy.lower()}"))
    assert not differences, "\n".join(differences)


CONDITIONS: dict[str, Any] = {
    "false": ["false"],
    "true": ["true", "request.operation == 'CREATE'"],
    "error": ["object.spec.x == 1", "object.foo == 1"],
    "error and false": ["object.spec.x == 1", "object.metadata.name == 'nobody'"],
    "type": ["object.data.k == 3"],
    "request": [
        (
            "request.namespace == 'adm' && request.kind.kind == 'ConfigMap' && !request.dryRun "
            "&& request.userInfo.username == 'admin' && 'system:masters' in request.userInfo.groups "
            "&& request.options.kind == 'CreateOptions' && request.resource.resource == 'configmaps'"
        )
    ],
    "missing part of request": ["request.subResource == ''"],
    "no namespace": ["namespaceObject == null"],
    "old object": ["oldObject == null"],
    "authorizer": [
        "authorizer.group('').resource('configmaps').namespace('adm').check('create').allowed()",
        "authorizer.requestResource.check('create').allowed()",
        "authorizer.serviceAccount('adm', 'x').path('/x').check('get').allowed() || true",
    ],
    "bad path": ["authorizer.path('').check('get').allowed()"],
    "division": ["1 / size(object.data) == 1 && 1 / (size(object.data) - 1) == 1"],
}


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_match_conditions(twins: AdmissionTwins, policy: str) -> None:
    """They decide whether a webhook is asked; their errors follow the failure policy."""
    differences = []
    for number, (title, expressions) in enumerate(CONDITIONS.items()):
        conditions = [
            {"name": f"c{index}", "expression": text} for index, text in enumerate(expressions)
        ]
        webhook = twins.webhook(matchConditions=conditions, failurePolicy=policy)
        with twins.configured(webhook):
            found = twins.differences(config_map(f"mc-{policy.lower()}-{number}"))
        differences += [f"{title}: {each}" for each in found]
    assert not differences, "\n".join(differences)


def test_conditions_that_do_not_compile(twins: AdmissionTwins) -> None:
    """The configuration is refused with the errors of the compiler."""
    conditions = [
        {"name": "a", "expression": "object.spec.x"},
        {"name": "b", "expression": "foo == 1"},
        {"name": "", "expression": " "},
        {"name": "a", "expression": "params.x == 1 && request.foo == 2"},
        {"name": "/", "expression": "namespaceObject.metadata.labels['x'] == 3"},
        {"name": "c", "expression": "authorizer.group(3).foo() && variables.x"},
    ]
    webhook = twins.webhook(matchConditions=conditions)
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    assert not twins.differences(Ask("POST", path, webhook))


def test_webhooks_that_cannot_be_called(twins: AdmissionTwins) -> None:
    """Closed ports, foreign certificates, services, timeouts and dry runs."""
    url = twins.hook.client["url"]
    service = {"name": "s", "namespace": "adm", "path": "/x"}
    clients: dict[str, Any] = {
        "closed port": {"clientConfig": {"url": "https://127.0.0.1:1/x"}},
        "no host": {"clientConfig": {"url": "https://nowhere.invalid/x"}},
        "no bundle": {"clientConfig": {"url": url}},
        "no service": {"clientConfig": {"service": service}},
        "no port": {"clientConfig": {"service": {**service, "name": "there", "port": 8443}}},
        "slow": {"timeoutSeconds": 1},
    }

    def slow(review: Any) -> Any:
        time.sleep(2)  # noqa: TID251 - a webhook that is too slow
        return allow(review)

    there = {"metadata": {"name": "there"}, "spec": {"ports": [{"port": 443}]}}
    twins.both(Ask("POST", f"{NAMESPACE}/services", there))
    differences = []
    for number, (title, more) in enumerate(clients.items()):
        twins.judge = slow if title == "slow" else allow
        with twins.configured(twins.webhook(**more)):
            found = twins.differences(config_map(f"c{number}"))
        differences += [f"{title}: {each}" for each in found]
    assert not differences, "\n".join(differences)
