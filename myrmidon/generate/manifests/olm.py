"""A bundle for the Operator Lifecycle Manager (OLM): the same manifests in OLM's layout.

::

    manifests/<name>.clusterserviceversion.yaml   the Deployment, its rights and the owned kinds
    manifests/<plural>.<group>.yaml               the definitions
    metadata/annotations.yaml                     which package and channel this is
    bundle.Dockerfile                             an image of these files, for a catalog

OLM creates the ServiceAccount, the roles, their bindings and the namespace from the
ClusterServiceVersion.  It can grant rights in the whole cluster and in the namespace of the operator,
but not in a namespace of another name, so controllers with such rights are refused.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import UsageError
from myrmidon.generate.manifests import deploy
from myrmidon.generate.manifests.layout import (
    Controllers,
    defined_resources,
    definitions_of,
    roles_over_definitions,
)
from myrmidon.generate.manifests.packaging import Packaging
from myrmidon.generate.manifests.rbac import lease_role, metrics_roles, roles
from myrmidon.generate.manifests.webhooks import olm_webhooks, webhook_roles
from myrmidon.generate.manifests.yaml import to_yaml

CHANNEL = "stable"
_OLM_CERTIFICATES = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - where OLM mounts it
_PREFIX = "operators.operatorframework.io.bundle"


def bundle(
    controllers: Controllers, packaging: Packaging, version: str, samples: Sequence[Json] = ()
) -> dict[str, str]:
    """Return the files of the bundle, by path.

    Those of ``samples`` whose kind the bundle defines become the examples that consoles offer.
    """
    version_file = f"manifests/{packaging.name}.clusterserviceversion.yaml"
    annotations = _annotations(packaging)
    return {
        version_file: to_yaml(_cluster_service_version(controllers, packaging, version, samples)),
        **{
            f"manifests/{made['metadata']['name']}.yaml": to_yaml(made)
            for made in definitions_of(controllers)
        },
        "metadata/annotations.yaml": to_yaml({"annotations": annotations}),
        "bundle.Dockerfile": _dockerfile(annotations),
    }


def _annotations(packaging: Packaging) -> dict[str, str]:
    return {
        f"{_PREFIX}.mediatype.v1": "registry+v1",
        f"{_PREFIX}.manifests.v1": "manifests/",
        f"{_PREFIX}.metadata.v1": "metadata/",
        f"{_PREFIX}.package.v1": packaging.name,
        f"{_PREFIX}.channels.v1": CHANNEL,
        f"{_PREFIX}.channel.default.v1": CHANNEL,
    }


def _dockerfile(annotations: dict[str, str]) -> str:
    labels = "".join(f"LABEL {key}={value}\n" for key, value in annotations.items())
    return f"FROM scratch\n{labels}COPY manifests /manifests/\nCOPY metadata /metadata/\n"


def _cluster_service_version(
    controllers: Controllers, packaging: Packaging, version: str, samples: Sequence[Json]
) -> Json:
    made = deploy.deployment(packaging)
    if packaging.serves_webhooks:
        _serve_behind_olm(made)
    first = controllers[0]
    said = (first.__doc__ or "").partition("\n")[0] or f"The controller {packaging.name}."
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"{packaging.name}.v{version}",
            "annotations": {
                "capabilities": "Basic Install",
                "containerImage": packaging.image,
                **_examples(controllers, samples),
            },
        },
        "spec": {
            "displayName": packaging.name,
            "description": said,
            "version": version,
            "maturity": "alpha",
            "provider": {"name": packaging.name},
            "installModes": [
                {"type": mode, "supported": mode == "AllNamespaces"}
                for mode in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
            ],
            "customresourcedefinitions": {"owned": _owned(controllers)},
            **_webhook_definitions(controllers, packaging),
            "install": {
                "strategy": "deployment",
                "spec": {
                    "deployments": [
                        {
                            "name": packaging.name,
                            "label": packaging.labels,
                            "spec": made["spec"],
                        }
                    ],
                    **_rights(controllers, packaging),
                },
            },
        },
    }


def _webhook_definitions(controllers: Controllers, packaging: Packaging) -> Json:
    found = olm_webhooks(packaging, definitions_of(controllers))
    return {"webhookdefinitions": found} if found else {}


def _examples(controllers: Controllers, samples: Sequence[Json]) -> dict[str, str]:
    """Return the annotation with the examples; OLM refuses those of kinds that it does not own."""
    owned = {(each.KIND.api_version, each.KIND.kind) for each in defined_resources(controllers)}
    shown = [each for each in samples if (each.get("apiVersion"), each.get("kind")) in owned]
    return {"alm-examples": json.dumps(shown, indent=2)} if shown else {}


def _serve_behind_olm(deployment: Json) -> None:
    """Let the program read the certificate that OLM makes and mounts, for the Service that it makes."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    service = f"{deployment['metadata']['name']}-service"
    container["args"] += [f"--webhook-certs={_OLM_CERTIFICATES}", f"--webhook-service={service}"]


def _owned(controllers: Controllers) -> list[Json]:
    return [
        {
            "name": f"{resource.KIND.plural}.{resource.KIND.group}",
            "version": resource.KIND.version,
            "kind": resource.KIND.kind,
            "displayName": resource.KIND.kind,
            "description": (resource.__doc__ or resource.KIND.kind).partition("\n")[0],
        }
        for resource in defined_resources(controllers)
    ]


def _rights(controllers: Controllers, packaging: Packaging) -> dict[str, list[Json]]:
    """Return the rights in the whole cluster, and those in the namespace of the operator."""
    made = roles(controllers, packaging.name)
    elsewhere = sorted(role["metadata"]["namespace"] for role in made if role["kind"] == "Role")
    if elsewhere:
        raise UsageError(
            f"OLM cannot grant rights in other namespaces, and the controllers need some in {elsewhere[0]}.\n"
            "  fix: leave out namespaces= of Manages, Reads and ControllerOptions, or install them by Helm or kustomize"
        )
    if packaging.serves_webhooks:
        reads = replace(packaging, webhook_certificates="cert-manager")
        needed = webhook_roles(reads, definitions_of(controllers))
        made += [role for role in needed if role["kind"] == "ClusterRole"]
    made += roles_over_definitions(controllers, packaging).values()
    if packaging.metrics_auth:
        made.append(metrics_roles(packaging.name)[0])
    rules: list[Any] = [rule for role in made for rule in role["rules"]]
    shards, lease = packaging.shards, packaging.lease
    leases = lease_role(packaging.name, packaging.namespace, lease, shards=shards)["rules"]
    return {
        "clusterPermissions": [{"serviceAccountName": packaging.name, "rules": rules}],
        "permissions": [{"serviceAccountName": packaging.name, "rules": leases}],
    }
