"""The fields of built-in kinds that field selectors support, in addition to name and namespace."""

from collections.abc import Mapping
from typing import Any

from myrmidon.api.objects.accessors import Json

_EVENT = tuple(
    f"involvedObject.{name}"
    for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
)

# By group and kind.  Other kinds support only ``metadata.name`` and ``metadata.namespace``.
_FIELDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    ("", "Node"): ("spec.unschedulable",),
    ("", "ReplicationController"): ("status.replicas",),
    ("", "Event"): (*_EVENT, "reason", "reportingComponent", "source", "type"),
    ("events.k8s.io", "Event"): (
        *(label.replace("involvedObject", "regarding") for label in _EVENT),
        "reason",
        "reportingController",
        "type",
    ),
    ("", "Namespace"): ("status.phase",),
    ("", "Secret"): ("type",),
    ("", "Service"): ("spec.clusterIP", "spec.type"),
    ("batch", "Job"): ("status.successful",),
    ("certificates.k8s.io", "CertificateSigningRequest"): ("spec.signerName",),
    ("resource.k8s.io", "ResourceSlice"): ("spec.nodeName", "spec.driver"),
}
_OTHER_PLACES = {"status.successful": "status.succeeded"}
_NUMBERS = ("status.replicas", "status.successful")
_FLAGS = ("spec.hostNetwork", "spec.unschedulable")


def selectable_fields(group: str, kind: str) -> tuple[str, ...]:
    """Return the fields that field selectors support."""
    return _FIELDS.get((group, kind), ())


def field_values(group: str, kind: str, obj: Json) -> Mapping[str, str]:
    """Return the values of these fields, as strings."""
    return {label: _text(obj, label) for label in selectable_fields(group, kind)}


def unsupported(group: str, kind: str, label: str) -> str:
    """Return the error message for a field that is not supported."""
    if (group, kind) == ("batch", "Job"):
        return f'field label "{label}" not supported for Job'
    if (group, kind) in _FIELDS:
        return f"field label not supported: {label}"
    return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def _text(obj: Json, label: str) -> str:
    if label == "source":
        source = obj.get("source") or {}
        return str(source.get("component") or obj.get("reportingComponent") or "")
    if label == "status.podIPs":
        return ",".join(entry.get("ip", "") for entry in obj["status"].get("podIPs", ()))
    value: Any = obj
    for part in _OTHER_PLACES.get(label, label).split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if label in _FLAGS:
        return "true" if value else "false"
    if label in _NUMBERS:
        return str(value or 0)
    return str(value or "")
