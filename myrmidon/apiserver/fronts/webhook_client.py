"""Call an admission webhook over HTTP."""

import ssl
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang.json import decode, encode

_SECONDS_DEFAULT = 10


async def ask(question: Mapping[str, Any]) -> Json:
    """Return the reply of a webhook, or ``{"error": ...}`` if the call failed."""
    import aiohttp  # noqa: PLC0415 - most servers never call a webhook

    webhook, review = question["webhook"], question["review"]
    client = webhook.get("clientConfig") or {}
    url = client.get("url")
    if not url:
        return {"error": "this server cannot resolve services; use clientConfig.url"}
    timeout = aiohttp.ClientTimeout(total=webhook.get("timeoutSeconds") or _SECONDS_DEFAULT)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url, data=encode(review), headers=headers, ssl=_trust(client)) as answer,
        ):
            body = await answer.read()
            if answer.status != 200:
                return {"error": f"Post {url}: got status {answer.status}"}
            reply = decode(body)
            return reply if isinstance(reply, dict) else {"error": "the answer is not an object"}
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        return {"error": f"Post {url}: {str(error) or type(error).__name__}"}


def _trust(client: Mapping[str, Any]) -> ssl.SSLContext | bool:
    bundle = client.get("caBundle")
    if not bundle:
        return True
    return ssl.create_default_context(cadata=b64decode(bundle).decode())
