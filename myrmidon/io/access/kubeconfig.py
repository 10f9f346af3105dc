"""Load an Endpoint (server, credentials, TLS) from a kubeconfig or from the files of a pod.

The order is that of controller-runtime: the file that was passed, ``$KUBECONFIG``, the service
account files of a pod, ``~/.kube/config``.

kubernetes-asyncio reads and merges kubeconfig files.  It is imported only when an endpoint is
loaded, because it also imports the models of all built-in kinds: a third of a second and 40 MB that
tests, `plan` and the embedded server do not need.  Exec plugins and OIDC are handled here instead
of by its loader (see ``_own_credentials``).
"""

import os
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

import yaml

from myrmidon.errors import UsageError
from myrmidon.io.access.addresses import basic_authorization
from myrmidon.io.access.credentials import Credentials, Fixed, Plugin, TokenFile
from myrmidon.io.access.exec_plugin import ExecPlugin
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
    # Imported here because the import is slow; see the top of this file.
    from kubernetes_asyncio.config.kube_config import (  # noqa: PLC0415
        KubeConfigLoader,
        KubeConfigMerger,
    )

    _check_readable(paths)
    target = SimpleNamespace(api_key={})
    try:
        files = KubeConfigMerger(paths)
        context = context or _current_context(files)
        _check_context(files.config, context, paths)
        config = deepcopy(files.config)  # without the credentials that we handle ourselves
        credentials = _own_credentials(files, config, context)
        # With None, a relative path is relative to the file that contains it.
        loader = KubeConfigLoader(config, active_context=context, config_base_path=None)
        await loader.load_and_set(target)
        if credentials is not None:
            _check_header(credentials.header)
            if not credentials.header or credentials.is_over():
                await credentials.load()
        return _endpoint(files, loader, target, context, environ=environ, credentials=credentials)
    except UsageError:
        raise
    except Exception as error:  # for a wrong file the loader raises all kinds of exceptions
        raise UsageError(
            f"the kubeconfig {paths} cannot be used: {error}.\n"
            "  fix: run `kubectl get --raw /version` with the same kubeconfig and context"
        ) from error


def _endpoint(
    files: Any,
    loader: Any,
    target: SimpleNamespace,
    context: str,
    *,
    environ: Mapping[str, str],
    credentials: Credentials | None,
) -> Endpoint:
    """Build an Endpoint from what the loader found."""
    found = vars(target)
    server = str(found.get("host") or "").rstrip("/")
    if not server:
        raise UsageError(
            f"the cluster of the context {context!r} has no server.\n"
            "  fix: set clusters[].cluster.server in the kubeconfig"
        )
    _check_server(server, context)
    chosen = loader.current_context["context"]
    user, path = _entry(files.config, "user", chosen)
    return Endpoint(
        server,
        credentials or _credentials(loader, user, path, target.api_key),
        Tls(
            ca_file=found.get("ssl_ca_cert") or "",
            cert_file=found.get("cert_file") or "",
            key_file=found.get("key_file") or "",
            verify=found.get("verify_ssl", True),
            server_name=found.get("tls_server_name") or "",
        ),
        namespace=chosen.get("namespace") or "default",
        proxy=_checked_proxy(found.get("proxy") or _proxy(server, environ)),
        headers=_impersonation(user),
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


def _entry(config: Any, what: str, context: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the ``user`` or ``cluster`` of a context, and the path of the file it comes from."""
    node = config[f"{what}s"].get_with_name(context.get(what), safe=True)
    return (node.value.get(what) or {}, node.path) if node is not None else ({}, "")


def _own_credentials(files: Any, config: Any, context: str) -> ExecPlugin | Oidc | None:
    """Return the credentials from an exec plugin or OIDC, and remove their entry from ``config``.

    The loader of kubernetes-asyncio must not see them.  It would run a plugin without a timeout, go
    on as anonymous if the plugin prints no credentials, and never renew a certificate from it; and
    it does not verify the certificate of an OIDC provider.
    """
    chosen = files.config["contexts"].get_with_name(context).value.get("context") or {}
    user, path = _entry(files.config, "user", chosen)
    hidden, _ = _entry(config, "user", chosen)
    folder = Path(path).parent
    if "exec" in user:
        del hidden["exec"]
        cluster, _ = _entry(files.config, "cluster", chosen)
        return ExecPlugin(user["exec"], folder=folder, cluster=cluster)
    provider = user.get("auth-provider") or {}
    if provider.get("name") == "oidc":
        del hidden["auth-provider"]
        settings = provider.setdefault("config", {})
        return Oidc(settings, folder=folder, save=files.save_changes)
    return None


def _credentials(
    loader: Any, user: Mapping[str, Any], path: str, api_key: Mapping[str, str]
) -> Credentials:
    header = str(api_key.get("BearerToken") or "").strip()
    _check_header(header)
    if "auth-provider" in user:
        return Plugin(loader, header)
    if user.get("tokenFile"):
        return TokenFile(Path(path).parent / str(user["tokenFile"]))
    return Fixed(header)


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


def _current_context(files: Any) -> str:
    """Return the current-context of the first file that has one, as kubectl does."""
    for path in files.paths:
        name = (files.config_files[path] or {}).get("current-context")
        if name:
            return str(name)
    raise UsageError(
        f"the kubeconfig {':'.join(files.paths)} has no current context.\n"
        "  fix: pass --context NAME, or run `kubectl config use-context NAME`"
    )


def _check_readable(paths: str) -> None:
    """Raise UsageError if a file cannot be read, or if none of the files exists.

    As in kubectl, some files of a list may be missing.
    """
    present = []
    for path in filter(None, paths.split(os.pathsep)):
        problem = ""
        try:
            content = yaml.safe_load(Path(path).expanduser().read_text())
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            content, problem = None, _problem(error)
        if problem:  # raised outside the handler, whose error would quote a part of the file
            raise UsageError(
                f"the kubeconfig {path} cannot be read: {problem}.\n"
                "  fix: correct it, or name another file with --kubeconfig or $KUBECONFIG"
            )
        if not isinstance(content, dict):
            raise UsageError(f"{path} is not a kubeconfig: its content is not a mapping")
        present.append(path)
    if not present:
        raise UsageError(
            f"there is no kubeconfig at {paths}.\n"
            "  fix: name another file with --kubeconfig or $KUBECONFIG"
        )


def _problem(error: Exception) -> str:
    """Return what is wrong with a file, without quoting it: a kubeconfig has secrets."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "it is not YAML" if isinstance(error, yaml.YAMLError) else "it is not UTF-8"


def _check_context(config: Any, context: str, paths: str) -> None:
    known = sorted(str(node.value.get("name")) for node in config.value["contexts"])
    if context not in known:
        raise UsageError(
            f"the kubeconfig {paths} has no context {context!r}; it has: "
            f"{', '.join(known) or 'none'}.\n  fix: pass one of these as --context"
        )
