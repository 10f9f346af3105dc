"""Admission policies and what they are tried on, for a real API server and the embedded one.

``python -m tests.cluster.record_admission`` writes the answers of a real server to ``recorded.json``.
"""

import json
import re
from typing import Any

from tests.cluster.twins import Ask

GROUP = "/apis/admissionregistration.k8s.io/v1"
NAMESPACE = "/api/v1/namespaces/adm"
CONFIG_MAPS = f"{NAMESPACE}/configmaps"
MERGE = "application/merge-patch+json"
_UNSTEADY = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r'"resourceVersion": "\d+"'), '"resourceVersion": "<rv>"'),
    (re.compile(r"\(\d+\)"), "(<rv>)"),
    (re.compile(r"g-[a-z0-9]{5}\b"), "g-<suffix>"),
    (re.compile(r" on [0-9.]+:53"), ""),
)


def steady(value: Any) -> Any:
    """Return a value with everything masked that differs from server to server."""
    text = json.dumps(_without_owners(value), sort_keys=True)
    for pattern, mask in _UNSTEADY:
        text = pattern.sub(mask, text)
    return json.loads(text)


def _without_owners(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_owners(each) for key, each in value.items() if key != "managedFields"}
    return [_without_owners(each) for each in value] if isinstance(value, list) else value


PARAM_KIND = {"apiVersion": "v1", "kind": "ConfigMap"}
_BY_NAME = {"name": "limits", "namespace": "adm", "parameterNotFoundAction": "Deny"}


def rule(text: str, **more: Any) -> dict[str, Any]:
    """Return a validation."""
    return {"expression": text, **more}


def apply(text: str) -> dict[str, Any]:
    """Return a mutation that is an apply configuration."""
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}


def patch(text: str) -> dict[str, Any]:
    """Return a mutation that is a JSON patch."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}


# Title: the policy, and its binding.  Each concerns only ConfigMaps with the title as a label.
VALIDATING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "holds": ({"validations": [rule("object.data.k == 'v'")]}, {}),
    "plain": ({"validations": [rule(" object.data.k != 'v' ")]}, {}),
    "message": ({"validations": [rule("false", message=" no way ")]}, {}),
    "reason": ({"validations": [rule("false", message="big", reason="RequestEntityTooLarge")]}, {}),
    "forbidden": ({"validations": [rule("false", message="no", reason="Forbidden")]}, {}),
    "expression": (
        {"validations": [rule("false", messageExpression="'name is ' + object.metadata.name")]},
        {},
    ),
    "failing-expression": (
        {"validations": [rule("false", message="text", messageExpression="string(object.nope)")]},
        {},
    ),
    "two-lines": (
        {"validations": [rule("false", message="text", messageExpression="'a' + '\\n' + 'b'")]},
        {},
    ),
    "several": ({"validations": [rule("true"), rule("1 == 2"), rule("2 == 3")]}, {}),
    "error": ({"validations": [rule("object.spec.x == 1")]}, {}),
    "error-ignored": (
        {"validations": [rule("object.spec.x == 1")], "failurePolicy": "Ignore"},
        {},
    ),
    "warn": (
        {"validations": [rule("false", message="careful"), rule("object.spec.x == 1")]},
        {"validationActions": ["Warn"]},
    ),
    "audit": ({"validations": [rule("false")]}, {"validationActions": ["Audit"]}),
    "variables": (
        {
            "variables": [
                {"name": "a", "expression": "object.data.k"},
                {"name": "b", "expression": "variables.a + '!'"},
            ],
            "validations": [rule("variables.b == 'w!'", messageExpression="variables.b")],
        },
        {},
    ),
    "failing-variable": (
        {
            "variables": [{"name": "a", "expression": "object.spec.x"}],
            "validations": [rule("variables.a == 1")],
        },
        {},
    ),
    "params": (
        {
            "paramKind": PARAM_KIND,
            "validations": [
                rule(
                    "size(object.data.k) > int(params.data.least)",
                    messageExpression="params.metadata.name + ' says ' + params.data.least",
                )
            ],
        },
        {"paramRef": _BY_NAME},
    ),
    "params-by-label": (
        {
            "paramKind": PARAM_KIND,
            "validations": [rule("false", messageExpression="string(params.metadata.name)")],
        },
        {
            "paramRef": {
                "selector": {"matchLabels": {"role": "limits"}},
                "parameterNotFoundAction": "Deny",
            }
        },
    ),
    "no-params-denied": (
        {"paramKind": PARAM_KIND, "validations": [rule("true")]},
        {"paramRef": {**_BY_NAME, "name": "missing"}},
    ),
    "no-params-allowed": (
        {"paramKind": PARAM_KIND, "validations": [rule("false")]},
        {"paramRef": {**_BY_NAME, "name": "missing", "parameterNotFoundAction": "Allow"}},
    ),
    "no-param-ref": (
        {"paramKind": PARAM_KIND, "validations": [rule("params != null", message="null")]},
        {},
    ),
    "unknown-param-kind": (
        {
            "paramKind": {"apiVersion": "example.com/v1", "kind": "Nope"},
            "validations": [rule("true")],
        },
        {},
    ),
    "namespace": (
        {
            "validations": [
                rule("namespaceObject.metadata.name == 'adm'"),
                rule("namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'x'"),
            ]
        },
        {},
    ),
    "request": (
        {
            "validations": [
                rule(
                    "request.operation == 'CREATE' && request.userInfo.username == 'admin' "
                    "&& request.namespace == 'adm' && oldObject == null"
                ),
                rule("request.name == 'other'", messageExpression="request.resource.resource"),
            ]
        },
        {},
    ),
    "authorizer": (
        {
            "validations": [
                rule("authorizer.requestResource.check('create').allowed()"),
                rule("!authorizer.group('').resource('pods').check('get').allowed()"),
            ]
        },
        {},
    ),
    "conditions": (
        {
            "matchConditions": [{"name": "c", "expression": "object.data.k != 'v'"}],
            "validations": [rule("false")],
        },
        {},
    ),
    "failing-conditions": (
        {
            "matchConditions": [{"name": "c", "expression": "object.spec.x == 1"}],
            "validations": [rule("false")],
        },
        {},
    ),
    "annotation": (
        {"auditAnnotations": [{"key": "k", "valueExpression": "string(object.spec.x)"}]},
        {},
    ),
    "excluded": (
        {
            "validations": [rule("false")],
            "matchConstraints": {
                "excludeResourceRules": [
                    {
                        "operations": ["CREATE"],
                        "apiGroups": ["*"],
                        "apiVersions": ["*"],
                        "resources": ["configmaps"],
                    }
                ]
            },
        },
        {},
    ),
    "binding-elsewhere": (
        {"validations": [rule("false")]},
        {"matchResources": {"namespaceSelector": {"matchLabels": {"no": "such"}}}},
    ),
    "optional": (
        {"validations": [rule("object.?spec.?x.orValue(3) == 4", message="optional")]},
        {},
    ),
    "lists": (
        {
            "validations": [
                rule("object.data.all(k, object.data[k].matches('^[a-z]+$'))"),
                rule("object.metadata.?annotations.hasValue()", message="no annotations"),
            ]
        },
        {},
    ),
}

MUTATING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "apply": (
        {"mutations": [apply("Object{metadata: Object.metadata{labels: {'new': 'yes'}}}")]},
        {},
    ),
    "apply-data": (
        {"mutations": [apply("Object{data: {'more': object.data.k + '!'}}"), apply("Object{}")]},
        {},
    ),
    "patch": (
        {
            "mutations": [
                patch(
                    "[JSONPatch{op: 'test', path: '/data/k', value: 'v'}, "
                    "JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a~b'), value: 'x'}]"
                ),
                patch("[JSONPatch{op: 'replace', path: '/data/k', value: 'w'}]"),
            ]
        },
        {},
    ),
    "failed-test": (
        {
            "mutations": [
                patch(
                    "[JSONPatch{op: 'test', path: '/data/k', value: 'x'}, "
                    "JSONPatch{op: 'remove', path: '/data/k'}]"
                )
            ]
        },
        {},
    ),
    "mismatched": (
        {"mutations": [apply("Object{metadata: Object.wrong{labels: {'new': 'yes'}}}")]},
        {},
    ),
    "undeclared": ({"mutations": [apply("Object{nope: 'x'}")]}, {}),
    "atomic": (
        {
            "mutations": [
                apply(
                    "Object{metadata: Object.metadata{managedFields: "
                    "[Object.metadata.managedFields{manager: 'x'}]}}"
                )
            ]
        },
        {},
    ),
    "mutation-error": ({"mutations": [apply("Object{data: {'x': object.spec.x}}")]}, {}),
    "mutation-error-ignored": (
        {
            "mutations": [apply("Object{data: {'x': object.spec.x}}")],
            "failurePolicy": "Ignore",
        },
        {},
    ),
    "mutation-params": (
        {
            "paramKind": PARAM_KIND,
            "variables": [{"name": "least", "expression": "params.data.least"}],
            "mutations": [apply("Object{data: {'least': variables.least}}")],
        },
        {"paramRef": _BY_NAME},
    ),
    "invalid-result": ({"mutations": [apply("Object{data: {'not valid': 'x'}}")]}, {}),
}


def policy(kind: str, title: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return a policy for the ConfigMaps with a label."""
    constraints = {
        "resourceRules": [
            {
                "operations": ["CREATE", "UPDATE"],
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
            }
        ],
        "objectSelector": {"matchLabels": {"policy": title}},
        **spec.get("matchConstraints", {}),
    }
    more = {"reinvocationPolicy": "Never"} if kind == "Mutating" else {}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}AdmissionPolicy",
        "metadata": {"name": f"{title}.example.com"},
        "spec": {**more, **spec, "matchConstraints": constraints},
    }


def binding(kind: str, title: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return a binding of a policy."""
    more = {} if kind == "Mutating" else {"validationActions": ["Deny"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}AdmissionPolicyBinding",
        "metadata": {"name": f"{title}-binding"},
        "spec": {"policyName": f"{title}.example.com", **more, **spec},
    }


def config_map(title: str, name: str = "") -> Ask:
    """Create a ConfigMap that concerns one policy."""
    metadata = {"name": name or f"for-{title}", "labels": {"policy": title}}
    return Ask("POST", CONFIG_MAPS, {"metadata": metadata, "data": {"k": "v"}})


INVALID: dict[str, tuple[str, str, dict[str, Any]]] = {
    "nothing": ("Validating", "policy", {"validations": []}),
    "types": (
        "Validating",
        "policy",
        {
            "validations": [
                rule("object.x"),
                rule("foo == 1"),
                rule(" ", message=" "),
                rule("true", messageExpression="3", message="a\nb", reason="Nope"),
                rule(
                    "params.x == 1", messageExpression="authorizer.path('/x').check('get').reason()"
                ),
            ],
            "auditAnnotations": [
                {"key": "a", "valueExpression": "3"},
                {"key": "a", "valueExpression": ""},
            ],
        },
    ),
    "variables": (
        "Validating",
        "policy",
        {
            "variables": [
                {"name": "a", "expression": "object.x + foo"},
                {"name": "in", "expression": "1"},
                {"name": "b", "expression": "1"},
            ],
            "validations": [rule("variables.b == 'x'"), rule("variables.c == 1")],
        },
    ),
    "param kind": (
        "Validating",
        "policy",
        {"paramKind": {"apiVersion": "a/b/c", "kind": "x y"}, "validations": [rule("true")]},
    ),
    "rules": (
        "Validating",
        "policy",
        {
            "validations": [rule("true")],
            "failurePolicy": "Maybe",
            "matchConstraints": {"resourceRules": [], "matchPolicy": "Nope"},
        },
    ),
    "mutations": (
        "Mutating",
        "policy",
        {
            "reinvocationPolicy": "",
            "mutations": [
                apply("{'a': 'b'}"),
                patch("Object{}"),
                patch("[JSONPatch{op: 1, foo: 2}]"),
                {"patchType": "Nope"},
                {"patchType": "JSONPatch", "applyConfiguration": {"expression": "Object{}"}},
                apply("Foo{}"),
            ],
        },
    ),
    "no mutations": ("Mutating", "policy", {"mutations": []}),
    "binding": ("Validating", "binding", {"validationActions": ["Deny", "Warn", "Deny", "Nope"]}),
    "param ref": (
        "Validating",
        "binding",
        {"paramRef": {"name": "a", "selector": {"matchLabels": {"a": "b"}}}},
    ),
    "no param ref": ("Mutating", "binding", {"paramRef": {"parameterNotFoundAction": "Nope"}}),
}


LIMITS = Ask(
    "POST",
    CONFIG_MAPS,
    {"metadata": {"name": "limits", "labels": {"role": "limits"}}, "data": {"least": "3"}},
)


def configuration(kind: str, cases: dict[str, Any]) -> list[Ask]:
    """Return the requests that create policies and their bindings."""
    asks = []
    for title, (spec, bound) in cases.items():
        path = f"{GROUP}/{kind.lower()}admissionpolicies"
        asks.append(Ask("POST", path, policy(kind, title, spec)))
        path = f"{GROUP}/{kind.lower()}admissionpolicybindings"
        asks.append(Ask("POST", path, binding(kind, title, bound)))
    return asks


def refused(title: str) -> Ask:
    """Return the request that creates an invalid policy or binding."""
    kind, what, spec = INVALID[title]
    make = policy if what == "policy" else binding
    resource = "admissionpolicies" if what == "policy" else "admissionpolicybindings"
    return Ask("POST", f"{GROUP}/{kind.lower()}{resource}", make(kind, "bad", spec))


UPDATES = (
    config_map("request", "updated"),
    config_map("holds", "updated"),
    Ask("PATCH", f"{CONFIG_MAPS}/updated", {"data": {"k": "w"}}, MERGE),
    Ask("DELETE", f"{CONFIG_MAPS}/updated"),
)
"""A policy for creations and updates sees both objects of an update, and not a delete."""


def recorded_asks() -> dict[str, Ask]:
    """Return all requests whose answers are recorded, by title; they are sent in this order."""
    return (
        {title: config_map(title) for title in (*VALIDATING, *MUTATING)}
        | {f"update {index}": ask for index, ask in enumerate(UPDATES)}
        | {f"refused {title}": refused(title) for title in INVALID}
    )
