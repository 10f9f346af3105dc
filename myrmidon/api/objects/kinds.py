"""The built-in kinds, as constants: ``kinds.CONFIG_MAP``, ``kinds.DEPLOYMENT``.

These are all kinds that an API server stores in its stable versions.  A test compares the list with
the embedded server's.
"""

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
HORIZONTAL_POD_AUTOSCALER_V1 = HORIZONTAL_POD_AUTOSCALER._replace(version="v1")
POD_DISRUPTION_BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")

INGRESS = Kind("networking.k8s.io", "v1", "Ingress", "ingresses")
INGRESS_CLASS = Kind("networking.k8s.io", "v1", "IngressClass", "ingressclasses", namespaced=False)
NETWORK_POLICY = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
IP_ADDRESS = Kind("networking.k8s.io", "v1", "IPAddress", "ipaddresses", namespaced=False)
SERVICE_CIDR = Kind("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", namespaced=False)
ENDPOINT_SLICE = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
EVENTS_EVENT = Kind("events.k8s.io", "v1", "Event", "events")

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
RUNTIME_CLASS = Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False)

_STORAGE = "storage.k8s.io"
CSI_DRIVER = Kind(_STORAGE, "v1", "CSIDriver", "csidrivers", namespaced=False)
CSI_NODE = Kind(_STORAGE, "v1", "CSINode", "csinodes", namespaced=False)
CSI_STORAGE_CAPACITY = Kind(_STORAGE, "v1", "CSIStorageCapacity", "csistoragecapacities")
STORAGE_CLASS = Kind(_STORAGE, "v1", "StorageClass", "storageclasses", namespaced=False)
VOLUME_ATTACHMENT = Kind(_STORAGE, "v1", "VolumeAttachment", "volumeattachments", namespaced=False)
VOLUME_ATTRIBUTES_CLASS = Kind(
    _STORAGE, "v1", "VolumeAttributesClass", "volumeattributesclasses", namespaced=False
)

_RESOURCE = "resource.k8s.io"
DEVICE_CLASS = Kind(_RESOURCE, "v1", "DeviceClass", "deviceclasses", namespaced=False)
RESOURCE_CLAIM = Kind(_RESOURCE, "v1", "ResourceClaim", "resourceclaims")
RESOURCE_CLAIM_TEMPLATE = Kind(_RESOURCE, "v1", "ResourceClaimTemplate", "resourceclaimtemplates")
RESOURCE_SLICE = Kind(_RESOURCE, "v1", "ResourceSlice", "resourceslices", namespaced=False)

API_SERVICE = Kind("apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False)
CERTIFICATE_SIGNING_REQUEST = Kind(
    "certificates.k8s.io",
    "v1",
    "CertificateSigningRequest",
    "certificatesigningrequests",
    namespaced=False,
)
_FLOW_CONTROL = "flowcontrol.apiserver.k8s.io"
FLOW_SCHEMA = Kind(_FLOW_CONTROL, "v1", "FlowSchema", "flowschemas", namespaced=False)
PRIORITY_LEVEL_CONFIGURATION = Kind(
    _FLOW_CONTROL,
    "v1",
    "PriorityLevelConfiguration",
    "prioritylevelconfigurations",
    namespaced=False,
)

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
MUTATING_ADMISSION_POLICY = Kind(
    _ADMISSION, "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", namespaced=False
)
MUTATING_ADMISSION_POLICY_BINDING = Kind(
    _ADMISSION,
    "v1",
    "MutatingAdmissionPolicyBinding",
    "mutatingadmissionpolicybindings",
    namespaced=False,
)
VALIDATING_ADMISSION_POLICY = Kind(
    _ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", namespaced=False
)
VALIDATING_ADMISSION_POLICY_BINDING = Kind(
    _ADMISSION,
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)

ALL: tuple[Kind, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Kind)
)
