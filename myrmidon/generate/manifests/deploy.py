"""The manifests that run a controller in a cluster: account, Deployment, Service.

The pod asks for nothing that it does not need: it is not root, cannot become root, cannot write
its own file system and has no capabilities.  The limits are for a controller of some thousand
objects; memory has a limit and the processor has none, because a throttled leader loses its lease.
"""

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.generate.manifests.image import USER
from myrmidon.generate.manifests.packaging import Packaging

METRICS_PORT = 8080
HEALTH_PORT = 8081
WEBHOOK_PORT = 9443
WEBHOOK_CERTIFICATES = "/webhook-certificates"
SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path


def namespace(packaging: Packaging) -> Json:
    """The Namespace, with the strictest of the pod security standards."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": packaging.namespace,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        },
    }


def service_account(packaging: Packaging) -> Json:
    """The identity that the roles are bound to."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": packaging.name, "namespace": packaging.namespace},
    }


def deployment(packaging: Packaging) -> Json:
    """Return the Deployment.  During a rollout old and new pods overlap; the lease decides which one writes."""
    return {
        "apiVersion": kinds.DEPLOYMENT.api_version,
        "kind": kinds.DEPLOYMENT.kind,
        "metadata": {
            "name": packaging.name,
            "namespace": packaging.namespace,
            "labels": packaging.labels,
        },
        "spec": {
            "replicas": packaging.replicas,
            "selector": {"matchLabels": packaging.labels},
            "template": {
                "metadata": {
                    "labels": packaging.labels,
                    "annotations": {"kubectl.kubernetes.io/default-container": "controller"},
                },
                "spec": {
                    "serviceAccountName": packaging.name,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": USER,
                        "runAsGroup": USER,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "terminationGracePeriodSeconds": 30,
                    "containers": [_container(packaging)],
                    **({"volumes": [_volume(packaging)]} if _mounts_certificate(packaging) else {}),
                },
            },
        },
    }


def _container(packaging: Packaging) -> Json:
    return {
        "name": "controller",
        "image": packaging.image,
        "args": [
            "run",
            *packaging.target,
            "--shards=auto" if packaging.shards else "--leader-election",
            f"--leader-election-id={packaging.lease}",
            f"--metrics-addr=:{METRICS_PORT}",
            *(["--install-crds"] if packaging.install_crds else []),
            *(["--migrate-storage"] if packaging.migrate_storage else []),
            *(["--metrics-auth"] if packaging.metrics_auth else []),
            f"--health-addr=:{HEALTH_PORT}",
            *_webhook_arguments(packaging),
            "--log-format=json",
        ],
        "ports": [
            {"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
            {"name": "health", "containerPort": HEALTH_PORT, "protocol": "TCP"},
            *(
                [{"name": "webhooks", "containerPort": WEBHOOK_PORT, "protocol": "TCP"}]
                if packaging.serves_webhooks
                else []
            ),
        ],
        **({"volumeMounts": [_MOUNT]} if _mounts_certificate(packaging) else {}),
        "livenessProbe": _probe("/healthz", initial=15, period=20),
        "readinessProbe": _probe("/readyz", initial=5, period=10),
        "resources": {
            "requests": {"cpu": "50m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


_MOUNT: Json = {
    "name": "webhook-certificates",
    "mountPath": WEBHOOK_CERTIFICATES,
    "readOnly": True,
}


def _mounts_certificate(packaging: Packaging) -> bool:
    return packaging.serves_webhooks and packaging.webhook_certificates == "cert-manager"


def _volume(packaging: Packaging) -> Json:
    return {"name": _MOUNT["name"], "secret": {"secretName": packaging.webhook_service}}


def _webhook_arguments(packaging: Packaging) -> list[str]:
    if not packaging.serves_webhooks:
        return []
    made = [f"--webhook-addr=:{WEBHOOK_PORT}", f"--webhook-name={packaging.name}"]
    if _mounts_certificate(packaging):
        made.append(f"--webhook-certs={WEBHOOK_CERTIFICATES}")
    return made


def _probe(path: str, *, initial: int, period: int) -> Json:
    return {
        "httpGet": {"path": path, "port": "health"},
        "initialDelaySeconds": initial,
        "periodSeconds": period,
    }


def metrics_service(packaging: Packaging) -> Json:
    """The Service through which metrics are scraped."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": packaging.metrics_service,
            "namespace": packaging.namespace,
            "labels": packaging.labels,
        },
        "spec": {
            "selector": packaging.labels,
            "ports": [
                {
                    "name": "metrics",
                    "port": METRICS_PORT,
                    "targetPort": "metrics",
                    "protocol": "TCP",
                }
            ],
        },
    }


def service_monitor(packaging: Packaging) -> Json:
    """Return the ServiceMonitor of the Prometheus operator, whose kinds a cluster may lack.

    With ``metrics_auth``, Prometheus sends the token of its own ServiceAccount, which needs the
    ClusterRole ``NAME-metrics-reader`` (``rbac.metrics_roles``).
    """
    endpoint = {"port": "metrics", "interval": "30s"}
    if packaging.metrics_auth:
        endpoint["bearerTokenFile"] = SERVICE_ACCOUNT_TOKEN
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {
            "name": packaging.name,
            "namespace": packaging.namespace,
            "labels": packaging.labels,
        },
        "spec": {
            "selector": {"matchLabels": packaging.labels},
            "endpoints": [endpoint],
        },
    }


def kustomization(resources: list[str]) -> Json:
    """The list of files that ``kubectl apply -k`` reads."""
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    }
