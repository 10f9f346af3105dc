"""The fields that the server fills in by itself, which a full update need not remove.

A full update removes the fields that it leaves out.  To know whether there is anything to remove,
the fields that the server adds to every object (its part of the metadata, the status, the defaults
of built-in kinds) must be told from those that another client added.
"""

from collections.abc import Mapping
from typing import Any, Final

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, metadata
from myrmidon.api.objects.refs import Kind
from myrmidon.api.values.equality import same

ANY: Final = object()  # the server chooses the value
EACH: Final = "[]"  # stands for every element of a list

_METADATA = {
    "creationTimestamp": ANY, "deletionGracePeriodSeconds": ANY, "deletionTimestamp": ANY,
    "generation": ANY, "managedFields": ANY, "namespace": ANY, "resourceVersion": ANY,
    "selfLink": ANY, "uid": ANY,
    # Other parties' claims on the object: a full update carries them over, see sets/planning.py.
    "finalizers": ANY, "ownerReferences": ANY,
}  # fmt: skip

_HTTP_GET = {"path": "/", "scheme": "HTTP"}
_PROBE = {
    "failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1,
    "httpGet": _HTTP_GET, "grpc": {"service": ""},
}  # fmt: skip
_FIELD_REF = {"fieldRef": {"apiVersion": "v1"}, "resourceFieldRef": {"divisor": "0"}}
_HOOK = {"httpGet": _HTTP_GET}
_CONTAINER = {
    "imagePullPolicy": ANY, "resources": {}, "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File", "ports": {EACH: {"hostPort": ANY, "protocol": "TCP"}},
    "env": {EACH: {"valueFrom": _FIELD_REF}}, "livenessProbe": _PROBE, "readinessProbe": _PROBE,
    "startupProbe": _PROBE, "lifecycle": {"postStart": _HOOK, "preStop": _HOOK},
}  # fmt: skip
_MODE = {"defaultMode": 420}
_ITEMS = {"items": {EACH: _FIELD_REF}}
_SOURCE = {"downwardAPI": _ITEMS, "serviceAccountToken": {"expirationSeconds": 3600}}
_HOST_PATH = {"type": ""}
_VOLUME = {
    "configMap": _MODE, "downwardAPI": {**_MODE, **_ITEMS}, "hostPath": _HOST_PATH,
    "projected": {**_MODE, "sources": {EACH: _SOURCE}}, "secret": _MODE,
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

_PEERS = {"ports": {EACH: {"protocol": "TCP"}}}

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
        **_POD_SPEC, "containers": {EACH: {**_CONTAINER, "resources": ANY, "volumeMounts": ANY}},
        "nodeName": ANY, "preemptionPolicy": ANY, "priority": ANY, "serviceAccountName": ANY,
        "tolerations": ANY, "volumes": ANY,
    },
    kinds.SERVICE: {
        "allocateLoadBalancerNodePorts": True, "clusterIP": ANY, "clusterIPs": ANY,
        "externalTrafficPolicy": ANY, "healthCheckNodePort": ANY, "internalTrafficPolicy": "Cluster",
        "ipFamilies": ANY, "ipFamilyPolicy": ANY, "sessionAffinity": "None", "type": "ClusterIP",
        "ports": {EACH: {"nodePort": ANY, "protocol": "TCP", "targetPort": ANY}},
    },
    kinds.PERSISTENT_VOLUME: {
        "claimRef": ANY, "hostPath": _HOST_PATH, "persistentVolumeReclaimPolicy": "Retain",
        "volumeMode": "Filesystem",
    },
    kinds.PERSISTENT_VOLUME_CLAIM: _CLAIM_SPEC,
    kinds.NAMESPACE: {"finalizers": ANY},
    kinds.LIMIT_RANGE: {"limits": {EACH: {"default": ANY, "defaultRequest": ANY}}},
    kinds.HORIZONTAL_POD_AUTOSCALER: {
        "behavior": {"scaleDown": ANY, "scaleUp": ANY}, "metrics": ANY, "minReplicas": 1,
    },
    kinds.NETWORK_POLICY: {
        "egress": {EACH: _PEERS}, "ingress": {EACH: _PEERS}, "policyTypes": ANY,
    },
    kinds.INGRESS_CLASS: {"parameters": {"scope": "Cluster"}},
    kinds.CUSTOM_RESOURCE_DEFINITION: {
        "conversion": {"strategy": "None"}, "names": {"listKind": ANY, "singular": ANY},
    },
}  # fmt: skip

_BINDING = {"roleRef": {"apiGroup": ANY}, "subjects": {EACH: {"apiGroup": ANY}}}
_WEBHOOKS = {
    "webhooks": {
        EACH: {
            "clientConfig": {"service": {"port": 443}}, "failurePolicy": "Fail",
            "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
            "reinvocationPolicy": "Never", "rules": {EACH: {"scope": "*"}}, "timeoutSeconds": 10,
        }
    }
}  # fmt: skip

# What the server fills in outside the spec.
_REST: Mapping[Kind, Mapping[str, Any]] = {
    kinds.CLUSTER_ROLE_BINDING: _BINDING,
    kinds.ENDPOINT_SLICE: {
        "endpoints": {EACH: {"conditions": {}}}, "ports": {EACH: {"name": "", "protocol": "TCP"}},
    },
    kinds.MUTATING_WEBHOOK_CONFIGURATION: _WEBHOOKS,
    kinds.PRIORITY_CLASS: {"preemptionPolicy": "PreemptLowerPriority"},
    kinds.ROLE_BINDING: _BINDING,
    kinds.SECRET: {"type": "Opaque"},
    kinds.STORAGE_CLASS: {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    kinds.VALIDATING_WEBHOOK_CONFIGURATION: _WEBHOOKS,
}  # fmt: skip

# Annotations and labels that the server and its own controllers put back whenever they are removed.
_MARKS: Mapping[Kind, Mapping[str, Any]] = {
    kinds.DAEMON_SET: {"annotations": {"deprecated.daemonset.template.generation": ANY}},
    kinds.DEPLOYMENT: {"annotations": {"deployment.kubernetes.io/revision": ANY}},
    kinds.NAMESPACE: {"labels": {"kubernetes.io/metadata.name": ANY}},
    kinds.PERSISTENT_VOLUME_CLAIM: {
        "annotations": {
            "pv.kubernetes.io/bind-completed": ANY, "pv.kubernetes.io/bound-by-controller": ANY,
            "volume.beta.kubernetes.io/storage-provisioner": ANY,
            "volume.kubernetes.io/selected-node": ANY,
            "volume.kubernetes.io/storage-provisioner": ANY,
        }
    },
    kinds.POD: {"annotations": {"kubernetes.io/limit-ranger": ANY}},
}  # fmt: skip


def exceeds(current: Json, declared: Json, kind: Kind, *, settled: bool = False) -> bool:
    """Whether ``current`` holds a field that neither ``declared`` nor the server put there.

    With ``settled``, the content is known to be unchanged since it was declared: all other fields
    in it are defaults, and only the metadata is compared.
    """
    if settled:
        return _exceeds(metadata(current), metadata(declared), _METADATA)
    meta = {**_METADATA, **_MARKS.get(kind, {})}
    filled = {
        "apiVersion": ANY, "kind": ANY, "metadata": meta, "status": ANY,
        "spec": _SPECS.get(kind), **_REST.get(kind, {}),
    }  # fmt: skip
    return _exceeds(current, declared, filled)


def _exceeds(current: Any, declared: Any, filled: Any) -> bool:
    if filled is ANY or current is None:
        return False
    if declared is None and filled is None:
        return True  # neither the author nor the server put it there
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
