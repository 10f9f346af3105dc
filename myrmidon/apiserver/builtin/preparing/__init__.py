"""Changes to an object of a built-in kind before validation.

On a create, they reset the fields that clients may not set, and fill in values that are neither
defaults nor computed by a controller, such as the cluster IP of a Service.  On an update, they
restore the fields that the request may not change.
"""

from collections.abc import Callable
from typing import TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.lookup import ObjectLookup
from myrmidon.apiserver.builtin.preparing import core, pods, services, storage, workloads

OnCreate: TypeAlias = Callable[[Json, ObjectLookup], None]
OnUpdate: TypeAlias = Callable[[Json, Json, ObjectLookup], None]

# By group and kind.
ON_CREATE: dict[tuple[str, str], OnCreate] = {
    ("", "Namespace"): core.create_namespace,
    ("", "Node"): core.create_node,
    ("", "PersistentVolume"): storage.create_volume,
    ("", "PersistentVolumeClaim"): storage.create_claim,
    ("", "Pod"): pods.create_pod,
    ("", "Service"): services.create_service,
    ("apps", "DaemonSet"): workloads.create_daemon_set,
    ("batch", "Job"): workloads.create_job,
    ("coordination.k8s.io", "Lease"): core.create_lease,
}

ON_UPDATE: dict[tuple[str, str], OnUpdate] = {
    ("", "Namespace"): core.update_namespace,
    ("coordination.k8s.io", "Lease"): core.update_lease,
    ("", "Pod"): pods.update_pod,
    ("", "Secret"): core.update_secret,
    ("", "Service"): services.update_service,
    ("apps", "DaemonSet"): workloads.update_daemon_set,
}

ON_STATUS: dict[tuple[str, str], OnUpdate] = {
    ("", "Pod"): pods.update_pod_status,
    ("", "PersistentVolume"): storage.update_volume_status,
    ("apps", "DaemonSet"): workloads.update_daemon_set_status,
    ("apps", "Deployment"): workloads.update_deployment_status,
    ("apiregistration.k8s.io", "APIService"): core.update_service_status,
}

__all__ = ["ON_CREATE", "ON_STATUS", "ON_UPDATE", "OnCreate", "OnUpdate"]
