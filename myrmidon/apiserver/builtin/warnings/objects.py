"""Warnings about Services, storage, Jobs and other objects."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json, annotations_of
from myrmidon.apiserver.builtin.warnings.pods import (
    VOLUMES,
    deprecated_label,
    fractional,
    name_warnings,
    node_terms,
    workload_warnings,
)

_CLASS = "volume.beta.kubernetes.io/storage-class"
_HINTS = "service.kubernetes.io/topology-aware-hints"
_INGRESS_CLASS = "kubernetes.io/ingress.class"
_MANY_COMPLETIONS, _MANY_PARALLEL = 10**5, 10**4


def service_warnings(service: Json) -> Iterator[str]:
    """Return the warnings about a Service."""
    if _HINTS in annotations_of(service):
        yield (
            f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        )
    spec = service["spec"]
    headless = spec.get("clusterIP") == "None"
    if headless and spec.get("loadBalancerIP"):
        yield "spec.loadBalancerIP is ignored for headless services"
    if spec.get("externalIPs"):
        if spec.get("type") == "ExternalName":
            yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
        elif headless:
            yield "spec.externalIPs is ignored for headless services"
        else:
            yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if headless and spec.get("sessionAffinity", "None") != "None":
        yield "spec.SessionAffinity is ignored for headless services"


def node_warnings(node: Json) -> Iterator[str]:
    """Return the warnings about a Node."""
    if node["spec"].get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"


def stateful_set_warnings(workload: Json) -> Iterator[str]:
    """Return the warnings about a StatefulSet."""
    yield from workload_warnings(workload)
    if workload["spec"].get("revisionHistoryLimit", 0) < 0:
        yield (
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
            "a value >= 0 is recommended"
        )


def job_warnings(job: Json) -> Iterator[str]:
    """Return the warnings about a Job."""
    yield from name_warnings(job, "Pod names and hostnames")
    spec = job["spec"]
    if (
        spec.get("completionMode") == "Indexed"
        and spec.get("completions", 0) > _MANY_COMPLETIONS
        and spec.get("parallelism", 0) > _MANY_PARALLEL
    ):
        yield (
            "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism "
            "higher than 10^4, Kubernetes might not be able to track completedIndexes when a big "
            "number of indexes fail"
        )
    yield from workload_warnings(job)


def cron_job_warnings(job: Json) -> Iterator[str]:
    """Return the warnings about a CronJob."""
    yield from name_warnings(job, "Pod names and hostnames")
    yield from workload_warnings(job, "spec.jobTemplate.spec.template.")


def volume_warnings(volume: Json) -> Iterator[str]:
    """Return the warnings about a PersistentVolume."""
    yield from _storage_class(volume)
    spec = volume["spec"]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
            "the recommended approach is to use dynamic provisioning."
        )
    for source in spec.keys() & VOLUMES.keys():
        yield f"spec.{source}: {VOLUMES[source]}"
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or []
    yield from node_terms("spec.nodeAffinity.required.nodeSelectorTerms", terms)


def claim_warnings(claim: Json) -> Iterator[str]:
    """Return the warnings about a PersistentVolumeClaim."""
    yield from _storage_class(claim)
    for part in ("limits", "requests"):
        amounts = (claim["spec"].get("resources") or {}).get(part)
        yield from fractional(f"spec.resources.{part}", amounts)


def _storage_class(obj: Json) -> Iterator[str]:
    if _CLASS in annotations_of(obj):
        yield (
            f'metadata.annotations[{_CLASS}]: deprecated since v1.8; use "storageClassName" attribute '
            "instead"
        )


def ingress_warnings(ingress: Json) -> Iterator[str]:
    """Return the warnings about an Ingress."""
    if _INGRESS_CLASS in annotations_of(ingress):
        yield (
            f"annotation \"{_INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
        )


def endpoint_slice_warnings(endpoints: Json) -> Iterator[str]:
    """Return the warnings about an EndpointSlice."""
    if endpoints.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"


def storage_class_warnings(storage: Json) -> Iterator[str]:
    """Return the warnings about a StorageClass."""
    for index, term in enumerate(storage.get("allowedTopologies") or ()):
        for number, each in enumerate(term.get("matchLabelExpressions") or ()):
            if said := deprecated_label(each.get("key", "")):
                yield f"allowedTopologies[{index}].matchLabelExpressions[{number}].key: {said}"


def runtime_class_warnings(runtime: Json) -> Iterator[str]:
    """Return the warnings about a RuntimeClass."""
    for label in sorted((runtime.get("scheduling") or {}).get("nodeSelector") or {}):
        if said := deprecated_label(label):
            yield f"scheduling.nodeSelector: {said}"
