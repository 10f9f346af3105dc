"""Tables of PersistentVolumes, PersistentVolumeClaims and storage classes."""

from datetime import datetime
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.tables import cells

_SHORT = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _modes(modes: list[str]) -> str:
    return ",".join(short for mode, short in _SHORT.items() if mode in modes)


def _phase(obj: Json) -> str:
    deleting = obj["metadata"].get("deletionTimestamp")
    return "Terminating" if deleting else str(obj.get("status", {}).get("phase", ""))


def _volume(volume: Json, now: datetime) -> list[Any]:
    spec = volume["spec"]
    claim = spec.get("claimRef")
    return [
        cells.name(volume),
        spec.get("capacity", {}).get("storage", "0"),
        _modes(spec.get("accessModes", [])),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(volume),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", cells.UNSET),
        volume.get("status", {}).get("reason", ""),
        cells.age(volume, now),
        spec.get("volumeMode", cells.UNSET),
    ]


def _claim(claim: Json, now: datetime) -> list[Any]:
    spec, status = claim["spec"], claim.get("status", {})
    bound = bool(spec.get("volumeName"))
    return [
        cells.name(claim),
        _phase(claim),
        spec.get("volumeName", ""),
        status.get("capacity", {}).get("storage", "0") if bound else "",
        _modes(status.get("accessModes", [])) if bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", cells.UNSET),
        cells.age(claim, now),
        spec.get("volumeMode", cells.UNSET),
    ]


def _storage_class(storage_class: Json, now: datetime) -> list[Any]:
    default = storage_class["metadata"].get("annotations", {}).get(_DEFAULT_CLASS) == "true"
    return [
        cells.name(storage_class) + (" (default)" if default else ""),
        storage_class.get("provisioner", ""),
        storage_class.get("reclaimPolicy", "Delete"),
        storage_class.get("volumeBindingMode", "Immediate"),
        storage_class.get("allowVolumeExpansion", False),
        cells.age(storage_class, now),
    ]


def _csi_driver(driver: Json, now: datetime) -> list[Any]:
    spec = driver["spec"]
    tokens = spec.get("tokenRequests")
    return [
        cells.name(driver),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        ",".join(token.get("audience", "") for token in tokens) if tokens else cells.UNSET,
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes", ())) or cells.NONE,
        cells.age(driver, now),
    ]


def _csi_node(node: Json, now: datetime) -> list[Any]:
    return [cells.name(node), len(node["spec"].get("drivers") or ()), cells.age(node, now)]


def _attachment(attachment: Json, now: datetime) -> list[Any]:
    spec = attachment["spec"]
    return [
        cells.name(attachment),
        spec.get("attacher", ""),
        spec.get("source", {}).get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        attachment.get("status", {}).get("attached", False),
        cells.age(attachment, now),
    ]


def _attributes_class(attributes: Json, now: datetime) -> list[Any]:
    return [cells.name(attributes), attributes.get("driverName", ""), cells.age(attributes, now)]


PRINTERS = {
    "PersistentVolume": _volume,
    "PersistentVolumeClaim": _claim,
    "StorageClass": _storage_class,
    "CSIDriver": _csi_driver,
    "CSINode": _csi_node,
    "VolumeAttachment": _attachment,
    "VolumeAttributesClass": _attributes_class,
}
