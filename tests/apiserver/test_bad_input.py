"""Invalid requests are refused with a message, and change nothing."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.server import ApiServer

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                }},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "replicas": {"type": "integer"},
                        "tags": {"type": "array", "x-kubernetes-list-type": "set",
                                 "items": {"type": "string"}},
                    }},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                }}},
            }
        ],
    },
}  # fmt: skip
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=6)
)
KEYS = st.sampled_from(
    [
        "metadata", "spec", "status", "name", "labels", "annotations", "finalizers", "data", "kind",
        "apiVersion", "replicas", "tags", "ownerReferences", "uid", "resourceVersion", "template",
        "containers", "selector", "managedFields", "creationTimestamp", "$patch", "op", "path",
    ]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
PATHS = st.sampled_from(
    [
        WIDGETS, f"{WIDGETS}/a", f"{WIDGETS}/a/status", f"{WIDGETS}/a/scale", CONFIG_MAPS,
        f"{CONFIG_MAPS}/a", DEPLOYMENTS, f"{DEPLOYMENTS}/a", f"{DEPLOYMENTS}/a/scale",
        "/api/v1/namespaces", "/api/v1/namespaces/default/pods/a/binding",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    ]
) | st.text("/.%aA0-_~:\x00é ", max_size=12).map("/apis/".__add__)  # fmt: skip
MEDIA = st.sampled_from(
    [
        "application/json", "application/yaml", "application/merge-patch+json",
        "application/json-patch+json", "application/strategic-merge-patch+json",
        "application/apply-patch+yaml", "text/html", "", "application/json; charset=utf-8",
        "application/vnd.kubernetes.protobuf",
    ]
)  # fmt: skip
QUERIES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector",
                "fieldSelector", "dryRun", "fieldManager", "force", "fieldValidation",
                "timeoutSeconds", "propagationPolicy", "gracePeriodSeconds", "includeObject",
            ]
        ),
        st.sampled_from(["", "0", "1", "-1", "All", "x", "true", "Exact", "a=b", "metadata.name=a"])
        | st.text(max_size=6),
    ),
    max_size=3,
).map(tuple)  # fmt: skip
BODIES = (
    st.builds(lambda value: json.dumps(value).encode(), VALUES)
    | st.binary(max_size=60)
    | st.just(b"[" * 5000)
)


def snapshot(server: ApiServer) -> dict[str, list[bytes]]:
    """Return all stored objects."""
    return {
        resource: [json.dumps(record.value).encode() for _, record in sorted(records.items())]
        for resource, records in server.store.checkpoint().records.items()
    }


@settings(max_examples=400, deadline=None)
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "X"]),
    path=PATHS,
    media=MEDIA,
    query=QUERIES,
    body=BODIES,
)
def test_bad_input_is_answered_and_changes_nothing(
    method: str, path: str, media: str, query: tuple[tuple[str, str], ...], body: bytes
) -> None:
    """A refused request changes nothing; a 500 has the form that the real server gives it."""
    server = prepared_server()
    before = snapshot(server)
    headers = {"content-type": media, "accept": "application/json"}
    outcome = server.answer(HttpRequest(method, path, query, headers, body))
    if isinstance(outcome, HttpResponse) and outcome.status >= 400:
        assert snapshot(server) == before
        if outcome.status == 500:
            assert json.loads(outcome.body)["kind"] == "Status"


def prepared_server() -> ApiServer:
    """Return a server with one object of each kind."""
    server = ApiServer()
    assert server.create(CRD) == ""
    metadata = {"name": "a"}
    server.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata})
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    server.create(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    )
    return server


POD_SPEC: dict[str, Any] = {
    "containers": [
        {
            "name": "main",
            "image": "x",
            "ports": [{"containerPort": 80, "name": "http"}],
            "env": [{"name": "A", "value": "1"}],
            "resources": {"limits": {"cpu": "1"}},
            "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        }
    ],
    "volumes": [{"name": "v", "emptyDir": {}}],
    "restartPolicy": "Never",
}
TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"app": "a"}}, "spec": POD_SPEC}
SELECTOR: dict[str, Any] = {"matchLabels": {"app": "a"}}
VALID: dict[str, tuple[str, dict[str, Any]]] = {
    "crd": ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD),
    "widget": (WIDGETS, {"spec": {"replicas": 1, "tags": ["a"]}, "status": {"x": 1}}),
    "pod": ("/api/v1/namespaces/default/pods", {"spec": POD_SPEC}),
    "service": (
        "/api/v1/namespaces/default/services",
        {"spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"app": "a"}}},
    ),
    "secret": ("/api/v1/namespaces/default/secrets", {"data": {"a": "YQ=="}, "type": "Opaque"}),
    "job": ("/apis/batch/v1/namespaces/default/jobs", {"spec": {"template": {"spec": POD_SPEC}}}),
    "cron-job": (
        "/apis/batch/v1/namespaces/default/cronjobs",
        {
            "spec": {
                "schedule": "* * * * *",
                "jobTemplate": {"spec": {"template": {"spec": POD_SPEC}}},
            }
        },
    ),
    "stateful-set": (
        "/apis/apps/v1/namespaces/default/statefulsets",
        {
            "spec": {
                "serviceName": "s",
                "selector": SELECTOR,
                "template": {**TEMPLATE, "spec": {**POD_SPEC, "restartPolicy": "Always"}},
                "volumeClaimTemplates": [],
            }
        },
    ),
    "ingress": (
        "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
        {
            "spec": {
                "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}},
                "rules": [{"host": "a.b", "http": {"paths": []}}],
            }
        },
    ),
    "autoscaler": (
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
        {
            "spec": {
                "maxReplicas": 3,
                "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {
                            "name": "cpu",
                            "target": {"type": "Utilization", "averageUtilization": 50},
                        },
                    }
                ],
            }
        },
    ),
    "claim": (
        "/api/v1/namespaces/default/persistentvolumeclaims",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            }
        },
    ),
    "role": (
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
        {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    ),
    "webhooks": (
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        {
            "webhooks": [
                {
                    "name": "a.b.c",
                    "clientConfig": {"url": "https://x"},
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    "rules": [],
                }
            ]
        },
    ),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every value inside a value."""
    found = [path] if path else []
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in children:
        found += places(child, (*path, key))
    return found


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw a valid object of some kind with one or two values replaced, and its path."""
    path, valid = VALID[draw(st.sampled_from(sorted(VALID)))]
    body: dict[str, Any] = json.loads(json.dumps(valid))
    body["metadata"] = body.get("metadata") or {"name": "b"}
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.sampled_from(places(body) or [("metadata",)]))
        holder: Any = body
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = draw(VALUES)
    return path, body


@settings(max_examples=300, deadline=None)
@given(sent=spoiled(), patch=st.none() | MEDIA, query=QUERIES)
def test_spoiled_objects_are_refused_and_change_nothing(
    sent: tuple[str, dict[str, Any]], patch: str | None, query: tuple[tuple[str, str], ...]
) -> None:
    """The rules of every kind are tested with unexpected values."""
    server = prepared_server()
    path, body = sent
    text = json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    created = server.answer(HttpRequest("POST", path, query, headers, text))
    assert isinstance(created, HttpResponse)
    server.settle()
    before = snapshot(server)
    if patch is not None:
        headers = {"content-type": patch}
        request = HttpRequest("PATCH", f"{path}/b", (*query, ("fieldManager", "x")), headers, text)
        outcome = server.answer(request)
        if isinstance(outcome, HttpResponse) and outcome.status >= 400:
            assert snapshot(server) == before
    server.settle()
