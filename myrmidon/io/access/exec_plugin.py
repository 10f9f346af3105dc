"""Exec plugins: a program that the kubeconfig names and that prints who we are.

The protocol is the ExecCredential of client.authentication.k8s.io, spoken as kubectl speaks it:
the program may give a token, a certificate or both, may say until when, is told about the cluster
where it asks for that, and is run again when its time is over or the server refuses what it gave.
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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from myrmidon.api.clock import Clock
from myrmidon.errors import UnreachableError
from myrmidon.io.access.credentials import Renewable, bearer

_RUN_SECONDS_MAX = 60.0  # without a person who may have to type something
_SAID_MAX = 500
_CLUSTER_KEYS = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
_CLUSTER_EXTENSION = "client.authentication.k8s.io/exec"


@dataclass(frozen=True, slots=True)
class Given:
    """What a program has given; ``header`` is that of its token."""

    header: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    expires_at: datetime | None = None


class ExecPlugin(Renewable):
    """Credentials from a program.  ``folder`` is that of the kubeconfig, ``cluster`` its cluster."""

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
        """Run the program and take what it gives."""
        self._given = given = await self._run()
        if given.certificate:
            self.certificate = self._written(given)

    @property
    def header(self) -> str:
        """The token, if there is one."""
        return self._given.header

    @property
    def expires_at(self) -> datetime | None:
        """What the program said about its end."""
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
            raise self._failed(f"it said nothing in {_RUN_SECONDS_MAX:g} s") from error
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            words = (said or b"").decode(errors="replace").strip()[-_SAID_MAX:]
            raise self._failed(f"it ended with status {process.returncode}: {words or 'silent'}")
        try:
            return given_by(output, self._version)
        except ValueError as error:
            raise self._failed(str(error)) from error

    def _shares_terminal(self) -> bool:
        mode = self._settings.get("interactiveMode")
        is_shared = mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
        if mode == "Always" and not is_shared:
            raise self._failed("it wants to talk to a person (interactiveMode), and there is none")
        return is_shared

    def _environment(self, is_shared: bool) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": is_shared}
        if self._settings.get("provideClusterInfo"):
            spec["cluster"] = self._cluster
        info = {"apiVersion": self._version, "kind": "ExecCredential", "spec": spec}
        more = {str(one["name"]): str(one["value"]) for one in self._settings.get("env") or ()}
        return {**os.environ, **more, "KUBERNETES_EXEC_INFO": orjson.dumps(info).decode()}

    def _written(self, given: Given) -> tuple[str, str]:
        """The certificate as files, which is how TLS takes it; they go with the process."""
        if self._files is None:
            self._files = Path(tempfile.mkdtemp(prefix="myrmidon-"))  # nobody else can look into it
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
    """Read what a program printed; ValueError if it is not an ExecCredential with a credential."""
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
    """Return the status, the kind and the version of an object; nothing if it is not one."""
    try:
        printed = orjson.loads(output)
        return printed["status"], (printed["kind"], printed["apiVersion"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None, (None, None)


def _time_of(text: object) -> datetime | None:
    if not text:
        return None
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError as error:
        raise ValueError(f"its expirationTimestamp is not a time: {str(text)[:40]}") from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _cluster_info(cluster: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The cluster as a program is told of it."""
    info = {key: cluster[key] for key in _CLUSTER_KEYS if key in cluster}
    if "certificate-authority-data" in cluster:
        info["certificate-authority-data"] = cluster["certificate-authority-data"]
    elif "certificate-authority" in cluster:
        with contextlib.suppress(OSError):  # TLS will say so
            content = (folder / str(cluster["certificate-authority"])).read_bytes()
            info["certificate-authority-data"] = base64.b64encode(content).decode()
    for one in cluster.get("extensions") or ():
        if one.get("name") == _CLUSTER_EXTENSION:
            info["config"] = one.get("extension")
    return info
