"""A server whose webhooks are functions of the test: it notes what it is asked."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

from myrmidon.api import Json
from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer

GROUP = "/apis/admissionregistration.k8s.io/v1"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
Judge = Callable[[Json], Json]


class Asking:
    """A server, and the requests of the reviews that its webhooks got, by the name of the webhook."""

    def __init__(self, **options: Any) -> None:
        self.server = ApiServer(**options)
        self.server.webhook_client = self._answer
        self.asked: list[tuple[str, Json]] = []
        self.judges: dict[str, Judge] = {}

    async def _answer(self, question: Mapping[str, Any]) -> Json:
        name, request = question["webhook"]["name"], question["review"]["request"]
        self.asked.append((name, request))
        reply = self.judges[name](request)
        if "error" in reply:
            return reply
        response = {"uid": request["uid"], **reply}
        return {
            "apiVersion": question["review"]["apiVersion"],
            "kind": "AdmissionReview",
            "response": response,
        }

    def webhook(self, name: str, judge: Judge, *, mutating: bool = False, **more: Any) -> None:
        """Configure a webhook for ConfigMaps, Deployments and Pods."""
        kind = "Mutating" if mutating else "Validating"
        rule = {
            "operations": ["*"],
            "apiGroups": ["*"],
            "apiVersions": ["*"],
            "resources": ["configmaps", "deployments/*", "pods/*"],
        }
        hook = {
            "name": f"{name}.example.com",
            "rules": [rule],
            "clientConfig": {"url": "https://webhook.example.com"},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **more,
        }
        configuration = {"metadata": {"name": name}, "webhooks": [hook]}
        self.judges[hook["name"]] = judge
        made = self.send("POST", f"{GROUP}/{kind.lower()}webhookconfigurations", configuration)
        assert made.status == 201, made.body

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        *,
        query: tuple[tuple[str, str], ...] = (),
        user: User | None = None,
    ) -> HttpResponse:
        """Send a request and wait for its answer."""
        text = b"" if body is None else json.dumps(body).encode()
        headers = {"accept": "application/json", "content-type": content_type}
        request = HttpRequest(method, path, query, headers, text)
        return asyncio.run(LocalTransport(self.server, user=user).send(request))

    def create(self, name: str, **more: Any) -> HttpResponse:
        """Create a ConfigMap."""
        metadata = {"name": name, **more.pop("metadata", {})}
        return self.send("POST", CONFIG_MAPS, {"metadata": metadata, **more})

    def names(self) -> list[str]:
        """Return the ConfigMaps that are stored."""
        found = json.loads(self.send("GET", CONFIG_MAPS).body)["items"]
        return [each["metadata"]["name"] for each in found]


def allow(_: Json) -> Json:
    """Allow everything."""
    return {"allowed": True}


def patching(*operations: Json) -> Json:
    """Return a response with a patch."""
    patch = b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patch": patch, "patchType": "JSONPatch"}


def message(response: HttpResponse) -> str:
    """Return the message of a Status."""
    return str(json.loads(response.body)["message"])


def warnings(response: HttpResponse) -> list[str]:
    """Return the texts of the Warning headers."""
    return [value[7:-1] for name, value in response.headers if name == "warning"]
