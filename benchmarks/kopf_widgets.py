"""The job of ``widget.py`` for kopf, as its users would write it."""

from datetime import UTC, datetime
from typing import Any

import kopf
from kubernetes_asyncio import client, config

_APIS: dict[str, Any] = {}


@kopf.on.startup()  # type: ignore[untyped-decorator]
async def connect(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Create one client for all handlers, and turn events off."""
    settings.posting.enabled = False
    await config.load_kube_config()
    _APIS["core"] = client.CoreV1Api()


@kopf.on.create("bench.dev", "v1", "widgets")  # type: ignore[untyped-decorator]
@kopf.on.update("bench.dev", "v1", "widgets")  # type: ignore[untyped-decorator]
async def widget(
    body: kopf.Body, spec: kopf.Spec, meta: kopf.Meta, patch: kopf.Patch, **_: Any
) -> None:
    """Create or patch three ConfigMaps, then report it."""
    for letter in "abc":
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{meta['name']}-{letter}", "namespace": meta["namespace"]},
            "data": {"value": spec["value"]},
        }
        kopf.adopt(manifest, owner=body)
        await _ensure(manifest)
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Done",
        "message": "",
        "observedGeneration": meta["generation"],
        "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),  # noqa: TID251
    }
    patch.status["conditions"] = [ready]


async def _ensure(manifest: dict[str, Any]) -> None:
    core, meta = _APIS["core"], manifest["metadata"]
    try:
        await core.create_namespaced_config_map(meta["namespace"], manifest)
    except client.ApiException as error:
        if error.status != 409:
            raise
        kind = {"_content_type": "application/merge-patch+json"}
        await core.patch_namespaced_config_map(meta["name"], meta["namespace"], manifest, **kind)
