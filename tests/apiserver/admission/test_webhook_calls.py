"""Which webhooks are asked about a write, what they are asked, and what their replies do."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api import Json
from myrmidon.apiserver.admission.services import resolve
from myrmidon.apiserver.admission.webhooks import Webhooks
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.verbs.warning_headers import warning_headers
from tests.apiserver.admission.questions import (
    CONFIG_MAPS,
    GROUP,
    Asking,
    allow,
    message,
    patching,
    warnings,
)

MERGE = "application/merge-patch+json"
INVALID = 'Internal error occurred: failed calling webhook "w.example.com": received invalid webhook response: '


def test_a_deletecollection_asks_about_every_object() -> None:
    """Mutating and validating webhooks see each object; a refusal leaves those that follow."""
    asking = Asking()
    for name in "abc":
        asking.create(name)
    asking.webhook("m", allow, mutating=True)
    asking.webhook("v", lambda asked: {"allowed": asked["oldObject"]["metadata"]["name"] != "c"})

    refused = asking.send("DELETE", CONFIG_MAPS)

    assert refused.status == 400
    assert [(name, asked["oldObject"]["metadata"]["name"]) for name, asked in asking.asked] == [
        (f"{webhook}.example.com", name) for name in "abc" for webhook in "mv"
    ]
    assert {asked.get("name", "") for _, asked in asking.asked} == {""}
    assert asking.names() == ["c"], "the others were deleted before, as on the real server"


def test_a_deletecollection_leaves_out_what_another_client_has_deleted() -> None:
    """While a webhook is asked about one object, the next may disappear."""
    asking = Asking()
    for name in "ab":
        asking.create(name)

    def judge(asked: Json) -> Json:
        if asked["oldObject"]["metadata"]["name"] == "a":
            asking.server.request("DELETE", f"{CONFIG_MAPS}/b")
        return {"allowed": True}

    asking.webhook("v", judge)

    assert asking.send("DELETE", CONFIG_MAPS).status == 200
    assert [asked["oldObject"]["metadata"]["name"] for _, asked in asking.asked] == ["a"]
    assert asking.names() == []


def test_a_reply_counts_only_for_the_object_that_was_reviewed() -> None:
    """If another client changes the object in the meantime, the webhook is asked again."""
    asking = Asking()
    asking.create("a", data={"k": "v"})
    seen: list[str] = []

    def judge(asked: Json) -> Json:
        seen.append(asked["oldObject"]["data"]["k"])
        if len(seen) == 1:
            patch = {"data": {"k": "w"}}
            asking.server.request("PATCH", f"{CONFIG_MAPS}/a", patch, content_type=MERGE)
        return {"allowed": asked["oldObject"]["data"]["k"] == "v"}

    asking.webhook("v", judge)

    refused = asking.send("PATCH", f"{CONFIG_MAPS}/a", {"data": {"x": "y"}}, MERGE)

    assert seen == ["v", "w"]
    assert message(refused) == (
        'admission webhook "v.example.com" denied the request without explanation'
    )


@pytest.mark.parametrize(("policy", "rounds"), [("Never", 2), ("IfNeeded", 3)])
def test_reinvocation(policy: str, rounds: int) -> None:
    """A webhook is asked again after a later one has changed the object, if it wants that."""
    asking = Asking()

    def label(key: str) -> Callable[[Json], Json]:
        def judge(asked: Json) -> Json:
            present = asked["object"].get("data") or {}
            if key in present:
                return {"allowed": True}
            return patching({"op": "add", "path": "/data", "value": {**present, key: "yes"}})

        return judge

    asking.webhook("a", label("a"), mutating=True, reinvocationPolicy=policy)
    asking.webhook("b", label("b"), mutating=True)

    made = json.loads(asking.create("x").body)

    assert made["data"] == {"a": "yes", "b": "yes"}
    assert [name[0] for name, _ in asking.asked] == ["a", "b", "a"][:rounds]


def test_a_webhook_that_changes_nothing_is_not_asked_again() -> None:
    """A patch without an effect is not a change."""
    asking = Asking()
    same = patching({"op": "replace", "path": "/metadata/name", "value": "x"})
    for name in ("a", "b"):
        asking.webhook(name, lambda _: same, mutating=True, reinvocationPolicy="IfNeeded")

    asking.create("x")

    assert [name[0] for name, _ in asking.asked] == ["a", "b"]


def test_mutating_webhooks_see_an_object_before_its_name_and_uid() -> None:
    """Validating webhooks see both; the uid is the one that is stored."""
    asking = Asking()
    asking.webhook("m", allow, mutating=True)
    asking.webhook("v", allow)

    made = json.loads(asking.send("POST", CONFIG_MAPS, {"metadata": {"generateName": "g-"}}).body)[
        "metadata"
    ]
    first, last = (asked for _, asked in asking.asked)

    assert ("name" in first, "uid" in first["object"]["metadata"]) == (False, False)
    assert last["name"] == made["name"]
    assert last["object"]["metadata"]["uid"] == made["uid"]
    assert first["uid"] != last["uid"] != made["uid"], "reviews have uids of their own"


@pytest.mark.parametrize(
    ("method", "path", "body", "options"),
    [
        ("POST", CONFIG_MAPS, {"metadata": {"name": "b"}}, {"kind": "CreateOptions"}),
        ("PATCH", f"{CONFIG_MAPS}/a", {"data": {"k": "v"}}, {"kind": "UpdateOptions"}),
        (
            "DELETE",
            f"{CONFIG_MAPS}/a",
            {"propagationPolicy": "Orphan", "preconditions": {}},
            {"kind": "DeleteOptions", "propagationPolicy": "Orphan"},
        ),
    ],
)
def test_options(method: str, path: str, body: Json, options: Json) -> None:
    """The review holds the options of the write that a request becomes."""
    asking = Asking()
    asking.create("a")
    asking.webhook("w", allow)
    is_patch = method == "PATCH"
    query = () if method == "DELETE" else (("fieldManager", "me"),)

    asking.send(method, path, body, MERGE if is_patch else "application/json", query=query)

    manager = {} if method == "DELETE" else {"fieldManager": "me"}
    assert asking.asked[0][1]["options"] == {
        "apiVersion": "meta.k8s.io/v1", **options, **manager
    }  # fmt: skip


def test_a_failed_precondition_asks_nobody() -> None:
    """Preconditions of a delete are checked first."""
    asking = Asking()
    asking.create("a")
    asking.webhook("w", allow)

    stale = {"preconditions": {"resourceVersion": "1"}}

    assert asking.send("DELETE", f"{CONFIG_MAPS}/a", stale).status == 409
    assert not asking.asked


DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def deployment() -> Json:
    """Return a Deployment."""
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    return {
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }


def test_a_scale_is_reviewed_as_a_scale() -> None:
    """A mutating webhook may change its replicas; the object that follows is validated as a Scale."""
    asking = Asking()
    asking.send("POST", DEPLOYMENTS, deployment())
    more = patching({"op": "replace", "path": "/spec/replicas", "value": 7})
    asking.webhook("m", lambda _: more, mutating=True)
    asking.webhook("v", allow)

    scaled = asking.send("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}, MERGE)

    assert json.loads(scaled.body)["spec"] == {"replicas": 7}
    assert [
        (asked["kind"]["kind"], asked["subResource"], asked["object"]["spec"]["replicas"])
        for _, asked in asking.asked
    ] == [("Scale", "scale", 3), ("Scale", "scale", 7)]
    assert {asked["oldObject"]["kind"] for _, asked in asking.asked} == {"Scale"}


def test_an_eviction_is_reviewed_as_such() -> None:
    """Evicting a Pod asks about the Eviction, not about the deletion."""
    asking = Asking()
    pods = "/api/v1/namespaces/default/pods"
    asking.send(
        "POST", pods, {"metadata": {"name": "p"}, "spec": deployment()["spec"]["template"]["spec"]}
    )
    asking.webhook("w", lambda asked: {"allowed": asked["operation"] != "CREATE"})

    refused = asking.send("POST", f"{pods}/p/eviction", {"metadata": {"name": "p"}})

    assert refused.status == 400
    assert [(asked["kind"]["kind"], asked["operation"]) for _, asked in asking.asked] == [
        ("Eviction", "CREATE")
    ]


REPLIES: dict[str, tuple[Json, str]] = {
    "another uid": ({"uid": "x", "allowed": True}, 'expected response.uid="'),
    "patch": (patching({"op": "add"}), "validating webhook may not return response.patch"),
    "type": (
        {"allowed": True, "patchType": "JSONPatch"},
        "validating webhook may not return response.patchType",
    ),
}


@pytest.mark.parametrize("title", REPLIES)
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_replies_that_are_not_accepted(title: str, policy: str) -> None:
    """The failure policy decides; the texts are those of the real server."""
    reply, problem = REPLIES[title]
    asking = Asking()
    asking.webhook("w", lambda _: reply, failurePolicy=policy)

    answer = asking.create("x")

    if policy == "Ignore":
        assert answer.status == 201
    else:
        assert message(answer).startswith(INVALID + problem)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"error": "Post x: refused"}, "failed to call webhook: Post x: refused"),
        (
            {"allowed": 3},
            (
                "failed to call webhook: json: cannot unmarshal number into Go struct field "
                "AdmissionResponse.response.allowed of type bool"
            ),
        ),
    ],
)
def test_calls_that_fail(reply: Json, said: str) -> None:
    """A webhook that cannot be called, or whose reply cannot be decoded."""
    asking = Asking()
    asking.webhook("w", lambda _: reply)

    answer = asking.create("x")

    assert message(answer) == (
        f'Internal error occurred: failed calling webhook "w.example.com": {said}'
    )


def test_warnings_reach_the_client() -> None:
    """Those of mutating and validating webhooks, each once, also with a denial."""
    asking = Asking()
    asking.webhook("m", lambda _: {"allowed": True, "warnings": ["one", "two"]}, mutating=True)
    asking.webhook("v", lambda _: {"allowed": False, "warnings": ["two", "three"]})

    assert warnings(asking.create("x")) == ["one", "two", "three"]


@given(
    st.lists(
        st.builds(lambda text, times: text * times, st.text(max_size=10), st.integers(1, 300)),
        max_size=20,
    )
)
def test_warning_headers_are_bounded(texts: list[str]) -> None:
    """Never more than the limit and one cut text; never a character that would end the header."""
    headers = warning_headers(texts)

    assert sum(len(value) for _, value in headers) <= 2 * (4096 + 256) + 9 * len(headers)
    assert all("\n" not in value and "\r" not in value for _, value in headers)
    assert len({value for _, value in headers}) <= len(set(texts))


@pytest.mark.parametrize(
    ("expression", "asked"),
    [
        ("object.metadata.name == 'x'", True),
        ("object.metadata.name != 'x'", False),
        ("request.operation == 'CREATE' && oldObject == null", True),
        ("request.userInfo.username == 'kubernetes-admin'", True),
        ("authorizer.requestResource.check('create').allowed()", True),
        ("authorizer.serviceAccount('default', 'bot').path('/x').check('get').allowed()", True),
    ],
)
def test_match_conditions(expression: str, asked: bool) -> None:
    """A webhook is asked if its conditions hold."""
    asking = Asking()
    asking.webhook("w", allow, matchConditions=[{"name": "c", "expression": expression}])

    assert asking.create("x").status == 201
    assert bool(asking.asked) == asked


def test_conditions_that_fail() -> None:
    """They refuse the write, unless the policy is Ignore or another condition is false."""
    failing = {"name": "a", "expression": "object.spec.x == 1"}
    asking = Asking()
    asking.webhook("f", allow, matchConditions=[failing, {"name": "b", "expression": "false"}])
    asking.webhook("i", allow, matchConditions=[failing], failurePolicy="Ignore")
    assert asking.create("x").status == 201
    assert not asking.asked

    asking.webhook("w", allow, matchConditions=[failing])
    refused = asking.create("y")

    assert (refused.status, message(refused)) == (
        403,
        "configmaps \"y\" is forbidden: expression 'object.spec.x == 1' resulted in error: no such key: spec",
    )


def test_the_authorizer_in_a_condition_knows_the_roles() -> None:
    """It decides by the roles of the user who sends the request."""
    asking = Asking(rbac=True, users={"t": User("dev")})
    condition = "authorizer.group('').resource('secrets').check('get').allowed()"
    asking.server.request(
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        {
            "metadata": {"name": "maps"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}],
        },
    )
    asking.server.request(
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        {
            "metadata": {"name": "maps"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "maps",
            },
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "dev"}
            ],
        },
    )  # fmt: skip
    hook: dict[str, Any] = {
        "name": "w.example.com",
        "clientConfig": {"url": "https://x.example.com"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [
            {
                "operations": ["*"], "apiGroups": [""], "apiVersions": ["*"],
                "resources": ["configmaps"],
            }
        ],
        "matchConditions": [{"name": "c", "expression": condition}],
    }  # fmt: skip
    body = {"metadata": {"name": "w"}, "webhooks": [hook]}
    asking.server.request("POST", f"{GROUP}/validatingwebhookconfigurations", body)
    asking.judges["w.example.com"] = allow

    made = asking.send("POST", CONFIG_MAPS, {"metadata": {"name": "x"}}, user=User("dev"))

    assert made.status == 201
    assert not asking.asked, "dev may not read secrets"


# ------------------------------------------------------------------------- versions


def widgets() -> Json:
    """Return a definition with two versions."""
    schema = {
        "openAPIV3Schema": {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
        }
    }
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": schema}
        for name in ("v1", "v1beta1")
    ]
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": versions,
        },
    }


@pytest.mark.parametrize("policy", ["Equivalent", "Exact"])
def test_match_policy(policy: str) -> None:
    """A rule for another version sees the object in that version; its patch is converted back."""
    asking = Asking()
    asking.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgets())
    rule = {
        "operations": ["*"],
        "apiGroups": ["example.com"],
        "apiVersions": ["v1"],
        "resources": ["widgets"],
    }
    larger = patching(
        {"op": "replace", "path": "/spec/size", "value": 2},
        {"op": "add", "path": "/spec/unknown", "value": 2},
    )
    asking.webhook("m", lambda _: larger, mutating=True, rules=[rule], matchPolicy=policy)

    widget = {
        "apiVersion": "example.com/v1beta1",
        "kind": "Widget",
        "metadata": {"name": "x"},
        "spec": {"size": 1},
    }
    path = "/apis/example.com/v1beta1/namespaces/default/widgets"
    made = json.loads(asking.send("POST", path, widget).body)

    assert made["apiVersion"] == "example.com/v1beta1"
    if policy == "Exact":
        assert (made["spec"], asking.asked) == ({"size": 1}, [])
        return
    _, asked = asking.asked[0]
    assert made["spec"] == {"size": 2}, "a field that the schema does not have is pruned"
    assert asked["object"]["apiVersion"] == "example.com/v1"
    assert (asked["kind"]["version"], asked["requestKind"]["version"]) == ("v1", "v1beta1")


# ------------------------------------------------------------------------- services


def test_the_address_of_a_service() -> None:
    """A ready endpoint of its slices, with the number of the named port."""
    server = ApiServer()
    named = {"name": "s", "namespace": "default", "path": "hook"}

    def problem(**more: Any) -> str:
        return resolve(server.store, named | more).problem

    assert problem() == 'service "s" not found'
    ports = [{"name": "web", "port": 443}, {"name": "other", "port": 80}]
    server.request(
        "POST",
        "/api/v1/namespaces/default/services",
        {"metadata": {"name": "s"}, "spec": {"ports": ports}},
    )
    assert problem() == 'no endpoints available for service "s"'
    assert problem(port=8443) == 'no service port 8443 found for service "s"'
    endpoints = [
        {"addresses": ["10.0.0.1"], "conditions": {"ready": False}},
        {"addresses": ["10.0.0.2"]},
    ]
    made = server.request(
        "POST",
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        {
            "metadata": {"name": "s-1", "labels": {"kubernetes.io/service-name": "s"}},
            "addressType": "IPv4",
            "ports": [{"name": "web", "port": 9443}],
            "endpoints": endpoints,
        },
    )
    assert made.status == 201, made.body
    assert resolve(server.store, named) == (
        "https://s.default.svc:443/hook", "s.default.svc", "10.0.0.2", 9443, ""
    )  # fmt: skip
    external = {"type": "ExternalName", "externalName": "hooks.example.com"}
    server.request(
        "POST",
        "/api/v1/namespaces/default/services",
        {"metadata": {"name": "e"}, "spec": external},
    )
    found = resolve(server.store, {"name": "e", "namespace": "default"})
    assert (found.host, found.port) == ("hooks.example.com", 443)


def test_without_configurations_nothing_but_their_absence_is_looked_at() -> None:
    """The step returns before it looks at anything else of the write."""
    looked: list[str] = []

    class Pending:
        """A write that notes which of its parts are read."""

        def __getattr__(self, name: str) -> Any:
            looked.append(name)
            return type("Call", (), {"core": ApiServer().core})

    pending: Any = Pending()
    assert Webhooks().admit(pending) is None
    Webhooks().check(pending)
    assert looked == ["call", "call"]
