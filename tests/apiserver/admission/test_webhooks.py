"""Admission webhooks are called over HTTPS, and their responses are applied."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from myrmidon.api import Json
from myrmidon.api.objects import kinds
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.local.certificates import make_certificate
from myrmidon.errors import ForbiddenError, ServerError
from myrmidon.io.client import Client

Answer = Callable[[Json], Json]


@asynccontextmanager
async def webhook(answer: Answer) -> AsyncIterator[Json]:
    """Serve a webhook; yield the clientConfig for it."""
    certificate = make_certificate("127.0.0.1")

    async def respond(request: web.Request) -> web.Response:
        asked = (await request.json())["request"]
        response = {"uid": asked["uid"], **answer(asked)}
        return web.json_response(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        )

    application = web.Application()
    application.router.add_post("/", respond)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=certificate.context()).start()
    try:
        bundle = b64encode(certificate.pem).decode()
        yield {"url": f"https://127.0.0.1:{runner.addresses[0][1]}/", "caBundle": bundle}
    finally:
        await runner.cleanup()


def configuration(kind: Any, client: Json, **more: Any) -> Json:
    """Build a configuration that covers every write of a ConfigMap."""
    rule = {
        "operations": ["CREATE", "UPDATE"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
    }
    hook = {
        "name": "guard.example.com",
        "rules": [rule],
        "clientConfig": client,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": "guard"},
        "webhooks": [hook],
    }


def config_map(name: str, **data: str) -> Json:
    """A ConfigMap in the default namespace."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }


def test_a_mutating_webhook_changes_what_is_stored() -> None:
    """Its patch is applied before validation, and it sees the uid that the object will have."""
    seen: list[Json] = []

    def label(asked: Json) -> Json:
        seen.append(asked)
        patch = [{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]
        return {
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": b64encode(json.dumps(patch).encode()).decode(),
        }

    async def main() -> Json:
        client = Client(LocalTransport(ApiServer()))
        async with webhook(label) as where:
            kind = kinds.MUTATING_WEBHOOK_CONFIGURATION
            await client.create(kind, configuration(kind, where))
            return await client.create(kinds.CONFIG_MAP, config_map("a", k="v"))

    made = asyncio.run(main())

    assert made["metadata"]["labels"] == {"seen": "yes"}
    assert [(asked["operation"], asked["object"]["data"]) for asked in seen] == [
        ("CREATE", {"k": "v"})
    ]


def test_a_validating_webhook_refuses() -> None:
    """Its message reaches the client, and nothing is stored."""

    def judge(asked: Json) -> Json:
        bad = "bad" in asked["object"]["data"]
        status = {"code": 403, "reason": "Forbidden", "message": "bad data"}
        return {"allowed": False, "status": status} if bad else {"allowed": True}

    async def main() -> int:
        server = ApiServer()
        client = Client(LocalTransport(server))
        async with webhook(judge) as where:
            kind = kinds.VALIDATING_WEBHOOK_CONFIGURATION
            await client.create(kind, configuration(kind, where))
            await client.create(kinds.CONFIG_MAP, config_map("good", k="v"))
            expected = 'admission webhook "guard.example.com" denied the request: bad data'
            with pytest.raises(ForbiddenError, match=expected):
                await client.create(kinds.CONFIG_MAP, config_map("worse", bad="v"))
        return server.store.count("configmaps")

    assert asyncio.run(main()) == 1


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_webhook_that_is_down_fails_or_is_ignored(policy: str) -> None:
    """``failurePolicy`` decides."""

    async def main() -> int:
        server = ApiServer()
        client = Client(LocalTransport(server))
        async with webhook(lambda _asked: {"allowed": True}) as where:
            pass  # and it is stopped
        kind = kinds.VALIDATING_WEBHOOK_CONFIGURATION
        await client.create(kind, configuration(kind, where, failurePolicy=policy))
        if policy == "Ignore":
            await client.create(kinds.CONFIG_MAP, config_map("a"))
        else:
            with pytest.raises(ServerError, match="failed calling webhook"):
                await client.create(kinds.CONFIG_MAP, config_map("a"))
        return server.store.count("configmaps")

    assert asyncio.run(main()) == (1 if policy == "Ignore" else 0)


def test_selectors_spare_objects() -> None:
    """The webhook is not called for objects that its selectors exclude."""

    async def main() -> Json:
        client = Client(LocalTransport(ApiServer()))
        kind = kinds.VALIDATING_WEBHOOK_CONFIGURATION
        unreachable = {"url": "https://127.0.0.1:1/"}
        selector = {"matchLabels": {"guarded": "yes"}}
        await client.create(kind, configuration(kind, unreachable, objectSelector=selector))
        return await client.create(kinds.CONFIG_MAP, config_map("free"))

    assert asyncio.run(main())["metadata"]["name"] == "free"
