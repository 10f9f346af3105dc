"""Preparation of PersistentVolumes and PersistentVolumeClaims."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.lookup import ObjectLookup

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def create_volume(volume: Json, cluster: ObjectLookup) -> None:
    """Reset the status, and set the finalizer that protects a volume while a claim uses it."""
    del cluster
    volume["status"] = {
        "phase": "Pending",
        "lastPhaseTransitionTime": volume["metadata"].get("creationTimestamp"),
    }
    _protect(volume, "kubernetes.io/pv-protection")


def update_volume_status(volume: Json, old: Json, cluster: ObjectLookup) -> None:
    """Keep the time of the last phase transition if the phase is unchanged and no time is given."""
    del cluster
    if volume["status"].get("phase") == old["status"].get("phase"):
        since = old["status"].get("lastPhaseTransitionTime")
        if since:
            volume["status"].setdefault("lastPhaseTransitionTime", since)


def create_claim(claim: Json, cluster: ObjectLookup) -> None:
    """Reset the status; set the finalizer that protects a claim, and the default storage class."""
    claim["status"] = {"phase": "Pending"}
    _protect(claim, "kubernetes.io/pvc-protection")
    spec = claim["spec"]
    _sync_data_sources(spec)
    if "storageClassName" in spec:
        return
    defaults = [
        found
        for found in cluster.objects("storage.k8s.io", "storageclasses")
        if found["metadata"].get("annotations", {}).get(_DEFAULT_CLASS) == "true"
    ]
    if defaults:
        newest = max(defaults, key=lambda found: str(found["metadata"].get("creationTimestamp")))
        spec["storageClassName"] = newest["metadata"]["name"]


def _sync_data_sources(spec: Json) -> None:
    """Copy ``dataSource`` to ``dataSourceRef`` or back, unless the latter has a namespace."""
    if "dataSource" in spec and "dataSourceRef" not in spec:
        spec["dataSourceRef"] = dict(spec["dataSource"])
    elif "dataSourceRef" in spec and not spec["dataSourceRef"].get("namespace"):
        spec.setdefault("dataSource", dict(spec["dataSourceRef"]))


def _protect(obj: Json, finalizer: str) -> None:
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        obj["metadata"]["finalizers"] = [*finalizers, finalizer]
