"""CustomResourceDefinitions that use every keyword which OpenAPI v2 shows differently."""

from typing import Any

GROUP = "openapi.example.com"
_SPEC: dict[str, Any] = {
    "size": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10, "default": 3},
    "color": {"type": "string", "enum": ["red", "blue"], "default": "red", "description": "Hue."},
    "maybe": {"type": "object", "nullable": True, "properties": {"x": {"type": "string"}}},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "open": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"x": {"type": "string"}},
    },
    "port": {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
    },
    "template": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "embedded": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
    },
    "tags": {
        "type": "array",
        "items": {"type": "string", "pattern": "^a"},
        "x-kubernetes-list-type": "set",
        "maxItems": 5,
    },
    "rates": {"type": "object", "additionalProperties": {"type": "number", "multipleOf": 0.5}},
    "slots": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string", "maxLength": 4}},
        },
    },
    "one": {
        "type": "string",
        "oneOf": [{"pattern": "a"}, {"pattern": "b"}],
        "not": {"enum": ["c"]},
    },
}
_GADGET = {
    "type": "object",
    "description": "A gadget.",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size", "maybe"],
            "properties": _SPEC,
            "x-kubernetes-validations": [{"rule": "self.size > 0", "message": "positive"}],
        },
        "status": {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "selector": {"type": "string"}},
        },
    },
}
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SCALE = {
    "specReplicasPath": ".spec.size",
    "statusReplicasPath": ".status.n",
    "labelSelectorPath": ".status.selector",
}


def definitions() -> list[dict[str, Any]]:
    """Return a namespaced kind with all subresources, and two of the cluster with fewer."""
    return [
        _definition("gadgets", "Gadget", "Namespaced", _GADGET, {"status": {}, "scale": _SCALE}),
        _definition("racks", "Rack", "Cluster", _OPEN, {}),
        _definition("bins", "Bin", "Cluster", {"type": "object"}, {"status": {}}),
    ]


def _definition(
    plural: str, kind: str, scope: str, schema: dict[str, Any], subresources: dict[str, Any]
) -> dict[str, Any]:
    version = {
        "name": "v1beta2",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": subresources,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }
