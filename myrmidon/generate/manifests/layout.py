"""Which manifest goes into which file: paths to texts, which the command line writes or compares.

::

    kustomization.yaml          kubectl apply -k .
    crd/<plural>.<group>.yaml   one file for each kind
    rbac/…                      the account, its roles and their bindings
    deploy/…                    namespace, Deployment, Service
    webhooks/…                  if the program validates or defaults objects in Python
    monitoring/…                only for clusters with the Prometheus operator
    Dockerfile                  unless the program has one of its own
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.object_types import is_defined_here
from myrmidon.api.typed.resource import Resource
from myrmidon.errors import UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.declaration.shapes import Manages, Reads
from myrmidon.generate.manifests import deploy
from myrmidon.generate.manifests.alerts import prometheus_rule
from myrmidon.generate.manifests.image import dockerfile
from myrmidon.generate.manifests.packaging import Packaging
from myrmidon.generate.manifests.rbac import (
    binding,
    install_role,
    lease_role,
    metrics_roles,
    migration_role,
    roles,
)
from myrmidon.generate.manifests.webhooks import ROLES as WEBHOOK_ROLES
from myrmidon.generate.manifests.webhooks import (
    injected_by_cert_manager,
    webhook_files,
    webhook_roles,
)
from myrmidon.generate.manifests.yaml import to_yaml
from myrmidon.generate.schema.definitions import conversion_client, crds

What: TypeAlias = Literal["crd", "rbac", "deploy", "all"]
Controllers: TypeAlias = Sequence[type[Controller[Any]]]

NAMESPACE = "deploy/namespace.yaml"
DEPLOYMENT = "deploy/deployment.yaml"
METRICS_SERVICE = "deploy/metrics-service.yaml"
METRICS_AUTH = "rbac/metrics-auth.yaml"
SERVICE_MONITOR = "monitoring/service-monitor.yaml"
PROMETHEUS_RULE = "monitoring/prometheus-rule.yaml"


def files(
    what: What,
    controllers: Controllers,
    packaging: Packaging,
    resources: Sequence[type[Resource[Any, Any]]] = (),
) -> dict[str, str]:
    """Return the files of one sort or of all, by path.

    ``resources`` are defined in addition to those of the controllers: types without a controller.
    """
    manifests = manifest_files(what, controllers, packaging, resources)
    texts = {path: to_yaml(documents) for path, documents in manifests.items()}
    if what in ("deploy", "all"):
        monitoring = monitoring_files(packaging)
        texts |= {path: to_yaml(documents) for path, documents in monitoring.items()}
        if packaging.image_source is not None:
            texts["Dockerfile"] = dockerfile(packaging.image_source)
    if what == "all":
        texts["kustomization.yaml"] = to_yaml(deploy.kustomization(list(manifests)))
    return texts


def manifest_files(
    what: What,
    controllers: Controllers,
    packaging: Packaging,
    resources: Sequence[type[Resource[Any, Any]]] = (),
) -> dict[str, list[Json]]:
    """Return the manifests that every cluster accepts, by the path of their file."""
    manifests: dict[str, list[Json]] = {}
    if what in ("crd", "all"):
        every = (*defined_resources(controllers), *resources)
        manifests |= _definition_files(every, packaging)
    if what in ("rbac", "all"):
        manifests |= _rbac_files(controllers, packaging)
    if what in ("deploy", "all"):
        manifests |= _deploy_files(packaging)
        manifests |= webhook_files(packaging)
    return manifests


def monitoring_files(packaging: Packaging) -> dict[str, list[Json]]:
    """Return the manifests that only clusters with the Prometheus operator accept, by path."""
    return {
        SERVICE_MONITOR: [deploy.service_monitor(packaging)],
        PROMETHEUS_RULE: [prometheus_rule(packaging)],
    }


def defined_resources(controllers: Controllers) -> list[type[Resource[Any, Any]]]:
    """Return the resources that this program defines: those that it controls, manages or reads.

    The group does not matter: a program may have several.  Built-in kinds and kinds of other
    projects (classes with ``of=``) have their definition elsewhere.
    """
    found: dict[type[Resource[Any, Any]], None] = {}
    for controller in controllers:
        if is_defined_here(controller.resource):
            found[controller.resource] = None
        for entry in (*controller.manages, *controller.reads):
            listed: Any = entry.kind if isinstance(entry, Manages | Reads) else entry
            if is_defined_here(listed):
                found[listed] = None
    return list(found)


def definitions_of(
    controllers: Iterable[type[Controller[Any]]], *, client: Json | None = None
) -> list[Json]:
    """The definitions of the resources that are ours, see ``defined_resources``.

    ``client`` is the clientConfig of the conversion webhook, for kinds with several versions.
    """
    return crds(defined_resources(list(controllers)), client=client)


def _definition_files(
    resources: Iterable[type[Resource[Any, Any]]], packaging: Packaging
) -> dict[str, list[Json]]:
    """Return the definitions of resources, each in a file named after it.

    The Service of the program's webhooks converts; the CA bundle is injected in the cluster.
    """
    client = conversion_client(packaging.namespace, packaging.webhook_service)
    made = crds(resources, client=client)
    for each in made:
        if "conversion" in each["spec"] and packaging.webhook_certificates == "cert-manager":
            each["metadata"]["annotations"] = injected_by_cert_manager(packaging)
    return {f"crd/{each['metadata']['name']}.yaml": [each] for each in made}


def _rbac_files(controllers: Controllers, packaging: Packaging) -> dict[str, list[Json]]:
    made = roles(controllers, packaging.name, packaging.cluster)
    if packaging.cluster:
        return {
            "rbac/service-account.yaml": [
                deploy.namespace(packaging),
                deploy.service_account(packaging),
            ],
            "rbac/role.yaml": made,
            "rbac/role-binding.yaml": _bindings(made, packaging),
        }
    leases = lease_role(
        packaging.name, packaging.namespace, packaging.lease, shards=packaging.shards
    )
    found: dict[str, list[Json]] = {
        "rbac/service-account.yaml": [deploy.service_account(packaging)],
        "rbac/role.yaml": made,
        "rbac/role-binding.yaml": _bindings(made, packaging),
        "rbac/leader-election.yaml": [leases, *_bindings([leases], packaging)],
    }
    for path, role in roles_over_definitions(controllers, packaging).items():
        found[path] = [role, *_bindings([role], packaging)]
    if packaging.serves_webhooks:
        found[WEBHOOK_ROLES] = webhook_roles(packaging, definitions_of(controllers))
    if packaging.metrics_auth:
        checks, reads = metrics_roles(packaging.name)
        found[METRICS_AUTH] = [checks, *_bindings([checks], packaging), reads]
    return found


def roles_over_definitions(controllers: Controllers, packaging: Packaging) -> dict[str, Json]:
    """Return the ClusterRoles to install definitions and to migrate objects, by path, if wanted."""
    found: dict[str, Json] = {}
    definitions = definitions_of(controllers)
    if packaging.install_crds:
        names = [made["metadata"]["name"] for made in definitions]
        found["rbac/install-crds.yaml"] = install_role(packaging.name, names)
    if packaging.migrate_storage:
        migrates = migration_role(packaging.name, definitions)
        if migrates is None:
            raise UsageError(
                "no kind of this program has several versions, so there is nothing to migrate.\n"
                "  fix: leave out --migrate-storage, or declare the old version with converts="
            )
        found["rbac/migrate-storage.yaml"] = migrates
    return found


def _bindings(made: Iterable[Json], packaging: Packaging) -> list[Json]:
    return [binding(role, packaging.name, packaging.namespace) for role in made]


def _deploy_files(packaging: Packaging) -> dict[str, list[Json]]:
    return {
        NAMESPACE: [deploy.namespace(packaging)],
        DEPLOYMENT: [deploy.deployment(packaging)],
        METRICS_SERVICE: [deploy.metrics_service(packaging)],
    }
