"""The requests that random sessions are made of.

There are few names, labels and fields, so that requests collide: an object is created twice,
patched while it is being deleted, applied by two managers, listed in pages while others write.
"""

from typing import Any

from hypothesis import strategies as st

AUTHORIZED = {"authorization": "Bearer admin-token"}
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"

_CONTAINER = {"name": "main", "image": "i:1", "env": [{"name": "A", "value": "1"}]}
_DEPLOYMENT = {
    "replicas": 2,
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [_CONTAINER]}},
}
_SIDE = {"name": "side", "image": "s:1", "ports": [{"containerPort": 80}]}
# By kind: its collection, its apiVersion, and fields that a write may set.
KINDS: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "ConfigMap": (
        "${core}/configmaps",
        "v1",
        [{}, {"data": {"k": "1"}}, {"data": {"k": "2", "l": "3"}}, {"binaryData": {"b": "AAA="}}],
    ),
    "Widget": (
        "${custom}/widgets",
        "${group}/v1",
        [
            {},
            {"spec": {"x": 1, "deep": {"y": [1, {"z": None}]}}},
            {"spec": {"x": 2, "l": ["a", "b"]}, "status": {"s": 1}},
            {"spec": {}},
        ],
    ),
    "Rack": (
        "${custom}/racks",
        "${group}/v1",
        [
            {"spec": {"title": "t", "tags": ["p", "q"]}},
            {"spec": {"slots": [{"name": "s", "value": "v"}, {"name": "r"}], "limits": {"x": "1"}}},
            {"spec": {"ports": [{"port": 1}, {"port": 1, "protocol": "UDP"}], "size": 5}},
            {"spec": {"size": "wrong"}},
            {"spec": {"unknown": 1, "steps": ["a"], "frozen": {"f": "1"}}},
        ],
    ),
    "Fleet": (
        "${custom}/fleets",
        "${group}/v1",
        [{"spec": {"replicas": 3}}, {"spec": {"replicas": 5, "image": "i"}}, {"spec": {"replicas": -1}}],
    ),
    "Deployment": (
        "${apps}/deployments",
        "apps/v1",
        [
            {"spec": _DEPLOYMENT},
            {"spec": _DEPLOYMENT | {"replicas": 0, "paused": True}},
            {"spec": _DEPLOYMENT | {"strategy": {"type": "Recreate"}}},
        ],
    ),
    "Service": (
        "${core}/services",
        "v1",
        [
            {"spec": {"ports": [{"port": 80, "name": "a"}], "selector": {"a": "b"}}},
            {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}},
            {"spec": {"clusterIP": "None", "selector": {"a": "b"}}},
        ],
    ),
}  # fmt: skip
PATCHES: dict[str, list[Any]] = {
    "ConfigMap": [{"data": {"k": "9"}}, {"data": None}, {"data": {"k": None, "m": "1"}}],
    "Widget": [
        {"spec": {"x": 7}},
        {"spec": None},
        {"spec": {"deep": {"y": None}}},
        {"status": {"s": 2}},
    ],
    "Rack": [
        {"spec": {"size": None}},
        {"spec": {"tags": ["z"]}},
        {"spec": {"slots": [{"name": "s", "weight": 2}]}},
        {"spec": {"limits": {"y": "2"}, "title": "u"}},
    ],
    "Fleet": [{"spec": {"replicas": 9}}, {"spec": {"image": "j"}}, {"spec": {"replicas": None}}],
    "Deployment": [
        {"spec": {"replicas": 4}},
        {"spec": {"template": {"spec": {"containers": [_SIDE]}}}},
        {"spec": {"template": {"spec": {"containers": [_CONTAINER | {"image": "i:2"}]}}}},
        {"spec": {"template": {"metadata": {"annotations": {"r": "1"}}}}},
        {"spec": {"selector": {"matchLabels": {"z": "z"}}}},
    ],
    "Service": [
        {"spec": {"ports": [{"port": 82, "name": "c"}]}},
        {"spec": {"ports": [{"port": 80, "name": "a", "targetPort": 8080}]}},
        {"spec": {"type": "NodePort"}},
        {"spec": {"selector": None}},
    ],
}
METADATA: list[dict[str, Any]] = [
    {},
    {"labels": {"tier": "one"}},
    {"labels": {"tier": "two", "x": "y"}},
    {"labels": None},
    {"annotations": {"note": "n"}},
    {"finalizers": ["x.io/f"]},
    {"finalizers": ["x.io/f", "x.io/g"]},
    {"finalizers": []},
    {"finalizers": None},
    {"labels": {"bad label": "x"}},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-1"}]},
]
OPERATIONS: list[list[dict[str, Any]]] = [
    [{"op": "add", "path": "/metadata/labels", "value": {"tier": "one"}}],
    [{"op": "remove", "path": "/metadata/finalizers"}],
    [{"op": "remove", "path": "/metadata/finalizers/0"}],
    [{"op": "replace", "path": "/spec", "value": {"x": 3}}],
    [{"op": "test", "path": "/metadata/name", "value": "a"}],
    [{"op": "add", "path": "/data", "value": {"j": "1"}}, {"op": "remove", "path": "/data/j"}],
    [{"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/copied"}],
    [{"op": "replace", "path": "/spec/replicas", "value": 6}],
]
NAMES = st.sampled_from(["a", "b", "c"])
MANAGERS = st.sampled_from(["one", "two"])
DRY_RUN = st.sampled_from([[], [], [], [["dryRun", "All"]]])
VALIDATION = st.sampled_from(
    [[], [], [["fieldValidation", "Strict"]], [["fieldValidation", "Ignore"]]]
)
# The versions of an object that a write may name: the last one seen, an older one, or none.
VERSIONS = st.sampled_from(["", "", "current", "older", "1"])
POLICIES = st.sampled_from(["", "", "Background", "Foreground", "Orphan"])
SELECTORS = st.sampled_from(
    [[], [], [["labelSelector", "tier=one"]], [["labelSelector", "tier!=one,!x"]],
     [["fieldSelector", "metadata.name!=a"]], [["labelSelector", "tier in (one,two)"], ["limit", "1"]]]
)  # fmt: skip
FORMS = st.sampled_from(
    ["application/json", "application/json", "application/json;as=Table;g=meta.k8s.io;v=v1"]
)


def step(
    method: str,
    path: str,
    *,
    body: Any = None,
    query: list[list[str]] | None = None,
    media: str = "application/json",
    accept: str = "application/json",
) -> dict[str, Any]:
    """Return a step as sessions have them."""
    made: dict[str, Any] = {
        "method": method,
        "path": path,
        "headers": AUTHORIZED | {"accept": accept},
    }
    if query:
        made["query"] = query
    if body is not None:
        made["body"] = body
        made["headers"] = made["headers"] | {"content-type": media}
    return made


@st.composite
def objects(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """Draw an object to write."""
    _, api_version, contents = KINDS[kind]
    # An applied null or empty list stays in the storage of the real server, to appear later.
    meta = {"name": draw(NAMES)} | draw(
        st.sampled_from([each for each in METADATA if _is_full(each)])
    )
    content: dict[str, Any] = draw(st.sampled_from(contents))
    return {"apiVersion": api_version, "kind": kind, "metadata": meta} | content


def _is_full(meta: dict[str, Any]) -> bool:
    return all(meta.values())


@st.composite
def patches(draw: st.DrawFn, kind: str) -> tuple[str, Any]:
    """Draw a patch of some type."""
    media = draw(st.sampled_from([MERGE, MERGE, STRATEGIC, JSON_PATCH]))
    if media == JSON_PATCH:
        return media, draw(st.sampled_from(OPERATIONS))
    patch = draw(st.sampled_from(PATCHES[kind]))
    if draw(st.booleans()):
        patch = patch | {"metadata": draw(st.sampled_from(METADATA))}
    return media, patch
