"""Exec plugins: programs that print credentials, correct ones, broken ones and slow ones."""

import asyncio
import base64
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import UnreachableError, UsageError
from myrmidon.io.access import exec_plugin
from myrmidon.io.access.exec_plugin import ExecPlugin
from myrmidon.io.access.kubeconfig import Endpoint, load_endpoint
from myrmidon.io.http.transport import HttpTransport
from tests.io.access.test_kubeconfig import kubeconfig, load
from tests.io.fakes import FakeClock
from tests.io.http.tls import Guarded

VERSION = "client.authentication.k8s.io/v1"

# Records that it was run and with which input, then prints what the test has written.
SCRIPT = """\
#!{python}
import os, pathlib, sys
here = pathlib.Path({folder!r})
with (here / "runs").open("a") as runs:
    runs.write(os.environ["KUBERNETES_EXEC_INFO"] + "\\n")
print((here / "stdout").read_text())
print((here / "stderr").read_text(), file=sys.stderr)
sys.exit(int((here / "status").read_text()))
"""


class Program:
    """A program in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "print-me"
        self.path.write_text(SCRIPT.format(python=sys.executable, folder=str(folder)))
        self.path.chmod(0o700)
        self.prints()

    def prints(self, said: str = "", error: str = "", status: int = 0, **credential: str) -> None:
        """Let it print this from now on."""
        answer = {"apiVersion": VERSION, "kind": "ExecCredential", "status": credential}
        (self.folder / "stdout").write_text(said or json.dumps(answer))
        (self.folder / "stderr").write_text(error)
        (self.folder / "status").write_text(str(status))

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Return the input of each run."""
        path = self.folder / "runs"
        return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []

    def kubeconfig(self, cluster: dict[str, Any] | None = None, **more: Any) -> Path:
        """Write a kubeconfig that names it, in the same folder."""
        settings = {"apiVersion": VERSION, "command": str(self.path), **more}
        return kubeconfig(self.folder / "config", {"exec": settings}, **(cluster or {}))


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program that prints nothing yet."""
    return Program(tmp_path)


def play(
    program: Program, check: Callable[[ExecPlugin], Awaitable[None]], clock: FakeClock
) -> None:
    """Run a check with a plugin that was run once."""

    async def main() -> None:
        settings = {"apiVersion": VERSION, "command": str(program.path)}
        plugin = ExecPlugin(settings, folder=program.folder, clock=clock)
        await plugin.load()
        await check(plugin)

    asyncio.run(main())


def after(clock: FakeClock, **time: float) -> str:
    """Return a time in the future, as a program prints it."""
    return (clock.now() + timedelta(**time)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_token_without_an_end_is_kept_until_it_is_refused(program: Program) -> None:
    """As in kubectl, because some programs prompt the user."""
    program.prints(token="one")
    clock = FakeClock()

    async def check(plugin: ExecPlugin) -> None:
        for now in (0.0, 1e6):
            clock.seconds = now
            assert await plugin.authorization(now) == "Bearer one"
        assert len(program.runs) == 1
        program.prints(token="two")
        assert await plugin.renew("Bearer one")
        assert await plugin.authorization(1e6) == "Bearer two"
        assert not await plugin.renew("Bearer two")

    play(program, check, clock)


def test_a_token_is_renewed_before_its_end(program: Program) -> None:
    """One run for all requests of that moment, shortly before the token ends."""
    clock = FakeClock()
    program.prints(token="one", expirationTimestamp=after(clock, minutes=10))

    async def check(plugin: ExecPlugin) -> None:
        program.prints(token="two", expirationTimestamp=after(clock, minutes=20))
        clock.seconds += 560
        assert await plugin.authorization(clock.monotonic()) == "Bearer one"
        clock.seconds += 15
        async with asyncio.TaskGroup() as group:
            for _ in range(50):
                group.create_task(plugin.authorization(clock.monotonic()))
        assert await plugin.authorization(clock.monotonic()) == "Bearer two"
        assert len(program.runs) == 2

    play(program, check, clock)


def test_a_program_that_prints_an_expired_token_is_not_run_all_the_time(program: Program) -> None:
    """Its clock may be wrong; the server decides what has expired."""
    clock = FakeClock()
    program.prints(token="old", expirationTimestamp=after(clock, minutes=-5))

    async def check(plugin: ExecPlugin) -> None:
        for _ in range(100):
            clock.seconds += 0.1
            assert await plugin.authorization(clock.monotonic()) == "Bearer old"
        assert len(program.runs) <= 3

    play(program, check, clock)


def test_a_renewal_that_fails_matters_when_the_token_ends(program: Program) -> None:
    """Until then the old one is used; afterwards nothing is sent."""
    clock = FakeClock()
    program.prints(token="one", expirationTimestamp=after(clock, minutes=10))

    async def check(plugin: ExecPlugin) -> None:
        program.prints(error="the provider is down", status=7)
        clock.seconds += 580
        assert await plugin.authorization(clock.monotonic()) == "Bearer one"
        clock.seconds += 30
        with pytest.raises(UnreachableError, match="ended with status 7: the provider is down"):
            await plugin.authorization(clock.monotonic())
        program.prints(token="two")
        clock.seconds += 11
        assert await plugin.authorization(clock.monotonic()) == "Bearer two"

    play(program, check, clock)


OTHER = json.dumps({"apiVersion": f"{VERSION}beta1", "kind": "ExecCredential", "status": {}})


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ({"error": "please log in first", "status": 1}, "ended with status 1: please log in first"),
        ({"status": 3}, "ended with status 3: no output on stderr"),
        ({"said": "Welcome!"}, "it did not print an ExecCredential"),
        ({"said": "[]"}, "it did not print an ExecCredential"),
        ({"said": OTHER}, "printed ExecCredential of .*v1beta1, not ExecCredential of .*v1"),
        ({}, "it gave neither a token nor a certificate"),
        ({"clientCertificateData": "x"}, "a certificate without its key"),
        ({"token": "t", "expirationTimestamp": "soon"}, "expirationTimestamp is not a time: soon"),
    ],
)
def test_an_error_of_a_program_is_explained(
    program: Program, printed: dict[str, Any], message: str
) -> None:
    """One sentence with the program and a fix; no request is sent without credentials."""
    program.prints(**printed)
    with pytest.raises(UsageError, match=message) as caught:
        load(program.kubeconfig())
    assert str(program.path) in str(caught.value)
    assert "fix: run `kubectl get --raw /version`" in str(caught.value)


def test_a_program_that_is_missing_is_named(program: Program) -> None:
    """With the install hint of the kubeconfig."""
    path = program.kubeconfig(command="/no/such/program", installHint="Get it from example.org.")
    with pytest.raises(UsageError, match=r"/no/such/program.*No such file.*example\.org"):
        load(path)


def test_a_program_that_hangs_is_ended(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may wait for input that never comes; requests must not wait for ever."""
    monkeypatch.setattr(exec_plugin, "_RUN_SECONDS_MAX", 0.2)
    program.path.write_text("#!/bin/sh\nexec sleep 1000\n")
    with pytest.raises(UsageError, match=r"it did not end within 0\.2 s"):
        load(program.kubeconfig())


def test_a_program_that_needs_a_terminal_is_refused(program: Program) -> None:
    """There is no terminal in a pod."""
    with pytest.raises(UsageError, match="interactiveMode is Always"):
        load(program.kubeconfig(interactiveMode="Always"))


def test_a_program_with_much_output(program: Program) -> None:
    """More than a pipe holds, on stderr."""
    program.prints(token="one", error="chatter\n" * 50_000)
    load(program.kubeconfig())


def test_a_program_beside_its_kubeconfig(program: Program, tmp_path: Path) -> None:
    """A relative path is relative to the kubeconfig; a bare name is searched in PATH."""
    program.prints(token="one")
    endpoint = load(program.kubeconfig(command="./print-me"))
    assert repr(endpoint.credentials) == f"ExecPlugin('{tmp_path}/print-me')"
    with pytest.raises(UsageError, match="No such file"):
        load(program.kubeconfig(command="print-me"))


def test_a_program_gets_the_cluster_if_it_asks_for_it(program: Program) -> None:
    """One program may serve many clusters; it also gets its arguments and variables."""
    program.prints(token="one")
    (program.folder / "ca.crt").write_text("authority")
    cluster = {
        "certificate-authority": "ca.crt",
        "extensions": [
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "06e3"}},
            {"name": "other", "extension": {}},
        ],
    }
    load(program.kubeconfig(cluster, provideClusterInfo=True))
    load(program.kubeconfig(cluster))
    told, not_told = program.runs
    assert told["spec"]["cluster"] == {
        "server": "https://here:6443/",
        "certificate-authority-data": base64.b64encode(b"authority").decode(),
        "config": {"audience": "06e3"},
    }
    assert not_told == {
        "apiVersion": VERSION,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }


def test_a_certificate_from_a_program(program: Program, tmp_path: Path) -> None:
    """It is presented, and renewed when refused; its files are removed at the end."""
    server = Guarded(tmp_path)

    def give(user: str) -> None:
        server.authority.issue_client(tmp_path / user, user)
        certificate, key = ((tmp_path / f"{user}.{end}").read_text() for end in ("crt", "key"))
        program.prints(clientCertificateData=certificate, clientKeyData=key)

    async def user_of(transport: HttpTransport) -> str:
        answer = await transport.send(HttpRequest("POST", "/api"))
        return str(json.loads(answer.body)["user"])

    async def main() -> Endpoint:
        async with server.serving():
            path = program.kubeconfig(
                {"server": server.url, "certificate-authority": str(tmp_path / "ca.crt")}
            )
            endpoint = await load_endpoint(path, environ={})
            transport = HttpTransport(endpoint)
            assert await user_of(transport) == "ann"
            server.refused.add("ann")
            give("bea")
            assert await user_of(transport) == "bea"
            async with transport.stream(HttpRequest("GET", "/api")) as stream:
                assert b"bea" in await stream.read()
            await transport.close()
            return endpoint

    give("ann")
    endpoint = asyncio.run(main())
    assert len(program.runs) == 2
    assert endpoint.credentials.certificate is not None
    files = Path(endpoint.credentials.certificate[0]).parent
    assert files.stat().st_mode & 0o077 == 0
    del endpoint
    assert not files.exists()
