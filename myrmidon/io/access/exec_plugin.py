"""Exec plugins: programs named in the kubeconfig that print credentials.

The protocol is ExecCredential of client.authentication.k8s.io, as kubectl implements it: the
program prints a token, a client certificate or both, and may say when they expire.  If
``provideClusterInfo`` is set, it is told about the cluster.  It is run again when the credentials
expire or the server refuses them.
"""

import asyncio
import base64
import contextlib
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from myrmidon.api.clock import Clock
from myrmidon.api.values.timestamps import read_time
from myrmidon.errors import UnreachableError
from myrmidon.io.access.credentials import Renewable, bearer

_RUN_SECONDS_MAX = 60.0  # unless the program can ask a person on the terminal
_SAID_MAX = 500
_CLUSTER_KEYS = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
_CLUSTER_EXTENSION = "client.authentication.k8s.io/exec"


@dataclass(frozen=True, slots=True)
class Given:
    """The credentials that a program printed; ``header`` is the Authorization header."""

    header: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    expires_at: datetime | None = None


class ExecPlugin(Renewable):
    """Credentials from a program.

    ``settings`` is the ``exec`` entry of a user in the kubeconfig, ``folder`` the folder of that
    file, and ``cluster`` the cluster entry of the context.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        folder: Path,
        cluster: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(clock)
        self.certificate: tuple[str, str] | None = None
        self._settings = settings
        command = str(settings.get("command") or "")
        self._command = str(folder / command) if os.sep in command else command
        self._version = str(settings.get("apiVersion") or "")
        self._cluster = _cluster_info(cluster or {}, folder)
        self._given = Given()
        self._files: Path | None = None

    async def load(self) -> None:
        """Run the program and use the credentials that it prints."""
        self._given = given = await self._run()
        if given.certificate:
            self.certificate = self._written(given)

    @property
    def header(self) -> str:
        """The Authorization header, ``""`` if the program gave no token."""
        return self._given.header

    @property
    def expires_at(self) -> datetime | None:
        """The expirationTimestamp that the program printed, if any."""
        return self._given.expires_at

    async def _run(self) -> Given:
        is_shared = self._shares_terminal()
        try:
            process = await asyncio.create_subprocess_exec(
                self._command,
                *map(str, self._settings.get("args") or ()),
                env=self._environment(is_shared),
                stdin=None if is_shared else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if is_shared else asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = str(self._settings.get("installHint") or "").strip()
            why = f"it cannot be run: {error.strerror or error}"
            raise self._failed(f"{why}. {hint}" if hint else why) from error
        try:
            async with asyncio.timeout(None if is_shared else _RUN_SECONDS_MAX):
                output, said = await process.communicate()
        except TimeoutError as error:
            raise self._failed(f"it did not end within {_RUN_SECONDS_MAX:g} s") from error
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            words = (said or b"").decode(errors="replace").strip()[-_SAID_MAX:]
            words = words or "no output on stderr"
            raise self._failed(f"it ended with status {process.returncode}: {words}")
        try:
            return given_by(output, self._version)
        except ValueError as error:
            raise self._failed(str(error)) from error

    def _shares_terminal(self) -> bool:
        mode = self._settings.get("interactiveMode")
        is_shared = mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
        if mode == "Always" and not is_shared:
            raise self._failed("interactiveMode is Always, but standard input is not a terminal")
        return is_shared

    def _environment(self, is_shared: bool) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": is_shared}
        if self._settings.get("provideClusterInfo"):
            spec["cluster"] = self._cluster
        info = {"apiVersion": self._version, "kind": "ExecCredential", "spec": spec}
        more = {str(one["name"]): str(one["value"]) for one in self._settings.get("env") or ()}
        return {**os.environ, **more, "KUBERNETES_EXEC_INFO": orjson.dumps(info).decode()}

    def _written(self, given: Given) -> tuple[str, str]:
        """Write the certificate and key to files, because ``ssl`` loads only files.

        The files are removed when this object is collected or the process ends.
        """
        if self._files is None:
            self._files = Path(tempfile.mkdtemp(prefix="myrmidon-"))  # only this user can read it
            weakref.finalize(self, shutil.rmtree, self._files, ignore_errors=True)
        certificate, key = self._files / "client.crt", self._files / "client.key"
        certificate.write_text(given.certificate)
        key.write_text(given.key)
        return str(certificate), str(key)

    def _failed(self, why: str) -> UnreachableError:
        return UnreachableError(f"no credentials from {self._command or 'exec: no command'}: {why}")

    def __repr__(self) -> str:
        return f"ExecPlugin({self._command!r})"


def given_by(output: bytes, version: str) -> Given:
    """Return the credentials in an ExecCredential; ValueError if the output is not a valid one."""
    status, kind = _status_in(output)
    if kind[0] is None:
        raise ValueError("it did not print an ExecCredential")
    if kind != ("ExecCredential", version) or not isinstance(status, dict):
        raise ValueError(f"it printed {kind[0]} of {kind[1]}, not ExecCredential of {version}")
    token = str(status.get("token") or "")
    certificate, key = (str(status.get(f"client{it}Data") or "") for it in ("Certificate", "Key"))
    if bool(certificate) != bool(key):
        raise ValueError("it gave a certificate without its key, or a key without its certificate")
    if not token and not certificate:
        raise ValueError("it gave neither a token nor a certificate")
    header = bearer(token) if token else ""
    return Given(header, certificate, key, _time_of(status.get("expirationTimestamp")))


def _status_in(output: bytes) -> tuple[Any, tuple[Any, Any]]:
    """Return the status of an object, and its kind and apiVersion; None for each if it has none."""
    try:
        printed = orjson.loads(output)
        return printed["status"], (printed["kind"], printed["apiVersion"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None, (None, None)


def _time_of(text: object) -> datetime | None:
    if not text:
        return None
    try:
        return read_time(str(text))
    except ValueError as error:
        raise ValueError(f"its expirationTimestamp is not a time: {str(text)[:40]}") from error


def _cluster_info(cluster: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the cluster in the form of ``spec.cluster`` of an ExecCredential."""
    info = {key: cluster[key] for key in _CLUSTER_KEYS if key in cluster}
    if "certificate-authority-data" in cluster:
        info["certificate-authority-data"] = cluster["certificate-authority-data"]
    elif "certificate-authority" in cluster:
        with contextlib.suppress(OSError):  # loading the TLS context reports it
            content = (folder / str(cluster["certificate-authority"])).read_bytes()
            info["certificate-authority-data"] = base64.b64encode(content).decode()
    for one in cluster.get("extensions") or ():
        if one.get("name") == _CLUSTER_EXTENSION:
            info["config"] = one.get("extension")
    return info
