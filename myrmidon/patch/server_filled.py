"""What the server fills in by itself, so that a full update is not sent again for its sake.

A full update removes what was left out.  To see whether anything is left to remove, the fields
that the server adds to every object (its part of the metadata, the status, the defaults of the
built-in kinds) must be told from those that somebody else has added.
"""

from collections.abc import Mapping
from typing import Any, Final

from myrmidon.api import kinds
from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind
from myrmidon.patch.merge_patch import same

ANY: Final = object()  # the server chooses the value
EACH: Final = "[]"  # stands for every element of a list

_METADATA = {
    "creationTimestamp": ANY, "deletionGracePeriodSeconds": ANY, "deletionTimestamp": ANY,
    "generation": ANY, "managedFields": ANY, "namespace": ANY, "resourceVersion": ANY,
    "selfLink": ANY, "uid": ANY,
    # Other parties' claims on the object: a full update carries them over, see sets/planning.py.
    "finalizers": ANY, "ownerReferences": ANY,
}  # fmt: skip

_HTTP_GET = {"scheme": "HTTP"}
_PROBE = {
    "failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1,
    "httpGet": _HTTP_GET, "grpc": {"service": ""},
}  # fmt: skip
_FIELD_REF = {"fieldRef": {"apiVersion": "v1"}}
_HOOK = {"httpGet": _HTTP_GET}
_CONTAINER = {
    "imagePullPolicy": ANY, "resources": {}, "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File", "ports": {EACH: {"protocol": "TCP"}},
    "env": {EACH: {"valueFrom": _FIELD_REF}}, "livenessProbe": _PROBE, "readinessProbe": _PROBE,
    "startupProbe": _PROBE, "lifecycle": {"postStart": _HOOK, "preStop": _HOOK},
}  # fmt: skip
_MODE = {"defaultMode": 420}
_VOLUME = {
    "configMap": _MODE, "downwardAPI": {**_MODE, "items": {EACH: _FIELD_REF}},
    "hostPath": {"type": ""}, "projected": _MODE, "secret": _MODE,
}  # fmt: skip
_POD_SPEC = {
    "dnsPolicy": "ClusterFirst", "enableServiceLinks": True, "restartPolicy": "Always",
    "schedulerName": "default-scheduler", "securityContext": {},
    "terminationGracePeriodSeconds": 30, "serviceAccount": ANY,
    "containers": {EACH: _CONTAINER}, "initContainers": {EACH: _CONTAINER},
    "volumes": {EACH: _VOLUME},
}  # fmt: skip
_TEMPLATE = {"metadata": {"creationTimestamp": ANY}, "spec": _POD_SPEC}
_CLAIM_SPEC = {"volumeMode": "Filesystem", "storageClassName": ANY, "volumeName": ANY}
_JOB_SPEC = {
    "backoffLimit": 6, "completionMode": "NonIndexed", "completions": 1, "manualSelector": ANY,
    "parallelism": 1, "podReplacementPolicy": "TerminatingOrFailed", "selector": ANY,
    "suspend": False, "template": {"metadata": ANY, "spec": _POD_SPEC},
}  # fmt: skip

_SPECS: Mapping[Kind, Mapping[str, Any]] = {
    kinds.DEPLOYMENT: {
        "progressDeadlineSeconds": 600, "replicas": 1, "revisionHistoryLimit": 10,
        "strategy": {
            "type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}
        },
        "template": _TEMPLATE,
    },
    kinds.REPLICA_SET: {"replicas": 1, "template": _TEMPLATE},
    kinds.STATEFUL_SET: {
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "template": _TEMPLATE,
        "volumeClaimTemplates": {
            EACH: {"apiVersion": "v1", "kind": ANY, "metadata": ANY, "spec": _CLAIM_SPEC, "status": ANY}
        },
    },
    kinds.DAEMON_SET: {
        "revisionHistoryLimit": 10, "template": _TEMPLATE,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    },
    kinds.JOB: _JOB_SPEC,
    kinds.CRON_JOB: {
        "concurrencyPolicy": "Allow", "failedJobsHistoryLimit": 1, "successfulJobsHistoryLimit": 3,
        "suspend": False,
        "jobTemplate": {"metadata": {"creationTimestamp": ANY}, "spec": {"template": _TEMPLATE}},
    },
    kinds.POD: {
        **_POD_SPEC, "nodeName": ANY, "preemptionPolicy": ANY, "priority": ANY,
        "serviceAccountName": ANY, "tolerations": ANY,
    },
    kinds.SERVICE: {
        "allocateLoadBalancerNodePorts": True, "clusterIP": ANY, "clusterIPs": ANY,
        "externalTrafficPolicy": ANY, "healthCheckNodePort": ANY, "internalTrafficPolicy": "Cluster",
        "ipFamilies": ANY, "ipFamilyPolicy": ANY, "sessionAffinity": "None", "type": "ClusterIP",
        "ports": {EACH: {"nodePort": ANY, "protocol": "TCP", "targetPort": ANY}},
    },
    kinds.PERSISTENT_VOLUME_CLAIM: _CLAIM_SPEC,
    kinds.NAMESPACE: {"finalizers": ANY},
}  # fmt: skip


def exceeds(current: Json, declared: Json, kind: Kind) -> bool:
    """Whether ``current`` holds something that neither ``declared`` nor the server put there."""
    filled = {"apiVersion": ANY, "kind": ANY, "metadata": _METADATA, "status": ANY}
    if kind in _SPECS:
        filled["spec"] = _SPECS[kind]
    if kind == kinds.SECRET:
        filled["type"] = "Opaque"
    return _exceeds(current, declared, filled)


def _exceeds(current: Any, declared: Any, filled: Any) -> bool:
    if filled is ANY:
        return False
    if isinstance(current, dict):
        inner = declared if isinstance(declared, dict) else {}
        return any(
            _exceeds(value, inner.get(key), filled.get(key) if isinstance(filled, dict) else None)
            for key, value in current.items()
        )
    if isinstance(current, list) and isinstance(declared, list) and len(current) == len(declared):
        element = filled.get(EACH) if isinstance(filled, dict) else None
        return any(
            _exceeds(there, wanted, element)
            for there, wanted in zip(current, declared, strict=True)
        )
    return declared is None and not same(current, filled)
