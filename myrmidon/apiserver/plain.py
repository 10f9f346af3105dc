"""Built-in kinds without rules of their own."""

from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind
from myrmidon.apiserver import names
from myrmidon.apiserver.crds import CRD_KIND, DefinitionStrategy
from myrmidon.apiserver.metadata import decode_metadata
from myrmidon.apiserver.registry import ResourceType
from myrmidon.apiserver.strategy import Decoded, Strategy


class PlainStrategy(Strategy):
    """Typed metadata, everything else as it comes."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def decode(self, body: Json) -> Decoded:
        """Typed metadata, everything else as it comes."""
        meta, unknown = decode_metadata(body.get("metadata"))
        rest = {key: value for key, value in body.items() if value is not None}
        rest.update(apiVersion=self.kind.api_version, kind=self.kind.kind, metadata=meta)
        return Decoded(rest, unknown)


class NamespaceStrategy(PlainStrategy):
    """Namespaces: held by finalizers in their spec until they are empty."""

    answers_deleted_object = True

    def prepare_create(self, obj: Json) -> None:
        """Active, held by one finalizer, labelled with its name."""
        obj["spec"] = {"finalizers": ["kubernetes"]}
        obj["status"] = {"phase": "Active"}
        meta = obj["metadata"]
        meta["labels"] = {**meta.get("labels", {}), "kubernetes.io/metadata.name": meta["name"]}

    def is_held(self, obj: Json) -> bool:
        """Until the namespace controller has emptied it."""
        return bool((obj.get("spec") or {}).get("finalizers"))

    def mark_deleting(self, obj: Json, timestamp: str) -> None:
        """The phase says so, too."""
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}

    def name_problems(self, name: str, *, prefix: bool = False) -> list[str]:
        """A namespace is part of host names."""
        return names.label_problems(name, prefix=prefix)


def plain_types() -> list[ResourceType]:
    """A few kinds, to stand on."""
    namespaced = [
        ("", "v1", "ConfigMap"),
        ("", "v1", "Secret"),
        ("", "v1", "Pod"),
        ("", "v1", "Service"),
        ("", "v1", "ServiceAccount"),
        ("apps", "v1", "Deployment"),
        ("apps", "v1", "ReplicaSet"),
        ("rbac.authorization.k8s.io", "v1", "Role"),
        ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
    ]
    cluster = [
        ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
        ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
        ("", "v1", "Node"),
    ]
    types = []
    for group, version, kind in namespaced:
        found = Kind(group, version, kind, f"{kind.lower()}s")
        types.append(
            ResourceType(
                found, PlainStrategy(found), status=kind in {"Pod", "Deployment", "ReplicaSet"}
            )
        )
    for group, version, kind in cluster:
        found = Kind(group, version, kind, f"{kind.lower()}s", namespaced=False)
        types.append(ResourceType(found, PlainStrategy(found)))
    lease = Kind("coordination.k8s.io", "v1", "Lease", "leases")
    types.append(ResourceType(lease, PlainStrategy(lease)))
    namespace = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
    verbs = ("create", "delete", "get", "list", "patch", "update", "watch")
    types.append(
        ResourceType(
            namespace, NamespaceStrategy(namespace), verbs, status=True, subresources=("finalize",)
        )
    )
    types.append(ResourceType(CRD_KIND, DefinitionStrategy(), status=True))
    return types
