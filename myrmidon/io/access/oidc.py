"""OpenID Connect: the auth provider ``oidc`` of a kubeconfig, with its id token and refresh token.

The provider is asked for a new id token when the old one expires or is refused.  If its URL is
https, its certificate is always verified, with its own CA if the kubeconfig names one, because the
refresh token that is sent there is worth more than the id token that comes back.  New tokens are
written into the kubeconfig, as kubectl does, because many providers accept a refresh token only
once.
"""

import asyncio
import base64
import binascii
import logging
import ssl
from collections.abc import Callable, MutableMapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import orjson

from myrmidon.api.clock import Clock
from myrmidon.errors import UnreachableError
from myrmidon.io.access.connect_errors import why
from myrmidon.io.access.credentials import Renewable, bearer
from myrmidon.io.access.tls_context import client_context

_SECONDS_MAX = 30.0
_DISCOVERY = "/.well-known/openid-configuration"

_log = logging.getLogger(__name__)


class Oidc(Renewable):
    """Credentials from an OpenID Connect provider.

    ``settings`` is the ``config`` of the auth provider in the kubeconfig, ``folder`` the folder of
    that file.  ``save`` writes the changed settings to the file.
    """

    certificate = None

    def __init__(
        self,
        settings: MutableMapping[str, Any],
        *,
        folder: Path,
        save: Callable[[], None],
        clock: Clock | None = None,
    ) -> None:
        super().__init__(clock)
        self._settings, self._folder, self._save = settings, folder, save

    @property
    def header(self) -> str:
        """The Authorization header with the id token, ``""`` if there is none."""
        token = str(self._settings.get("id-token") or "").strip()
        return f"Bearer {token}" if token else ""

    @property
    def expires_at(self) -> datetime | None:
        """The expiry that the id token states, if it does."""
        return end_of(str(self._settings.get("id-token") or ""))

    async def load(self) -> None:
        """Get a new id token with the refresh token, and save both."""
        refresh_token = str(self._settings.get("refresh-token") or "")
        if not refresh_token:
            raise self._failed("the id token has expired, and the kubeconfig has no refresh-token")
        try:
            async with asyncio.timeout(_SECONDS_MAX):
                given = await self._refresh(refresh_token)
        except TimeoutError as error:
            raise self._failed(f"no answer within {_SECONDS_MAX:g} s") from error
        except aiohttp.ClientConnectorError as error:
            raise self._failed(why(error)) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._failed(str(error) or type(error).__name__) from error
        self._settings["id-token"] = given["id_token"]
        if given.get("refresh_token"):
            self._settings["refresh-token"] = given["refresh_token"]
        try:
            self._save()
        except OSError as error:
            _log.warning("the new id token is only kept in memory: %s", error)

    async def _refresh(self, refresh_token: str) -> dict[str, Any]:
        issuer = str(self._settings.get("idp-issuer-url") or "").rstrip("/")
        async with aiohttp.ClientSession(trust_env=True) as session:
            tls = self._tls()
            async with session.get(issuer + _DISCOVERY, ssl=tls) as answer:
                found = _object_in(await answer.read(), answer.status)
                endpoint = str(found.get("token_endpoint") or "")
            form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
            status, body = 0, b""
            for login in self._logins():
                data = {**form, **login["data"]}
                async with session.post(
                    endpoint, data=data, headers=login["headers"], ssl=tls
                ) as answer:
                    status, body = answer.status, await answer.read()
                if status not in {400, 401}:
                    break
        given = _object_in(body, status)
        if not given.get("id_token"):
            raise ValueError("it answered without an id_token")
        bearer(str(given["id_token"]))  # raises if it cannot be sent in a header
        return given

    def _logins(self) -> list[dict[str, dict[str, str]]]:
        """Return the ways to authenticate as a client: a Basic header, then form fields."""
        name = str(self._settings.get("client-id") or "")
        secret = str(self._settings.get("client-secret") or "")
        if not secret:
            return [{"headers": {}, "data": {"client_id": name}}]
        pair = f"{quote(name, safe='')}:{quote(secret, safe='')}".encode()
        basic = f"Basic {base64.b64encode(pair).decode()}"
        return [
            {"headers": {"authorization": basic}, "data": {}},
            {"headers": {}, "data": {"client_id": name, "client_secret": secret}},
        ]

    def _tls(self) -> ssl.SSLContext:
        data = self._settings.get("idp-certificate-authority-data")
        if data:
            return client_context(cadata=base64.b64decode(data).decode())
        file = self._settings.get("idp-certificate-authority")
        try:
            return client_context(str(self._folder / str(file)) if file else None)
        except OSError as error:
            raise ValueError(f"its CA {file} cannot be used: {why(error)}") from error

    def _failed(self, said: str) -> UnreachableError:
        issuer = self._settings.get("idp-issuer-url") or "oidc: no idp-issuer-url"
        return UnreachableError(f"no credentials from {issuer}: {said}")

    def __repr__(self) -> str:
        return f"Oidc({self._settings.get('idp-issuer-url')!r})"


@lru_cache(maxsize=4)  # called for every request
def end_of(token: str) -> datetime | None:
    """Return the ``exp`` claim of a JSON Web Token, None if it has none or cannot be decoded."""
    try:
        claims = token.split(".")[1]
        padded = claims + "=" * (-len(claims) % 4)
        return datetime.fromtimestamp(orjson.loads(base64.urlsafe_b64decode(padded))["exp"], UTC)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, OSError, binascii.Error):
        return None


def _object_in(body: bytes, status: int) -> dict[str, Any]:
    """Return the JSON object of an answer; ValueError with the provider's error if it refuses."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        found = None
    if status == 200 and isinstance(found, dict):
        return found
    words = found if isinstance(found, dict) else {}
    said = " ".join(str(words[key]) for key in ("error", "error_description") if key in words)
    raise ValueError(f"it answered {status} {said}".strip())
