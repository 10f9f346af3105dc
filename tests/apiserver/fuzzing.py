"""Shared by the fuzz tests: a server with objects, malformed requests, and the checks."""

import json
import time
from typing import Any

from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.server import ApiServer
from tests.apiserver.conformance.scenarios import definitions, whole_definition
from tests.apiserver.conformance.variables import filled
from tests.apiserver.differential.lines import OwnLine
from tests.apiserver.differential.sessions import Line

GROUP = "fuzz.example.com"
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
JSON, YAML = "application/json", "application/yaml"

# Requests that kube-apiserver answers with a plain 500, by the beginning of its message.
REAL_500S = (
    "resourceVersion should not be set on objects to be created",
    "resourceVersion: Invalid value",
    "failed to create typed patch object",
    "failed to create manager for existing fields",
    "failed to convert new object",
    "unable to find api field",
    "Internal error occurred: Object 'apiVersion' is missing",
    "Internal error occurred: the spec replicas field",
    "content is not a list",
    # Strategic merge patches that do not fit a list.
    "map: map[", "unknown patch type", "expected ", "value for key", "lists of lists",
    "list element types are not identical", "no elements in any of the given slices",
    "merging lists cannot yet be specified", "cannot merge lists without merge key",
)  # fmt: skip

COLLECTIONS: dict[str, Any] = {
    "/api/v1/namespaces/default/configmaps": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"x": "y"}, "finalizers": ["x.io/f"]},
        "data": {"k": "v"},
    },
    "/apis/apps/v1/namespaces/default/deployments": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "env": [{"name": "A", "value": "1"}],
                            "ports": [{"containerPort": 80}],
                            "resources": {"limits": {"cpu": "1"}},
                        }
                    ],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "affinity": {"nodeAffinity": {}},
                    "tolerations": [{"key": "k", "operator": "Exists"}],
                },
            },
        },
    },
    "/api/v1/namespaces/default/services": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a"},
        "spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}},
    },
    f"/apis/{GROUP}/v1/namespaces/default/racks": {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Rack",
        "metadata": {"name": "a", "annotations": {"n": "o"}},
        "spec": {
            "title": "t",
            "limits": {"x": "1"},
            "tags": ["p"],
            "slots": [{"name": "s", "value": "v"}],
            "ports": [{"port": 1, "protocol": "UDP"}],
        },
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"others.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Other", "plural": "others"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "a": {"type": "string", "default": "b"},
                                        "l": {"type": "array", "items": {"type": "integer"}},
                                    },
                                    "x-kubernetes-validations": [{"rule": "self.a.size() > 0"}],
                                }
                            },
                        }
                    },
                    "additionalPrinterColumns": [
                        {"name": "A", "type": "string", "jsonPath": ".spec.a"}
                    ],
                }
            ],
        },
    },
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings": {
        "metadata": {"name": "a"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u"}],
    },
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": {
        "metadata": {"name": "a"},
        "spec": {"holderIdentity": "h", "renewTime": "2024-01-01T00:00:00.000000Z"},
    },
    "/api/v1/namespaces/default/events": {
        "metadata": {"name": "a"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "R",
        "count": 1,
        "firstTimestamp": "2024-01-01T00:00:00Z",
    },
}  # fmt: skip


def populate(line: Line, *, await_served: bool = False) -> None:
    """Create one object of each kind."""
    crd = filled(whole_definition(definitions()["rack"]), {"group": GROUP})
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    _create(line, crds, crd)
    for _ in range(100 if await_served else 0):
        time.sleep(0.1)  # noqa: TID251 - the real server takes real time
        if line.send(_authorized("GET", f"/apis/{GROUP}/v1/racks")).status == 200:
            break
    for path, body in COLLECTIONS.items():
        _create(line, path, body)


def _create(line: Line, path: str, body: Any) -> None:
    answer = line.send(_authorized("POST", path, json.dumps(body).encode()))
    assert answer.status == 201, answer.body


def _authorized(method: str, path: str, body: bytes = b"") -> HttpRequest:
    headers = {"authorization": "Bearer admin-token", "content-type": JSON}
    return HttpRequest(method, path, (), headers, body)


class World:
    """A server with one object of each kind, recreated after a request has changed it."""

    def __init__(self) -> None:
        self.server = ApiServer()
        populate(OwnLine(self.server))
        self.revision = self.server.store.revision
        self.content = self._content()

    def _content(self) -> bytes:
        """Return all stored objects."""
        storages = self.server.core.registry.storages()
        values = [
            record.value for resource in storages for record in self.server.store.scan(resource)
        ]
        return go_json.encode(values)

    def ask(self, request: HttpRequest) -> HttpResponse:
        """Send a request, and check what must hold for every response."""
        outcome = self.server.answer(request)
        if not isinstance(outcome, HttpResponse):
            return HttpResponse(200)
        self.server.settle()
        check(outcome)
        if outcome.status >= 400 or self.server.store.revision == self.revision:
            assert self.server.store.revision == self.revision
            assert self._content() == self.content
        return outcome


def check(answer: HttpResponse) -> None:
    """Check that a response is a success, a 4xx, or one of the real server's 500s."""
    if answer.status == 500:
        message = json.loads(answer.body)["message"]
        assert message.startswith(REAL_500S), message
    else:
        assert answer.status < 500 or answer.status == 504, answer
    if answer.status >= 400 and answer.header("content-type") == JSON:
        status = json.loads(answer.body)
        assert (status["kind"], status["code"]) == ("Status", answer.status)


_world: list[World] = []


def ask(request: HttpRequest) -> HttpResponse:
    """Send a request to an unchanged server."""
    if not _world or _world[0].server.store.revision != _world[0].revision:
        _world[:] = [World()]
    try:
        return _world[0].ask(request)
    except BaseException:
        _world.clear()
        raise


# ------------------------------------------------------------------------- strategies

# More digits than Python reads, huge powers of ten, patterns that cause backtracking.
ENDLESS = (
    "9" * 5000,
    "9" * 5000 + "%",
    "1e" + "9" * 20,
    "1E-999999999",
    "a" * 5000 + "!",
    " " * 5000,
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**31, 2**63, -(2**63) - 1, 10**30, 1.5, 0.0, -1e300, 1e-7]),
    st.text(max_size=4),
    st.sampled_from(
        ["", " ", "a/b", "A", "None", "null", "${x}", "\x00", "é", "x" * 300, "-1", "1e3", *ENDLESS]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["", "name", "spec", "a", "$patch", "key"]), inner, max_size=2
        )
    ),
    max_leaves=4,
)
PATHS = st.sampled_from(sorted(COLLECTIONS))
QUERY_KEYS = (
    "dryRun", "fieldManager", "fieldValidation", "force", "pretty", "limit", "continue", "watch",
    "labelSelector", "fieldSelector", "resourceVersion", "resourceVersionMatch", "timeoutSeconds",
    "sendInitialEvents", "allowWatchBookmarks", "propagationPolicy", "gracePeriodSeconds",
    "orphanDependents", "includeObject", "x",
)  # fmt: skip
QUERY_VALUES = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["", "0", "1", "-1", "true", "false", "All", "a=b", "a in (b", "metadata.name=a", "!=", "Exact",
         "NotOlderThan", "Foreground", "Strict", "99999999999999999999999", "eyJ2Ijoi", "=", ",", "٣", *ENDLESS]
    ),
)  # fmt: skip
QUERIES = st.lists(st.tuples(st.sampled_from(QUERY_KEYS), QUERY_VALUES), max_size=3)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths in a document at which a value can be replaced."""
    found = [path]
    if isinstance(node, dict):
        for key, value in node.items():
            found += places(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            found += places(value, (*path, index))
    return found


def replaced(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return the document with another value at a path."""
    if not path:
        return value
    copy = dict(node) if isinstance(node, dict) else list(node)
    copy[path[0]] = replaced(node[path[0]], path[1:], value)
    return copy


@st.composite
def documents(draw: st.DrawFn, body: Any) -> Any:
    """Draw a valid object with wrong values at some paths."""
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.sampled_from(places(body)))
        body = replaced(body, place, draw(VALUES))
    return body


@st.composite
def patches(draw: st.DrawFn, path: str) -> tuple[str, Any]:
    """Draw a patch of any type that is wrong at some path."""
    body = COLLECTIONS[path]
    media = draw(st.sampled_from([MERGE, STRATEGIC, APPLY, JSON_PATCH]))
    if media != JSON_PATCH:
        kept = {"apiVersion": draw(st.sampled_from([body.get("apiVersion"), "v1"]))} | body
        return media, draw(documents(kept))
    operation = st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x", 5]),
            "path": st.one_of(
                st.sampled_from([f"/{'/'.join(map(str, place))}" for place in places(body)]),
                st.sampled_from(["", "/", "x", "/spec/-", "/metadata/finalizers/-1", "/~2", 5]),
            ),
        },
        optional={"value": VALUES, "from": st.sampled_from(["/spec", "/metadata/name", "", 5])},
    )
    return media, draw(st.lists(operation, max_size=3) | VALUES)


def request(
    method: str, path: str, body: bytes, media: str, query: list[tuple[str, str]]
) -> HttpRequest:
    """Build a request with one header."""
    return HttpRequest(method, path, tuple(query), {"content-type": media}, body)
