"""Defaults of Pods and of the types that pod templates consist of."""

import re

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.quantities import parse_quantity
from myrmidon.apiserver.builtin.defaults.completions import Completion, fill

_HOUR = 3600
_MILLI = -3


# A valid image reference: host, path, tag and digest.
_REFERENCE = re.compile(
    r"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/|\[[0-9a-fA-F:]+\](?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9+._-]*:[0-9a-fA-F]{32,})?"
)


def is_latest(image: str) -> bool:
    """Whether an image reference has neither tag nor digest, or the tag ``latest``."""
    if not _REFERENCE.fullmatch(image):
        return False
    name, digest = image.partition("@")[::2]
    tag = name.rpartition("/")[2].partition(":")[2]
    return tag == "latest" or not (tag or digest)


def _container(container: Json) -> None:
    policy = "Always" if is_latest(container.get("image", "")) else "IfNotPresent"
    fill(
        imagePullPolicy=policy,
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
    )(container)


def _volume(volume: Json) -> None:
    if not any(isinstance(source, dict) for source in volume.values()):
        volume["emptyDir"] = {}
    image = volume.get("image")
    if image is not None and not image.get("pullPolicy"):
        latest = is_latest(image.get("reference", ""))
        image["pullPolicy"] = "Always" if latest else "IfNotPresent"


def _resources(resources: Json) -> None:
    for part in ("limits", "requests"):
        for name, amount in resources.get(part, {}).items():
            resources[part][name] = str(parse_quantity(amount).rounded_up(_MILLI))


def _pod(pod: Json) -> None:
    spec = pod["spec"]
    containers = [*(spec.get("containers") or ()), *spec.get("initContainers", ())]
    for container in containers:
        resources = container.get("resources", {})
        if resources.get("limits"):
            resources["requests"] = resources["limits"] | resources.get("requests", {})
    if spec.get("hostNetwork"):
        for container in containers:
            for port in container.get("ports", ()):
                port.setdefault("hostPort", port.get("containerPort", 0))
    spec.setdefault("enableServiceLinks", True)


def _pod_spec(spec: Json) -> None:
    fill(
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        securityContext={},
        terminationGracePeriodSeconds=30,
        schedulerName="default-scheduler",
    )(spec)
    # serviceAccount is the deprecated name of serviceAccountName; both are set.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _pod_status(status: Json) -> None:
    fill(phase="Pending")(status)
    # podIP is the first of podIPs; each is derived from the other.
    if status.get("podIPs"):
        status["podIP"] = status["podIPs"][0].get("ip", "")
    elif status.get("podIP"):
        status["podIPs"] = [{"ip": status["podIP"]}]


PODS: dict[str, Completion] = {
    "Pod": _pod,
    "PodSpec": _pod_spec,
    "PodStatus": _pod_status,
    "Container": _container,
    "EphemeralContainer": _container,
    "ContainerPort": fill(protocol="TCP"),
    "ResourceRequirements": _resources,
    "VolumeResourceRequirements": _resources,
    "Probe": fill(timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3),
    "HTTPGetAction": fill(path="/", scheme="HTTP"),
    "GRPCAction": fill(service=""),
    "ObjectFieldSelector": fill(apiVersion="v1"),
    "Volume": _volume,
    "SecretVolumeSource": fill(defaultMode=0o644),
    "ConfigMapVolumeSource": fill(defaultMode=0o644),
    "DownwardAPIVolumeSource": fill(defaultMode=0o644),
    "ProjectedVolumeSource": fill(defaultMode=0o644),
    "ServiceAccountTokenProjection": fill(expirationSeconds=_HOUR),
    "HostPathVolumeSource": fill(type=""),
    "ISCSIVolumeSource": fill(iscsiInterface="default"),
    "ISCSIPersistentVolumeSource": fill(iscsiInterface="default"),
    "RBDVolumeSource": fill(pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "RBDPersistentVolumeSource": fill(pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "ScaleIOVolumeSource": fill(storageMode="ThinProvisioned", fsType="xfs"),
    "ScaleIOPersistentVolumeSource": fill(storageMode="ThinProvisioned", fsType="xfs"),
    "AzureDiskVolumeSource": fill(
        cachingMode="ReadWrite", fsType="ext4", readOnly=False, kind="Shared"
    ),
}
