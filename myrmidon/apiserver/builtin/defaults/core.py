"""Defaults of the core group, apart from pods and services."""

from base64 import b64encode

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.defaults.completions import Completion, fill


def _secret(secret: Json) -> None:
    fill(type="Opaque")(secret)
    texts = secret.pop("stringData", None)
    if texts:
        encoded = {key: b64encode(text.encode()).decode() for key, text in texts.items()}
        secret["data"] = secret.get("data", {}) | encoded


def _namespace(namespace: Json) -> None:
    name = namespace["metadata"].get("name")
    if name:
        labels = namespace["metadata"].setdefault("labels", {})
        labels["kubernetes.io/metadata.name"] = name


def _replication_controller(controller: Json) -> None:
    labels = controller["spec"].get("template", {}).get("metadata", {}).get("labels")
    controller["spec"].setdefault("replicas", 1)
    if labels:
        controller["spec"].setdefault("selector", dict(labels))
        controller["metadata"].setdefault("labels", dict(labels))


def _node_status(status: Json) -> None:
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))


def _node_spec(spec: Json) -> None:
    if spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    elif spec.get("podCIDR"):
        spec["podCIDRs"] = [spec["podCIDR"]]


def _limit_range_item(item: Json) -> None:
    if item.get("type") != "Container":
        return
    limits = item.get("max", {}) | item.get("default", {})
    requests = item.get("min", {}) | limits | item.get("defaultRequest", {})
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests


CORE: dict[str, Completion] = {
    "Secret": _secret,
    "Namespace": _namespace,
    "NamespaceStatus": fill(phase="Active"),
    "ReplicationController": _replication_controller,
    "NodeSpec": _node_spec,
    "NodeStatus": _node_status,
    "LimitRangeItem": _limit_range_item,
    "PersistentVolumeSpec": fill(persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem"),
    "PersistentVolumeStatus": fill(phase="Pending"),
    "PersistentVolumeClaimSpec": fill(volumeMode="Filesystem"),
    "PersistentVolumeClaimStatus": fill(phase="Pending"),
}
