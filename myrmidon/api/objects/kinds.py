"""The built-in kinds, as constants: ``kinds.CONFIG_MAP``, ``kinds.DEPLOYMENT``."""

from myrmidon.api.objects.refs import Kind

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
ENDPOINTS = Kind("", "v1", "Endpoints", "endpoints")
EVENT = Kind("", "v1", "Event", "events")
LIMIT_RANGE = Kind("", "v1", "LimitRange", "limitranges")
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
PERSISTENT_VOLUME = Kind("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
PERSISTENT_VOLUME_CLAIM = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
POD = Kind("", "v1", "Pod", "pods")
POD_TEMPLATE = Kind("", "v1", "PodTemplate", "podtemplates")
REPLICATION_CONTROLLER = Kind("", "v1", "ReplicationController", "replicationcontrollers")
RESOURCE_QUOTA = Kind("", "v1", "ResourceQuota", "resourcequotas")
SECRET = Kind("", "v1", "Secret", "secrets")
SERVICE = Kind("", "v1", "Service", "services")
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts")

CONTROLLER_REVISION = Kind("apps", "v1", "ControllerRevision", "controllerrevisions")
DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets")
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets")

CRON_JOB = Kind("batch", "v1", "CronJob", "cronjobs")
JOB = Kind("batch", "v1", "Job", "jobs")

HORIZONTAL_POD_AUTOSCALER = Kind(
    "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"
)
POD_DISRUPTION_BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")

INGRESS = Kind("networking.k8s.io", "v1", "Ingress", "ingresses")
INGRESS_CLASS = Kind("networking.k8s.io", "v1", "IngressClass", "ingressclasses", namespaced=False)
NETWORK_POLICY = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
ENDPOINT_SLICE = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")

_RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLE = Kind(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING = Kind(
    _RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
ROLE = Kind(_RBAC, "v1", "Role", "roles")
ROLE_BINDING = Kind(_RBAC, "v1", "RoleBinding", "rolebindings")

LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")
PRIORITY_CLASS = Kind(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False
)
STORAGE_CLASS = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)

CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
_ADMISSION = "admissionregistration.k8s.io"
MUTATING_WEBHOOK_CONFIGURATION = Kind(
    _ADMISSION,
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
VALIDATING_WEBHOOK_CONFIGURATION = Kind(
    _ADMISSION,
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)

ALL: tuple[Kind, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Kind)
)
