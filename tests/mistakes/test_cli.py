"""Mistakes at the command line: what is wrong and how to fix it, exit status 2, no traceback.

Targets, clusters and ports are in tests/cli/test_front_door.py as well.
"""

import json
import re
from pathlib import Path

import pytest

from myrmidon.cli.local.embedded_server import write_kubeconfig
from myrmidon.cli.main import main
from tests.cli.test_front_door import CONTROLLER as TEMPLATE
from tests.cli.test_front_door import cluster

CONTROLLER = TEMPLATE.format(result="Done()")
THING = {"apiVersion": "demo.myrmidon.dev/v1", "kind": "Thing", "metadata": {"name": "a"}}
NO_PORTS = ["--health-addr=", "--metrics-addr="]
MISTAKES: dict[str, tuple[list[str], str, str]] = {
    "a misspelled command": (
        ["runn"], r"myrmidon: argument command: invalid choice: 'runn' .*", "did you mean run?",
    ),
    "a misspelled option": (
        ["run", "good", "--worker-count=3"],
        "myrmidon run: unrecognized arguments: --worker-count=3.", "did you mean --workers?",
    ),
    "a missing argument": (
        ["run"], "myrmidon run: the following arguments are required: target.",
        "add target; `myrmidon run --help` shows what it takes",
    ),
    "a text for a number": (
        ["run", "good", "--workers", "x"],
        "myrmidon run: argument --workers: invalid int value: 'x'.",
        "`myrmidon run --help` shows what it takes",
    ),
    "a number without a unit": (
        ["run", "good", "--sync-period", "5"],
        "myrmidon run: argument --sync-period: '5' is not a duration; write 10h, 30m, 90s or 1h30m.",
        "`myrmidon run --help` shows what it takes",
    ),
    "no worker": (
        ["run", "good", "--workers", "0"], "ControllerOptions.workers is 0.", "use 1 or more",
    ),
    "a port that cannot be": (
        ["server", "--port", "99999"],
        "myrmidon server: argument --port: '99999' is not a port, 0 to 65535.",
        "`myrmidon server --help` shows what it takes",
    ),
    "an address of another machine": (
        ["server", "--host", "192.0.2.1"],
        "cannot listen on 192.0.2.1:0: cannot assign requested address.",
        "choose an address of this machine, and a port above 1023 unless you are root",
    ),
    "a folder without a controller": (
        ["run", "empty"], "empty has no controller.py; its Python files: none.",
        "give a folder with a controller.py, a file, or a module such as pkg.module:WebApps",
    ),
    "a target without controllers": (
        ["run", "none"], "none does not define a controller.",
        "name the module with `class ...(Controller[YourResource])` in it",
    ),
    "a target that does not exist": (
        ["run", "goof"], "the module goof does not exist.", "did you mean good?",
    ),
    "the resource instead of the controller": (
        ["run", "good:Thing"], r"Thing in .* is not a controller.", "name one of Things",
    ),
    "a misspelled manifest": (
        ["generate", "crds", "good"], r"myrmidon generate: argument what: invalid choice: 'crds' .*",
        "did you mean crd?",
    ),
    "JSON instead of YAML": (
        ["generate", "crd", "good", "-o", "crd.json"],
        "the manifests are YAML, and -o crd.json asks for JSON.",
        "write -o crd.yaml, or the name of a folder",
    ),
    "less than no replica": (
        ["generate", "deploy", "good", "--replicas=-1"],
        "myrmidon generate: argument --replicas: '-1' is not a number from 0 on.",
        "`myrmidon generate --help` shows what it takes",
    ),
    "a chart as one file": (
        ["generate", "helm", "good"], "a Helm chart or a bundle is a folder of files, not one text.",
        "name the folder: -o charts/NAME",
    ),
    "a kubeconfig that does not exist": (
        ["run", "good", "--kubeconfig", "nope"], "there is no kubeconfig at nope.",
        "name another file with --kubeconfig or $KUBECONFIG",
    ),
    "a kubeconfig that is not one": (
        ["run", "good", "--kubeconfig", "broken"], r"the kubeconfig broken cannot be read: .*",
        "correct it, or name another file with --kubeconfig or $KUBECONFIG",
    ),
    "a settings file that does not exist": (
        ["run", "good", "--config", "nope.yaml"],
        r"the file of --config cannot be read: .*", "give the path of a YAML file",
    ),
    "a file that does not exist": (
        ["plan", "good", "nope.yaml"], "nope.yaml is neither a file nor an object of this target.",
        "name a YAML file, or thing/NAME",
    ),
    "no sample": (
        ["dev", "good", "--once"],
        "there is no sample*.yaml beside the controller, so there is no Thing to reconcile.",
        "write a sample.yaml with apiVersion: demo.myrmidon.dev/v1, kind: Thing, metadata.name and spec",
    ),
    "no time at all": (
        ["dev", "good", "--once", "--timeout", "-1"],
        "myrmidon dev: argument --timeout: '-1' is not a number of seconds above 0.",
        "`myrmidon dev --help` shows what it takes",
    ),
    "two namespaces in one": (
        ["run", "good", "--namespace", "a,b"],
        "myrmidon run: argument --namespace: 'a,b' is not a namespace; for several, repeat the option.",
        "`myrmidon run --help` shows what it takes",
    ),
    "a cluster that no controller uses": (
        ["generate", "rbac", "good", "--cluster", "west"],
        "no controller uses the cluster 'west', nor any other remote cluster.",
        "leave out --cluster",
    ),
    "a file that is not a recording": (
        ["view", "good/controller.py"],
        r"good/controller.py cannot be read as a recording: .*",
        r"use a file that the page exported (its link Export, or /export.json)",
    ),
    "a migration without versions": (
        ["generate", "rbac", "good", "--migrate-storage"],
        "no kind of this program has several versions, so there is nothing to migrate.",
        "leave out --migrate-storage, or declare the old version with converts=",
    ),
    "a user without a token": (
        ["server", "--user", "jane"], "--user jane does not name a token and a user.",
        "write --user TOKEN=NAME or --user TOKEN=NAME:GROUP,GROUP",
    ),
    "manifests that are not there": (
        ["server", "--manifests", "nope"], "--manifests nope is not a folder.",
        "name a folder with .yaml or .json files",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a controller that works, and others that do not."""
    for name, text in {"good": CONTROLLER, "none": "x = 1\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "controller.py").write_text(text)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").write_text("{")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(*arguments: str) -> int:
    """The exit status; argparse ends the program itself."""
    try:
        return main(arguments)
    except SystemExit as end:
        return int(end.code or 0)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_command_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence that says what, one that says how to fix it."""
    arguments, problem, fix = MISTAKES[name]
    assert run(*arguments) == 2
    said, _, how = capsys.readouterr().err.partition("\n  fix: ")
    pattern = problem if ".*" in problem else re.escape(problem)
    assert re.fullmatch(f"error: {pattern}", said)
    assert how == f"{fix}\n"


def test_a_sample_with_an_unknown_field(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused as `kubectl apply` would refuse it, not dropped."""
    (folder / "good" / "sample.yaml").write_text(json.dumps(THING | {"spec": {"sise": 1}}))
    assert run("dev", "good", "--once") == 2
    assert capsys.readouterr().err == (
        'error: good/sample.yaml: the server refuses Thing a: Thing in version "v1" cannot be handled as '
        'a Thing: strict decoding error: unknown field "spec.sise"\n'
        "  fix: correct the sample, or the model that its definition is made of\n"
    )


def test_an_expired_token(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same words from each command that needs a cluster."""
    with cluster(folder, "expired") as kubeconfig:
        for command in (
            ["run", "good", *NO_PORTS],
            ["plan", "good", "thing/a"],
            ["explain", "thing", "a"],
            ["reconcile", "thing", "a"],
        ):
            assert run(*command, "--kubeconfig", str(kubeconfig)) == 2
            assert capsys.readouterr().err == (
                "error: the cluster does not accept the credentials: Unauthorized.\n"
                "  fix: log in again, or choose another --context\n"
            )


def test_an_unreachable_server(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its address."""
    write_kubeconfig(folder / "kubeconfig", "http://127.0.0.1:1")
    for command in (["plan", "good", "thing/a"], ["explain", "thing", "a"]):
        assert run(*command, "--kubeconfig", "kubeconfig") == 2
        said, _, how = capsys.readouterr().err.partition("\n  fix: ")
        assert re.fullmatch(
            r"error: no cluster reachable: .*127\.0\.0\.1:1: connection refused\.", said
        )
        assert how == (
            "check the server in your kubeconfig, or try `myrmidon dev`, which needs no cluster\n"
        )


def test_a_kind_that_the_cluster_does_not_have(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the two ways to find out."""
    with cluster(folder, "admin") as kubeconfig:
        assert run("explain", "thing", "a", "--kubeconfig", str(kubeconfig)) == 2
        assert capsys.readouterr().err == (
            "error: the cluster has no kind called 'thing'.\n"
            "  fix: `kubectl api-resources` lists the kinds it has; `myrmidon generate crd` writes the "
            "definition of yours\n"
        )
