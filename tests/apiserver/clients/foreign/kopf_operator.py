# mypy: ignore-errors
"""An operator for kopf, in the manner of its documentation; it knows nothing of myrmidon."""

import kopf
import kubernetes_asyncio as kubernetes

GROUP, VERSION, PLURAL = "kopf.dev", "v1", "ephemeralvolumeclaims"


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.watching.server_timeout = 60
    settings.persistence.finalizer = "kopf.dev/example"


@kopf.on.create(GROUP, VERSION, PLURAL)
async def create_fn(body, spec, name, namespace, logger, **_):
    size = spec.get("size")
    if not size:
        raise kopf.PermanentError(f"Size must be set. Got {size!r}.")
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": {"example": "kopf"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        },
    }
    kopf.adopt(claim)
    await kubernetes.config.load_kube_config()
    async with kubernetes.client.ApiClient() as client:
        api = kubernetes.client.CoreV1Api(client)
        made = await api.create_namespaced_persistent_volume_claim(namespace=namespace, body=claim)
    logger.info(f"PVC child is created: {made.metadata.name}")
    kopf.info(body, reason="Created", message="PVC child is created")
    return {"pvc-name": made.metadata.name}


@kopf.on.update(GROUP, VERSION, PLURAL)
async def update_fn(spec, status, namespace, logger, **_):
    claim_name = status["create_fn"]["pvc-name"]
    await kubernetes.config.load_kube_config()
    async with kubernetes.client.ApiClient() as client:
        api = kubernetes.client.CoreV1Api(client)
        patch = {"metadata": {"annotations": {"size": spec["size"]}}}
        await api.patch_namespaced_persistent_volume_claim(
            namespace=namespace, name=claim_name, body=patch
        )
    logger.info("PVC child is updated")


@kopf.on.field(GROUP, VERSION, PLURAL, field="metadata.labels")
def relabel(diff, patch, **_):
    patch.status["labels-changed"] = len(diff)


@kopf.on.delete(GROUP, VERSION, PLURAL)
def delete_fn(logger, **_):
    logger.info("it is deleted")


@kopf.on.event("", "v1", "persistentvolumeclaims", labels={"example": "kopf"})
def seen(event, logger, **_):
    logger.info(f"PVC event {event['type']}")


@kopf.index("", "v1", "persistentvolumeclaims")
def claims(name, **_):
    return {name: name}


@kopf.timer(GROUP, VERSION, PLURAL, interval=0.5, initial_delay=0.2)
def tick(patch, status, **_):
    patch.status["ticks"] = status.get("ticks", 0) + 1 if status.get("ticks", 0) < 2 else 2
