"""OpenID Connect: the auth provider ``oidc`` of a kubeconfig, with its id token and refresh token.

A provider is asked for a new id token when the old one ends or is refused.  It is always talked to
under verified TLS where its address says https, with its own CA if the kubeconfig names one: what
goes there is worth more than the token that comes back.  New tokens are written into the kubeconfig,
as kubectl does, because many providers take a refresh token once.
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
from myrmidon.io.access.credentials import Renewable, bearer
from myrmidon.io.access.tls_context import client_context
from myrmidon.io.connect_errors import why

_SECONDS_MAX = 30.0
_DISCOVERY = "/.well-known/openid-configuration"

_log = logging.getLogger(__name__)


class Oidc(Renewable):
    """Credentials from a provider.  ``settings`` are those of the kubeconfig; ``save`` writes it."""

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
        """The id token."""
        token = str(self._settings.get("id-token") or "").strip()
        return f"Bearer {token}" if token else ""

    @property
    def expires_at(self) -> datetime | None:
        """What the token says about its end."""
        return end_of(str(self._settings.get("id-token") or ""))

    async def load(self) -> None:
        """Ask for a new token."""
        refresh_token = str(self._settings.get("refresh-token") or "")
        if not refresh_token:
            raise self._failed("its id token is over, and the kubeconfig has no refresh-token")
        try:
            async with asyncio.timeout(_SECONDS_MAX):
                given = await self._refresh(refresh_token)
        except TimeoutError as error:
            raise self._failed(f"it said nothing in {_SECONDS_MAX:g} s") from error
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
            _log.warning("the new id token is kept in memory alone: %s", error)

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
        bearer(str(given["id_token"]))  # checks it
        return given

    def _logins(self) -> list[dict[str, dict[str, str]]]:
        """The ways to say which client we are: the one of the standard, then the one of others."""
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


@lru_cache(maxsize=4)  # asked with every request
def end_of(token: str) -> datetime | None:
    """When a token ends, as it says itself; None where it does not say."""
    try:
        claims = token.split(".")[1]
        padded = claims + "=" * (-len(claims) % 4)
        return datetime.fromtimestamp(orjson.loads(base64.urlsafe_b64decode(padded))["exp"], UTC)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, OSError, binascii.Error):
        return None


def _object_in(body: bytes, status: int) -> dict[str, Any]:
    """The answer of a provider; ValueError with its own words where it refuses."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        found = None
    if status == 200 and isinstance(found, dict):
        return found
    words = found if isinstance(found, dict) else {}
    said = " ".join(str(words[key]) for key in ("error", "error_description") if key in words)
    raise ValueError(f"it answered {status} {said}".strip())
