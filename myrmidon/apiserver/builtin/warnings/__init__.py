"""Warnings about objects of built-in kinds that are accepted, but deprecated or probably a mistake.

``WARNINGS`` has a function for each kind that warns, from the new object to the texts.  Pods warn only
when they are created; objects with a generation warn again only if an update changes it.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from myrmidon.api.objects.accessors import Json, generation_of
from myrmidon.apiserver.builtin.warnings import objects, pods

OfKind: TypeAlias = Callable[[Json], Iterator[str]]

WARNINGS: dict[tuple[str, str], OfKind] = {
    ("", "Pod"): pods.pod_warnings,
    ("", "PodTemplate"): pods.pod_template_warnings,
    ("", "ReplicationController"): pods.named_workload_warnings,
    ("apps", "Deployment"): pods.named_workload_warnings,
    ("apps", "ReplicaSet"): pods.named_workload_warnings,
    ("apps", "DaemonSet"): pods.workload_warnings,
    ("apps", "StatefulSet"): objects.stateful_set_warnings,
    ("batch", "Job"): objects.job_warnings,
    ("batch", "CronJob"): objects.cron_job_warnings,
    ("", "Service"): objects.service_warnings,
    ("", "Node"): objects.node_warnings,
    ("", "PersistentVolume"): objects.volume_warnings,
    ("", "PersistentVolumeClaim"): objects.claim_warnings,
    ("networking.k8s.io", "Ingress"): objects.ingress_warnings,
    ("discovery.k8s.io", "EndpointSlice"): objects.endpoint_slice_warnings,
    ("storage.k8s.io", "StorageClass"): objects.storage_class_warnings,
    ("node.k8s.io", "RuntimeClass"): objects.runtime_class_warnings,
}


def warnings_of(key: tuple[str, str], obj: Json, old: Json | None) -> list[str]:
    """Return the warnings about a new object (``old`` is None) or an update."""
    found = WARNINGS.get(key)
    if found is None:
        return []
    if old is not None and (key == ("", "Pod") or _is_same(obj, old)):
        return []
    return list(found(obj))


def _is_same(obj: Json, old: Json) -> bool:
    """Whether an update leaves what warnings look at as it is."""
    generation = generation_of(obj)
    if generation:
        return generation == generation_of(old)
    return obj.get("spec") == old.get("spec") and "spec" in obj
