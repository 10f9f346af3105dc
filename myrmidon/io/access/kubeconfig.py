"""Load an Endpoint (server, credentials, TLS) from a kubeconfig or from the files of a pod.

The order is that of controller-runtime: the file that was passed, ``$KUBECONFIG``, the service
account files of a pod, ``~/.kube/config``.

``kubeconfig_files`` reads and merges the files; this module turns the chosen context into an
Endpoint.  kubernetes-asyncio is imported only for Google's auth provider, whose tokens its loader
gets: importing it costs half a second and 35 MB or more.
"""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from myrmidon.errors import UsageError
from myrmidon.io.access.addresses import basic_authorization
from myrmidon.io.access.credentials import Credentials, Fixed, Plugin, TokenFile
from myrmidon.io.access.exec_plugin import ExecPlugin
from myrmidon.io.access.kubeconfig_files import KubeconfigEntry, KubeconfigFiles
from myrmidon.io.access.oidc import Oidc

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Tls:
    """Files of the server's CA and of the client certificate, and how to verify the server.

    Without ``ca_file`` the system's CAs are used.  ``verify=False`` accepts any server certificate.
    ``server_name`` is the name to verify, by default the host of the server.
    """

    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    verify: bool = True
    server_name: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One API server, and how to connect and authenticate to it."""

    server: str  # URL without a trailing slash and without a user and password
    credentials: Credentials = field(default_factory=Fixed)
    tls: Tls = field(default_factory=Tls)
    namespace: str = "default"  # of the context, or of the pod
    proxy: str | None = field(default=None, repr=False)  # URL; may have a password
    headers: tuple[tuple[str, str], ...] = ()  # for impersonation; one header for each group
    context: str = ""  # name of the kubeconfig context, "in-cluster" in a pod

    def __post_init__(self) -> None:
        """Remove a user and password from the URL, so that no log line shows them.

        As in client-go, they are sent as Basic credentials if there are no others.
        """
        place = urlsplit(self.server)
        login, _, host = place.netloc.rpartition("@")
        if login:
            object.__setattr__(self, "server", place._replace(netloc=host).geturl())
            if isinstance(self.credentials, Fixed) and not self.credentials:
                header = basic_authorization(place.username, place.password)
                object.__setattr__(self, "credentials", Fixed(header))

    @property
    def host(self) -> str:
        """``host:port``, for logs and metrics."""
        return urlsplit(self.server).netloc


async def load_endpoint(
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Endpoint:
    """Return the endpoint of the API server, found as controller-runtime finds it.

    ``context`` selects a context of the kubeconfig, by default its current one; if it is given, the
    files of a pod are not used.  Raises UsageError if there is no usable configuration.
    """
    environ = os.environ if environ is None else environ
    named = str(kubeconfig or environ.get("KUBECONFIG") or "")
    if named:
        return await _from_kubeconfig(named, context, environ)
    if context is None and "KUBERNETES_SERVICE_HOST" in environ:
        return _from_pod(environ, service_account)
    home = Path(environ.get("HOME") or Path.home()) / ".kube" / "config"
    if home.exists():
        return await _from_kubeconfig(str(home), context, environ)
    raise UsageError(
        f"no cluster configured: $KUBECONFIG is not set, {home} does not exist, and this process "
        "does not run in a pod.\n"
        "  fix: pass --kubeconfig FILE, or try `myrmidon dev`, which needs no cluster"
    )


def _from_pod(environ: Mapping[str, str], service_account: Path) -> Endpoint:
    """Return the endpoint from the service account files of a pod; the token is rotated."""
    token, authority = service_account / "token", service_account / "ca.crt"
    for path in (token, authority):
        if not path.is_file():
            raise UsageError(
                f"this looks like a pod, but {path} does not exist.\n"
                "  fix: give the pod a service account and leave automountServiceAccountToken on"
            )
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    namespace = service_account / "namespace"
    return Endpoint(
        server,
        TokenFile(token),
        Tls(ca_file=str(authority)),
        namespace=namespace.read_text(errors="replace").strip()
        if namespace.is_file()
        else "default",
        context="in-cluster",
    )


async def _from_kubeconfig(paths: str, context: str | None, environ: Mapping[str, str]) -> Endpoint:
    files = KubeconfigFiles(paths)
    context = context or files.current_context()
    if context not in files.contexts():
        known = ", ".join(files.contexts()) or "none"
        raise UsageError(
            f"the kubeconfig {paths} has no context {context!r}; it has: {known}.\n"
            "  fix: pass one of these as --context"
        )
    try:
        return await _endpoint(files, context, environ)
    except UsageError:
        raise
    except Exception as error:  # of a wrong file, an exec plugin or an auth provider
        raise UsageError(
            f"the kubeconfig {paths} cannot be used: {error}.\n"
            "  fix: run `kubectl get --raw /version` with the same kubeconfig and context"
        ) from error


async def _endpoint(files: KubeconfigFiles, context: str, environ: Mapping[str, str]) -> Endpoint:
    """Build the Endpoint of a context."""
    chosen = files.find("context", context)
    assert chosen is not None, "the caller has checked its name"
    cluster = files.find("cluster", chosen.value.get("cluster"))
    if cluster is None:
        raise ValueError(f"there is no cluster {chosen.text('cluster')!r}")
    user = files.find("user", chosen.value.get("user")) or KubeconfigEntry({}, cluster.folder)
    server = cluster.text("server").rstrip("/")
    if not server:
        raise UsageError(
            f"the cluster of the context {context!r} has no server.\n"
            "  fix: set clusters[].cluster.server in the kubeconfig"
        )
    _check_server(server, context)
    is_secure = server.startswith("https")
    return Endpoint(
        server,
        await _credentials(files, context, user, cluster),
        Tls(
            ca_file=cluster.file("certificate-authority") if is_secure else "",
            cert_file=user.file("client-certificate") if is_secure else "",
            key_file=user.file("client-key") if is_secure else "",
            verify=not cluster.value.get("insecure-skip-tls-verify"),
            server_name=cluster.text("tls-server-name"),
        ),
        namespace=chosen.text("namespace") or "default",
        proxy=_checked_proxy(cluster.text("proxy-url") or _proxy(server, environ)),
        headers=_impersonation(user.value),
        context=context,
    )


def _check_server(server: str, context: str) -> None:
    try:
        place = urlsplit(server)
        is_good = place.scheme in {"http", "https"} and bool(place.hostname) and place.port != 0
    except ValueError:  # not a port number, or an unclosed bracket
        is_good = False
    if not is_good:
        raise UsageError(
            f"the server of the context {context!r} is not an http or https URL: "
            f"{server.rpartition('@')[2]}.\n"
            "  fix: set clusters[].cluster.server in the kubeconfig to https://host:port"
        )


async def _credentials(
    files: KubeconfigFiles, context: str, user: KubeconfigEntry, cluster: KubeconfigEntry
) -> Credentials:
    """Return the credentials of a user; a plugin or a provider has been asked once."""
    provider = user.value.get("auth-provider") or {}
    if provider.get("name") not in (None, "oidc"):
        return await _provider_of_kubernetes_asyncio(files, context)
    renewable: ExecPlugin | Oidc
    if "exec" in user.value:
        renewable = ExecPlugin(user.value["exec"], folder=user.folder, cluster=cluster.value)
    elif provider:
        settings = provider.setdefault("config", {})
        renewable = Oidc(settings, folder=user.folder, save=files.save)
    else:
        return _fixed_credentials(user)
    _check_header(renewable.header)
    if not renewable.header or renewable.is_over():
        await renewable.load()
    return renewable


def _fixed_credentials(user: KubeconfigEntry) -> TokenFile | Fixed:
    """Return the credentials that need no program: a token, its file, or a name and a password."""
    token, file = user.text("token"), user.text("tokenFile")
    if file:
        path = user.folder / file
        if not token and not path.is_file():
            raise ValueError(f"the file {path} of tokenFile does not exist")
        return TokenFile(path)
    header = f"Bearer {token}".strip() if token else ""
    if not header and {"username", "password"} <= user.value.keys():
        pair = f"{user.value['username']}:{user.value['password']}"
        header = f"Basic {base64.b64encode(pair.encode()).decode()}"
    _check_header(header)
    return Fixed(header)


async def _provider_of_kubernetes_asyncio(files: KubeconfigFiles, context: str) -> Plugin:
    """Return the credentials of an auth provider that kubernetes-asyncio knows: Google's."""
    # Imported here because the library is optional and slow to import; see the top of this file.
    try:
        from kubernetes_asyncio.config.kube_config import (  # noqa: PLC0415
            KubeConfigLoader,
            KubeConfigMerger,
        )
    except ModuleNotFoundError:
        raise UsageError(
            "the auth-provider of the kubeconfig needs the package kubernetes-asyncio.\n"
            "  fix: pip install kubernetes-asyncio, or use an exec plugin in the kubeconfig"
        ) from None

    # With None, a relative path is relative to the file that contains it.
    merged = KubeConfigMerger(str(files)).config
    loader = KubeConfigLoader(merged, active_context=context, config_base_path=None)
    target = SimpleNamespace(api_key={})
    await loader.load_and_set(target)
    header = str(target.api_key.get("BearerToken") or "").strip()
    _check_header(header)
    return Plugin(loader, header)


def _check_header(header: str) -> None:
    if not header.isascii() or not header.isprintable():
        raise UsageError(
            "the token of the user in the kubeconfig cannot be sent: it has a line break, another "
            "control character or a character outside ASCII.\n"
            "  fix: write it on one line"
        )


def _impersonation(user: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the headers for ``as``, ``as-uid``, ``as-groups`` and ``as-user-extra`` of a user."""
    headers = []
    if user.get("as"):
        headers.append(("impersonate-user", str(user["as"])))
    if user.get("as-uid"):
        headers.append(("impersonate-uid", str(user["as-uid"])))
    headers += [("impersonate-group", str(group)) for group in user.get("as-groups") or ()]
    for key, values in (user.get("as-user-extra") or {}).items():
        name = f"impersonate-extra-{quote(str(key).lower(), safe='')}"
        headers += [(name, str(value)) for value in values]
    return tuple(headers)


def _proxy(server: str, environ: Mapping[str, str]) -> str | None:
    """Return the proxy for the server from the environment variables, None if there is none."""
    if environ is not os.environ:
        return None
    parts = urlsplit(server)
    if proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


def _checked_proxy(proxy: str | None) -> str | None:
    if proxy is None or urlsplit(proxy).scheme in {"http", "https"}:
        return proxy
    place = urlsplit(proxy)
    shown = f"{place.scheme}://{place.netloc.rpartition('@')[2]}"  # without a password
    raise UsageError(
        f"the proxy {shown} cannot be used: only http:// and https:// are supported.\n"
        "  fix: set proxy-url in the kubeconfig, or $HTTPS_PROXY, to http://host:port"
    )
