"""Validation of the built-in kinds, with the fields, reasons and messages of the real server.

A rule is a generator of causes.  The tables below have the rules by group and kind, one table for
each situation.  Metadata is validated in ``resources.metadata``, in the same way for all kinds.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.lookup import ObjectLookup
from myrmidon.apiserver.builtin.validation import (
    access,
    admission_policies,
    autoscaling,
    config,
    ephemeral,
    events,
    extensions,
    jobs,
    networking,
    pods,
    policies,
    quotas,
    services,
    storage,
    workloads,
)
from myrmidon.apiserver.refusals.failures import StatusCause

CreateRule: TypeAlias = Callable[[Json], Iterable[StatusCause]]
UpdateRule: TypeAlias = Callable[[Json, Json], Iterable[StatusCause]]
ClusterRule: TypeAlias = Callable[[Json, ObjectLookup], Iterable[StatusCause]]

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_NETWORKING = "networking.k8s.io"

# Rules that run before all others: if they find errors, no other rule runs.
FIRST_RULES: dict[tuple[str, str], CreateRule] = {
    ("", "Service"): services.check_addresses,
}

# Rules for an object, on create and update.
RULES: dict[tuple[str, str], CreateRule] = {
    ("", "ConfigMap"): config.check_config_map,
    ("", "Event"): events.check_event,
    ("events.k8s.io", "Event"): events.check_new_event,
    ("", "Secret"): config.check_secret,
    ("", "Pod"): pods.check_pod,
    ("", "PodTemplate"): pods.check_pod_template_object,
    ("", "ReplicationController"): workloads.check_replication_controller,
    ("", "Service"): services.check_service,
    ("", "PersistentVolume"): storage.check_volume,
    ("", "PersistentVolumeClaim"): storage.check_claim,
    ("", "ResourceQuota"): quotas.check_quota,
    ("", "LimitRange"): quotas.check_limit_range,
    ("", "Node"): policies.check_node,
    ("", "Namespace"): policies.check_namespace,
    ("", "Endpoints"): networking.check_endpoints,
    ("node.k8s.io", "RuntimeClass"): policies.check_runtime_class,
    ("storage.k8s.io", "StorageClass"): storage.check_storage_class,
    ("apps", "Deployment"): workloads.check_deployment,
    ("apps", "ReplicaSet"): workloads.check_replica_set,
    ("apps", "StatefulSet"): workloads.check_stateful_set,
    ("apps", "DaemonSet"): workloads.check_daemon_set,
    ("batch", "Job"): jobs.check_job,
    ("batch", "CronJob"): jobs.check_cron_job,
    (_RBAC, "Role"): access.check_role,
    (_RBAC, "ClusterRole"): access.check_cluster_role,
    (_RBAC, "RoleBinding"): access.check_role_binding,
    (_RBAC, "ClusterRoleBinding"): access.check_cluster_role_binding,
    ("coordination.k8s.io", "Lease"): events.check_lease,
    (_NETWORKING, "Ingress"): networking.check_ingress,
    (_NETWORKING, "IngressClass"): networking.check_ingress_class,
    (_NETWORKING, "NetworkPolicy"): networking.check_network_policy,
    ("discovery.k8s.io", "EndpointSlice"): networking.check_endpoint_slice,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.check_autoscaler,
    ("policy", "PodDisruptionBudget"): policies.check_disruption_budget,
    (_ADMISSION, "ValidatingWebhookConfiguration"): extensions.check_webhooks,
    (_ADMISSION, "MutatingWebhookConfiguration"): extensions.check_webhooks,
    (_ADMISSION, "ValidatingAdmissionPolicy"): admission_policies.check_validating_policy,
    (_ADMISSION, "MutatingAdmissionPolicy"): admission_policies.check_mutating_policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): admission_policies.check_validating_binding,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): admission_policies.check_mutating_binding,
    ("apps", "ControllerRevision"): workloads.check_revision,
}

# Additional rules on create.
CREATE_RULES: dict[tuple[str, str], CreateRule] = {
    ("", "Pod"): ephemeral.check_ephemeral_creation,
    ("scheduling.k8s.io", "PriorityClass"): policies.check_priority_class,
    ("events.k8s.io", "Event"): events.check_new_event_creation,
    ("batch", "CronJob"): jobs.check_cron_job_name,
    ("apps", "StatefulSet"): workloads.check_stateful_set_creation,
}

# Additional rules on update, which compare the new object with the old one.
UPDATE_RULES: dict[tuple[str, str], UpdateRule] = {
    ("", "ConfigMap"): config.check_config_map_change,
    ("", "Secret"): config.check_secret_change,
    ("events.k8s.io", "Event"): events.check_new_event_change,
    ("", "Pod"): pods.check_pod_change,
    ("", "Service"): services.check_service_change,
    ("", "PersistentVolume"): storage.check_volume_change,
    ("", "PersistentVolumeClaim"): storage.check_claim_change,
    ("apps", "Deployment"): workloads.check_selector_change,
    ("apps", "ReplicaSet"): workloads.check_selector_change,
    ("apps", "DaemonSet"): workloads.check_selector_change,
    ("apps", "StatefulSet"): workloads.check_stateful_set_change,
    ("apps", "ControllerRevision"): workloads.check_revision_change,
    ("batch", "Job"): jobs.check_job_change,
    (_RBAC, "RoleBinding"): access.check_binding_change,
    (_RBAC, "ClusterRoleBinding"): access.check_binding_change,
    ("scheduling.k8s.io", "PriorityClass"): policies.check_priority_class_change,
    ("storage.k8s.io", "StorageClass"): storage.check_storage_class_change,
    (_NETWORKING, "IngressClass"): networking.check_ingress_class_change,
}

# Rules for an update through a subresource other than status.
SUBRESOURCE_RULES: dict[str, UpdateRule] = {
    "ephemeralcontainers": ephemeral.check_ephemeral_change,
}

# Rules for an update of the status.
STATUS_RULES: dict[tuple[str, str], CreateRule] = {
    ("apps", "Deployment"): workloads.check_deployment_status,
    ("apps", "ReplicaSet"): workloads.check_replica_set_status,
    ("apps", "StatefulSet"): workloads.check_stateful_set_status,
    ("apps", "DaemonSet"): workloads.check_daemon_set_status,
    ("", "ReplicationController"): workloads.check_replica_set_status,
    ("", "Pod"): pods.check_pod_status,
    ("", "Service"): services.check_service_status,
    ("", "Namespace"): policies.check_namespace_status,
    ("policy", "PodDisruptionBudget"): policies.check_disruption_budget_status,
}

# Rules that read other objects.
CLUSTER_RULES: dict[tuple[str, str], ClusterRule] = {
    ("", "Service"): services.check_free,
}

__all__ = [
    "CLUSTER_RULES",
    "CREATE_RULES",
    "FIRST_RULES",
    "RULES",
    "STATUS_RULES",
    "SUBRESOURCE_RULES",
    "UPDATE_RULES",
]
