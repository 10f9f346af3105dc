"""The types of the variables in expressions of admission: ``request``, ``namespaceObject`` and others.

The objects themselves (``object``, ``oldObject``, ``params``) are dynamic: the fields that an
expression reads are looked up when it runs.  ``request`` and ``namespaceObject`` have the fields below,
so that a misspelled one is an error of compilation.
"""

from collections.abc import Iterator, Mapping

from myrmidon.apiserver.cel.schema_types import DeclaredType
from myrmidon.apiserver.cel.types import (
    BOOL,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    struct,
)
from myrmidon.apiserver.schema_node import Schema

_ANYTHING = Schema()
_TEXTS = list_of(STRING)

_FIELDS: dict[str, dict[str, Type]] = {
    "kubernetes.GroupVersionKind": dict.fromkeys(("group", "version", "kind"), STRING),
    "kubernetes.GroupVersionResource": dict.fromkeys(("group", "version", "resource"), STRING),
    "kubernetes.UserInfo": {
        "username": STRING,
        "uid": STRING,
        "groups": _TEXTS,
        "extra": map_of(STRING, _TEXTS),
    },
    "kubernetes.AdmissionRequest": {
        "kind": struct("kubernetes.GroupVersionKind"),
        "resource": struct("kubernetes.GroupVersionResource"),
        "subResource": STRING,
        "requestKind": struct("kubernetes.GroupVersionKind"),
        "requestResource": struct("kubernetes.GroupVersionResource"),
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": struct("kubernetes.UserInfo"),
        "dryRun": BOOL,
        "options": DYN,
    },
    "kubernetes.NamespaceSpec": {"finalizers": _TEXTS},
    "kubernetes.NamespaceCondition": {
        **dict.fromkeys(("status", "type", "message", "reason"), STRING),
        "lastTransitionTime": TIMESTAMP,
    },
    "kubernetes.NamespaceStatus": {
        "conditions": list_of(struct("kubernetes.NamespaceCondition")),
        "phase": STRING,
    },
    "kubernetes.NamespaceMetadata": {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING),
        "labels": map_of(STRING, STRING),
        "annotations": map_of(STRING, STRING),
        "creationTimestamp": TIMESTAMP,
        "deletionTimestamp": TIMESTAMP,
        "deletionGracePeriodSeconds": INT,
        "generation": INT,
        "finalizers": _TEXTS,
    },
    "kubernetes.Namespace": {
        "metadata": struct("kubernetes.NamespaceMetadata"),
        "spec": struct("kubernetes.NamespaceSpec"),
        "status": struct("kubernetes.NamespaceStatus"),
    },
}
NAMESPACE_FIELDS = frozenset(
    {"uid", *_FIELDS["kubernetes.NamespaceMetadata"]} - {"UID"}
)  # the metadata that expressions see
VARIABLES_TYPE = "kubernetes.variables"
OBJECT_TYPE, PATCH_TYPE = "Object", "JSONPatch"
PATCH_FIELDS: dict[str, Type] = {"op": STRING, "path": STRING, "from": STRING, "value": DYN}

_AUTHORIZATION = "kubernetes.authorization."
VARIABLE_TYPES: dict[str, Type] = {
    "object": DYN,
    "oldObject": DYN,
    "namespaceObject": struct("kubernetes.Namespace"),
    "request": struct("kubernetes.AdmissionRequest"),
    "params": DYN,
    "authorizer": struct(f"{_AUTHORIZATION}Authorizer"),
    "authorizer.requestResource": struct(f"{_AUTHORIZATION}ResourceCheck"),
}


def declared(name: str, fields: Mapping[str, Type]) -> DeclaredType:
    """Return the declaration of an object with these fields."""
    return DeclaredType(
        struct(name),
        _ANYTHING,
        0,
        fields={each: DeclaredType(found, _ANYTHING, 0) for each, found in fields.items()},
    )


class ObjectTypes(dict[str, DeclaredType]):
    """The types of objects by name; with ``patches`` also ``JSONPatch`` and ``Object.spec.template``."""

    def __init__(self, variables: Mapping[str, Type], *, patches: bool) -> None:
        super().__init__({name: declared(name, fields) for name, fields in _FIELDS.items()})
        self[VARIABLES_TYPE] = declared(VARIABLES_TYPE, variables)
        self._patches = patches
        if patches:
            self[PATCH_TYPE] = declared(PATCH_TYPE, PATCH_FIELDS)

    def is_object(self, name: str) -> bool:
        """Whether the name is that of an object that a mutation builds."""
        return self._patches and name.partition(".")[0] == OBJECT_TYPE

    def buildable(self) -> Iterator[str]:
        """Yield the names of the types that an expression can build, besides ``Object``."""
        if self._patches:
            yield PATCH_TYPE
