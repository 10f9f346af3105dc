"""An Endpoint from a ``Configuration`` of kubernetes-asyncio: ``Manager(configuration=...)``.

A program that already loads its configuration with that library (``load_kube_config``,
``load_incluster_config``, or by hand) hands it over as it is.  The library is not imported here.
"""

from inspect import isawaitable
from typing import Any

from myrmidon.errors import UnreachableError, UsageError
from myrmidon.io.access.addresses import basic_authorization
from myrmidon.io.access.credentials import Credentials, Fixed, is_one_word
from myrmidon.io.access.kubeconfig import Endpoint, Tls

_KEYS = ("BearerToken", "authorization")  # the names that the versions of the library use


class Configured:
    """The token of a ``Configuration``, renewed by its ``refresh_api_key_hook``.

    The hook decides when a token has to be renewed, so it is called for every request, as the
    library does.
    """

    certificate = None

    def __init__(self, configuration: Any) -> None:
        self._configuration = configuration

    async def authorization(self, now: float) -> str:
        """Return the header, after the hook has had the chance to renew it."""
        del now
        hook = self._configuration.refresh_api_key_hook
        if hook is not None:
            try:
                called = hook(self._configuration)
                if isawaitable(called):
                    await called
            except Exception as error:  # a user's function may raise anything
                name = type(error).__name__
                raise UnreachableError(f"refresh_api_key_hook failed: {name}") from error
        return header_of(self._configuration)

    async def renew(self, refused: str) -> bool:
        """Call the hook again; return whether the header is another one."""
        return await self.authorization(0.0) != refused

    def __repr__(self) -> str:
        return "Configured()"


def endpoint_of(configuration: Any) -> Endpoint:
    """Return the endpoint that a ``Configuration`` of kubernetes-asyncio describes."""
    server = str(getattr(configuration, "host", None) or "").rstrip("/")
    if not server.startswith(("http://", "https://")):
        raise UsageError(
            f"the Configuration has host={server!r}, which is not an http or https URL.\n"
            "  fix: load it first, with load_kube_config(client_configuration=...), or set host"
        )
    return Endpoint(
        server,
        _credentials(configuration),
        Tls(
            ca_file=configuration.ssl_ca_cert or "",
            cert_file=configuration.cert_file or "",
            key_file=configuration.key_file or "",
            verify=configuration.verify_ssl,
            server_name=getattr(configuration, "tls_server_name", None) or "",
        ),
        proxy=configuration.proxy or None,
        context="configuration",
    )


def header_of(configuration: Any) -> str:
    """Return the Authorization header of a ``Configuration``, ``""`` for none."""
    for key in _KEYS:
        value = str(configuration.api_key.get(key) or "").strip()
        if value:
            prefix = configuration.api_key_prefix.get(key) or (
                "Bearer" if is_one_word(value) else ""
            )
            return f"{prefix} {value}".strip()
    return ""


def _credentials(configuration: Any) -> Credentials:
    if configuration.refresh_api_key_hook is not None or header_of(configuration):
        return Configured(configuration)
    if configuration.username:
        return Fixed(basic_authorization(configuration.username, configuration.password))
    return Fixed()
