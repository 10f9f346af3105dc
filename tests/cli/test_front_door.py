"""The errors that new users meet first: one sentence with the problem, one with the fix."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.fronts.http import serve
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.commands import graph
from myrmidon.cli.local.embedded_server import write_kubeconfig
from myrmidon.cli.main import main

EXAMPLE = "examples/web_app"
CONTROLLER = """\
from myrmidon import Controller, Done, Model, Resource, Status, state

class ThingSpec(Model):
    size: int = 1

class Thing(Resource[ThingSpec, Status], group="demo.myrmidon.dev", version="v1"):
    pass

class Things(Controller[Thing]):
    @state(initial=True)
    def made(self, thing, out):
        return {result}
"""


@pytest.fixture
def taken_port() -> Iterator[int]:
    """Return a port on which another program listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write a folder with a working controller."""
    (tmp_path / "controller.py").write_text(CONTROLLER.format(result="Done()"))
    return tmp_path


@contextlib.contextmanager
def cluster(folder: Path, token: str) -> Iterator[Path]:
    """Run a server without definitions, with a kubeconfig for the administrator or for a guest."""
    import asyncio  # noqa: PLC0415 - a loop of its own, in a thread of its own

    users = {"admin": User("admin", ("system:masters",)), "guest": User("guest")}
    server = ApiServer(users=users, rbac=True)
    started, stop = threading.Event(), threading.Event()
    kubeconfig = folder / "kubeconfig"

    async def run() -> None:
        async with serve(server) as url:
            write_kubeconfig(kubeconfig, url, token)
            started.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    started.wait()
    try:
        yield kubeconfig
    finally:
        stop.set()
        thread.join()


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 2) -> str:
    """Return the error of a command."""
    assert main(arguments) == status
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return said.err


def test_unknown_module(capsys: pytest.CaptureFixture[str]) -> None:
    """The message suggests the right one."""
    assert said(capsys, "dev", "examples.web_app.controler") == (
        "error: the module examples.web_app.controler does not exist.\n"
        "  fix: did you mean examples.web_app.controller?\n"
    )


def test_unknown_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """It is reported like an unknown module."""
    assert said(capsys, "dev", "examples/webapp") == (
        "error: the file examples/webapp does not exist.\n  fix: did you mean examples/web_app?\n"
    )


def test_unknown_class(capsys: pytest.CaptureFixture[str]) -> None:
    """The message suggests the right one."""
    assert said(capsys, "dev", "examples.web_app.controller:WebAps") == (
        "error: examples.web_app.controller has no controller WebAps.\n"
        "  fix: did you mean WebApps?\n"
    )


def test_two_controllers_for_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    """Each would overwrite the status of the other."""
    assert said(capsys, "dev", "tests.generate.webapp") == (
        "error: Watchers and WebApps both control WebApp.demo.myrmidon.dev and write the condition "
        "Ready to its status; they would overwrite each other.\n"
        "  fix: write options = ControllerOptions(ready_condition=False) in one of them, or write "
        'options = ControllerOptions(conditions="annotation") in one of them\n'
    )


def test_invalid_sample(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message has the field and the problem."""
    sample = project / "sample.yaml"
    thing = {"apiVersion": "demo.myrmidon.dev/v1", "kind": "Thing", "metadata": {"name": "a"}}
    sample.write_text(json.dumps(thing | {"spec": {"size": "big"}}))
    assert said(capsys, "dev", str(project)) == (
        f"error: {sample}: the server refuses Thing a: "
        'Thing.demo.myrmidon.dev "a" is invalid: spec.size: Invalid value: "string": '
        'spec.size in body must be of type integer: "string"\n'
        "  fix: correct the sample, or the model that its definition is made of\n"
    )
    sample.write_text(json.dumps(thing | {"kind": "Think"}))
    assert said(capsys, "dev", str(project)) == (
        f"error: {sample}: no definition is installed for the kind Think (demo.myrmidon.dev/v1).\n"
        "  fix: use a built-in kind or one of Thing\n"
    )
    sample.write_text("- 1\n")
    assert said(capsys, "dev", str(project)) == (
        f"error: {sample} holds a document that is not a Kubernetes object.\n"
        "  fix: write apiVersion, kind and metadata.name\n"
    )


def test_port_in_use(taken_port: int, capsys: pytest.CaptureFixture[str]) -> None:
    """For the server of `dev`, and for the server alone."""
    for command in (("dev", EXAMPLE), ("server",)):
        assert said(capsys, *command, "--port", str(taken_port)) == (
            f"error: cannot listen on 127.0.0.1:{taken_port}: address already in use.\n"
            "  fix: stop what uses the port, or leave --port out for a free one\n"
        )


UNSERVED = ("--health-addr=", "--metrics-addr=")  # the usual ports may be taken on this machine


def test_no_cluster_reachable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message has its address."""
    kubeconfig = tmp_path / "kubeconfig"
    write_kubeconfig(kubeconfig, "http://127.0.0.1:1")
    command = ("run", EXAMPLE, *UNSERVED, "--start-timeout", "0s", "--kubeconfig", str(kubeconfig))
    shown = said(capsys, *command)
    assert shown[shown.index("error:") :] == (
        "error: no cluster reachable: "
        "GET /apis/demo.myrmidon.dev/v1/webapps: 127.0.0.1:1: connection refused.\n"
        "  fix: check the server in your kubeconfig, or try `myrmidon dev`, which needs no cluster\n"
    )


def test_no_cluster_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message lists every place that was searched."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert said(capsys, "run", EXAMPLE) == (
        f"error: no cluster configured: $KUBECONFIG is not set, {tmp_path}/.kube/config does not "
        "exist, and this process does not run in a pod.\n"
        "  fix: pass --kubeconfig FILE, or try `myrmidon dev`, which needs no cluster\n"
    )


def test_context_not_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message lists those that exist."""
    kubeconfig = tmp_path / "kubeconfig"
    write_kubeconfig(kubeconfig, "http://127.0.0.1:1")
    assert said(
        capsys, "run", EXAMPLE, "--kubeconfig", str(kubeconfig), "--context", "production"
    ) == (
        f"error: the kubeconfig {kubeconfig} has no context 'production'; it has: myrmidon.\n"
        "  fix: pass one of these as --context\n"
    )


def test_no_definition_of_the_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message has the command that installs it."""
    with cluster(tmp_path, "admin") as kubeconfig:
        command = (
            "run",
            EXAMPLE,
            *UNSERVED,
            "--no-wait-for-kinds",
            "--kubeconfig",
            str(kubeconfig),
        )
        shown = said(capsys, *command)
        assert shown[shown.index("error:") :] == (
            "error: the cluster does not know the kind WebApp (demo.myrmidon.dev/v1), "
            "which WebApps needs.\n  fix: install its definition, "
            "`myrmidon generate crd examples/web_app/controller.py | kubectl apply -f -`\n"
        )


def test_no_rights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The server's own message, and the command that generates the role."""
    with cluster(tmp_path, "guest") as kubeconfig:
        shown = said(capsys, "run", EXAMPLE, *UNSERVED, "--kubeconfig", str(kubeconfig))
        assert "rights are missing" in shown
        assert "patch deployments.apps" in shown
        assert shown[shown.index("error:") :] == (
            'error: WebApps may not list webapps: webapps.demo.myrmidon.dev is forbidden: User "guest" '
            'cannot list resource "webapps" in API group "demo.myrmidon.dev" at the cluster scope.\n'
            "  fix: let an administrator apply the role, "
            "`myrmidon generate rbac examples/web_app/controller.py`\n"
        )


def test_not_ready_in_time(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`dev --once` names the object, the state and the reason."""
    wait = 'Wait("Thinking", "it takes its time")'
    text = CONTROLLER.format(result=wait).replace("Status, state", "Status, Wait, state")
    (project / "controller.py").write_text(text)
    thing = {"apiVersion": "demo.myrmidon.dev/v1", "kind": "Thing", "metadata": {"name": "a"}}
    (project / "sample.yaml").write_text(json.dumps(thing | {"spec": {}}))
    assert said(capsys, "dev", str(project), "--once", "--timeout", "0.5", status=1) == (
        "error: not everything is Ready after 0.5 s:\n"
        "  Thing a: made waits for Thinking: it takes its time\n"
        "  fix: look at the state in which it waits, or give it more time with --timeout\n"
    )


def test_once_ends_when_everything_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    """The view prints line by line, because the output is not a terminal."""
    assert main(["dev", "examples/config_copy", "--once"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "✓ ConfigCopy settings  copied  wrote: " in lines[0]
    assert "create ConfigMap team-a/settings" in lines[0]
    assert lines[-1] == "1 of 1 Ready"


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """A user who types only the program's name needs the list of commands."""
    assert main([]) == 0
    assert "run controllers on an embedded API server" in capsys.readouterr().out


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    """For bug reports."""
    with pytest.raises(SystemExit) as caught:
        main(["--version"])

    assert caught.value.code is None or caught.value.code == 0
    assert capsys.readouterr().out.startswith("myrmidon ")


def test_a_wrong_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """An invalid number causes no traceback."""
    assert said(capsys, "run", "examples/web_app", "--client-qps=-1") == (
        "error: ManagerOptions.client_qps is -1.0.\n"
        "  fix: use a positive number, or 0 for no limit\n"
    )


@pytest.mark.parametrize(
    "command", [("generate", "crd", EXAMPLE), ("generate", "all", EXAMPLE), ("graph", EXAMPLE)]
)
def test_output_into_an_unwritable_place(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file where a folder should be; also without the rights of root it cannot be written."""
    (tmp_path / "taken").write_text("")
    place = tmp_path / "taken" / "out.svg"
    shown = said(capsys, *command, "-o", str(place))
    assert shown.startswith(f"error: cannot write {place}")
    assert shown.endswith("  fix: name a file or folder below a folder that you may write to\n")


def test_kubeconfig_into_an_unwritable_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The address is not to blame."""
    (tmp_path / "taken").write_text("")
    place = tmp_path / "taken" / "kubeconfig"
    shown = said(capsys, "server", "--kubeconfig-out", str(place))
    assert shown.startswith(f"error: cannot write {place}: ")


def test_a_graph_as_an_image(capsys: pytest.CaptureFixture[str]) -> None:
    """No text in a file that claims to be an image."""
    for more in ((), ("--format", "svg")):
        assert said(capsys, "graph", EXAMPLE, "-o", "states.png", *more) == (
            "error: myrmidon graph cannot draw states.png: png is not one of its formats.\n"
            "  fix: write -o states.svg, or convert it with Graphviz: "
            "`myrmidon graph examples/web_app --format dot | dot -Tpng -o states.png`\n"
        )


def test_the_ending_chooses_the_format_of_a_graph(tmp_path: Path) -> None:
    """Also of Graphviz's other ending."""
    for name, start in (("a.gv", "digraph"), ("a.md", "stateDiagram"), ("new/a.svg", "<svg")):
        assert main(["graph", EXAMPLE, "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text().startswith(start)


def test_a_graph_that_is_out_of_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `generate --check`: status 1, and the command that writes it."""
    path = tmp_path / "a.svg"
    assert said(capsys, "graph", EXAMPLE, "-o", str(path), "--check", status=1) == (
        f"{path} is out of date\n"
        f"  fix: run `myrmidon graph {EXAMPLE} -o {path}` and commit what it writes\n"
    )


def test_interrupted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is not an error worth a traceback."""

    def interrupt(_args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(graph, "run", interrupt)
    assert said(capsys, "graph", EXAMPLE, status=130) == ""


def test_a_file_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Any file of any command; an error without a file is a bug and keeps its traceback."""
    gone = tmp_path / "gone"
    monkeypatch.setattr(graph, "run", lambda _args: len(gone.read_text()))
    assert said(capsys, "graph", EXAMPLE) == (
        f"error: {gone} cannot be used: no such file or directory.\n"
        "  fix: check the path and its permissions, or name another one\n"
    )

    def broken(_args: object) -> int:
        raise OSError("disk on fire")

    monkeypatch.setattr(graph, "run", broken)
    with pytest.raises(OSError, match="disk on fire"):
        main(["graph", EXAMPLE])
