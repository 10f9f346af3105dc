"""Preparation of Namespaces, Nodes, Secrets, Leases and APIServices."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.lookup import ObjectLookup

KUBERNETES = "kubernetes"  # the finalizer that the namespace controller removes


def create_namespace(namespace: Json, cluster: ObjectLookup) -> None:
    """Set the phase, the name label, and the finalizer of the namespace controller."""
    del cluster
    namespace["status"] = {"phase": "Active"}
    finalizers = namespace["spec"].get("finalizers", [])
    if KUBERNETES not in finalizers:
        namespace["spec"]["finalizers"] = [*finalizers, KUBERNETES]
    # Defaults are filled in before a name is generated, so the label is set here again.
    labels = namespace["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = namespace["metadata"].get("name", "")


def update_namespace(namespace: Json, old: Json, cluster: ObjectLookup) -> None:
    """Restore the spec: its finalizers can change only through the subresource ``finalize``."""
    del cluster
    namespace["spec"] = dict(old["spec"])


def create_node(node: Json, cluster: ObjectLookup) -> None:
    """Taint a new node, so that no pods are scheduled to it before its kubelet has reported."""
    del cluster
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    taints = node["spec"].get("taints", [])
    if taint not in taints:
        node["spec"]["taints"] = [*taints, taint]


def create_lease(lease: Json, cluster: ObjectLookup) -> None:
    """Drop the fields of a feature gate that is off by default."""
    del cluster
    for field in ("strategy", "preferredHolder"):
        lease["spec"].pop(field, None)


def update_lease(lease: Json, old: Json, cluster: ObjectLookup) -> None:
    """Drop the fields of a feature gate that is off by default."""
    del old
    create_lease(lease, cluster)


def update_secret(secret: Json, old: Json, cluster: ObjectLookup) -> None:
    """Keep the old type if the request has none."""
    del cluster
    if not secret.get("type"):
        secret["type"] = old.get("type", "")


def update_service_status(service: Json, old: Json, cluster: ObjectLookup) -> None:
    """Restore the metadata of an APIService, which cannot change with its status."""
    del cluster
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        service["metadata"].pop(field, None)
        if field in old["metadata"]:
            service["metadata"][field] = old["metadata"][field]
