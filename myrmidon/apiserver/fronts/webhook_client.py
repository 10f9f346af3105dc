"""Call a webhook over HTTPS, for admission or conversion.

A question holds the webhook (its ``clientConfig`` and ``timeoutSeconds``), the review, and for a
webhook that is named by its Service the address of that (``admission.services``).  The reply is the
document that the webhook sent, or ``{"error": text}``; texts are those of the real server's client, and
never contain what only Python knows.
"""

import ssl
from base64 import b64decode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from myrmidon.apiserver.admission.replies import read_reply
from myrmidon.apiserver.admission.services import ServiceAddress
from myrmidon.apiserver.golang.json import encode

if TYPE_CHECKING:
    import aiohttp

_SECONDS_DEFAULT = 10
_PORT_DEFAULT = 443


async def ask(question: Mapping[str, Any]) -> Any:
    """Return the reply of a webhook, or ``{"error": ...}`` if the call failed."""
    import aiohttp  # noqa: PLC0415 - most servers never call a webhook

    webhook = question["webhook"]
    client = webhook.get("clientConfig") or {}
    seconds = webhook.get("timeoutSeconds") or _SECONDS_DEFAULT
    service: ServiceAddress | None = question.get("service")
    url = _known_as(client, service)
    if not url:
        return {"error": "webhook configuration must have either service or URL"}
    said = f'Post "{url}?timeout={seconds}s"'
    if service is not None and service.problem:
        return {"error": f"{said}: {service.problem}"}
    target, server_name = f"{url}?timeout={seconds}s", None
    if service is not None:
        host = f"[{service.host}]" if ":" in service.host else service.host
        path = urlsplit(url).path
        target = f"https://{host}:{service.port}{path}?timeout={seconds}s"
        server_name = service.server_name
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    timeout = aiohttp.ClientTimeout(total=seconds)
    try:
        trust = _trust(client)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(
                target,
                data=encode(question["review"]),
                headers=headers,
                ssl=trust,
                allow_redirects=False,
                server_hostname=server_name,
            ) as answer,
        ):
            body = await answer.read()
            return read_reply(answer.status, answer.headers.get("Content-Type", ""), body)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return {"error": f"{said}: {_problem(error)}"}


def _known_as(client: Mapping[str, Any], service: ServiceAddress | None) -> str:
    """Return the URL that messages show: without query, with at least a slash as its path."""
    if service is not None:
        return service.url
    parts = urlsplit(client.get("url") or "")
    return f"{parts.scheme}://{parts.netloc}{parts.path or '/'}" if parts.netloc else ""


def _trust(client: Mapping[str, Any]) -> ssl.SSLContext | bool:
    bundle = client.get("caBundle")
    if not bundle:
        return True
    return ssl.create_default_context(cadata=b64decode(bundle).decode())


def _problem(error: "aiohttp.ClientError | OSError | ValueError") -> str:
    """Return the words of Go's client for an error of ours."""
    import aiohttp  # noqa: PLC0415 - see ask

    match error:
        case TimeoutError():
            return "context deadline exceeded"
        case aiohttp.ClientConnectorCertificateError(certificate_error=cause):
            return f"tls: failed to verify certificate: x509: {_distrust(cause)}"
        case aiohttp.ClientConnectorSSLError():
            return "remote error: tls: handshake failure"
        case aiohttp.ClientConnectorDNSError(host=host):
            return f"dial tcp: lookup {host}: no such host"
        case aiohttp.ClientConnectorError(host=host, port=port, os_error=cause):
            said = (cause.strerror or "connection failed").lower()
            return f"dial tcp {host}:{port}: connect: {_cause(cause, said)}"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
            return "EOF"
        case aiohttp.InvalidURL():
            return "unsupported protocol scheme"
        case OSError(strerror=said) if said:
            return said.lower()
        case _:
            return "the connection failed"


def _cause(error: OSError, otherwise: str) -> str:
    return "connection refused" if isinstance(error, ConnectionRefusedError) else otherwise


def _distrust(cause: Exception) -> str:
    said = getattr(cause, "verify_message", "") or ""
    if "not valid for" in said or "doesn't match" in said:
        return "certificate is not valid for the name of the webhook"
    if "expired" in said:
        return "certificate has expired or is not yet valid"
    return "certificate signed by unknown authority"
