"""Runs kubectl through a script, and records what it printed.

Values that differ from run to run (ages, times, uids, addresses) are replaced by fixed words, so
that transcripts of two servers can be compared as texts.
"""

import os
import re
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.apiserver.conformance.scenarios import read_yaml
from tests.cluster.controlplane.binaries import OLDEST, installed, version_of

HERE = Path(__file__).parent
SCRIPT = HERE / "kubectl.yaml"
CACHE = Path("~/.cache/myrmidon/controlplane").expanduser()
_SECONDS_MAX = 60.0
_TRIES_MAX = 50

_UNSTABLE = (
    (r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| [+-]\d{4}(?: UTC)?)?", "<time>"),
    (r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    (r'(resourceVersion"?: )"\d+"', r'\1"<version>"'),
    (r"(Resource Version:\s+)\d+", r"\1<version>"),
    (r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ (\w+\.go):\d+\]", r"\1"),
    (r'Context "[\w-]+"', 'Context "<context>"'),
    (r"\b10\.\d+\.\d+\.\d+\b", "<ip>"),
    (r"127\.0\.0\.1:\d+", "<address>"),
    (r"(NodePort:\s+\S+\s+)\d+/", r"\1<port>/"),
    (r"(\d+):3\d{4}/", r"\1:<port>/"),
    (r"/tmp/\S+", "<file>"),
    # The API server checks the addresses of Services from time to time, also while one is created.
    (r"Events:\n +Type .*\n +---.*\n(?: +Warning .*; repairing\n?)+", "Events:  <none>\n"),
    (r"(?<![\w.-])(?:\d+[smhd]){1,2}(?![\w.-])", "<age>"),
    (r"(kubectl-[\w-]+|kubectl)/v[\d.]+ \([^)]*\)", r"\1"),
)  # fmt: skip


class NoKubectlError(Exception):
    """kubectl is not installed; the message says so in one line."""


def all_kubectls() -> list[Path]:
    """Return the kubectl on PATH and those of the control plane's cache that are new enough."""
    on_path = installed("kubectl", os.environ)
    cached = sorted(CACHE.glob("*/kubectl"), reverse=True)
    listed = [on_path, *cached] if on_path is not None else cached
    return [path for path in listed if version_of(path) >= OLDEST["kubectl"]]


def find_kubectl() -> Path:
    """Return the first of them, preferably one with a recorded transcript."""
    found = all_kubectls()
    if not found:
        oldest = ".".join(str(part) for part in OLDEST["kubectl"])
        raise NoKubectlError(f"no kubectl {oldest} or newer on PATH or in {CACHE}")
    return next((path for path in found if transcript_of(path).exists()), found[0])


def transcript_of(kubectl: Path) -> Path:
    """Return the path of the transcript for a version of kubectl: the words differ by version."""
    major, minor, *_ = version_of(kubectl)
    return HERE / f"kubectl-{major}.{minor}.txt"


@dataclass(slots=True)
class Step:
    """One command and its result."""

    command: str
    exit_code: int = 0
    output: str = ""
    errors: str = ""
    fields: bool = False

    def text(self) -> str:
        """Return the step as the transcript has it."""
        lines = [f"$ kubectl {self.command}", self.output.rstrip()]
        if self.errors.strip():
            lines += ["[stderr]", self.errors.rstrip()]
        if self.exit_code:
            lines.append(f"[exit {self.exit_code}]")
        return "\n".join(line for line in lines if line) + "\n"


@dataclass(slots=True)
class Kubectl:
    """kubectl against one server, in a folder of its own."""

    binary: Path
    kubeconfig: Path
    folder: Path
    _running: dict[str, "subprocess.Popen[str]"] = field(default_factory=dict)

    def play(self, script: Path = SCRIPT) -> list[str]:
        """Run a script; return the transcript, step by step."""
        document = read_yaml(script.read_text())
        for name, text in document["files"].items():
            (self.folder / name).write_text(text)
        self.kubeconfig = Path(shutil.copy(self.kubeconfig, self.folder / "kubeconfig"))
        try:
            steps = [
                self.take({"run": step} if isinstance(step, str) else step)
                for step in document["steps"]
            ]
        finally:
            for process in self._running.values():
                process.kill()
                process.communicate()
        return [normalised(step.text()) for step in steps]

    def take(self, step: dict[str, Any]) -> Step:
        """Run one command."""
        if "collect" in step:
            return self._collect(step["collect"], step["lines"])
        command = step["run"]
        environ = self._environ()
        if "editor" in step:
            environ["KUBE_EDITOR"] = f"sed -i -e {shlex.quote(step['editor'])}"
        arguments = [str(self.binary), *shlex.split(command)]
        if "background" in step:
            output = (self.folder / step["background"]).open("w")
            with output:
                self._running[step["background"]] = subprocess.Popen(
                    arguments, cwd=self.folder, env=environ, text=True, stdout=output
                )
            time.sleep(1.0)  # noqa: TID251 - kubectl does not say when its watch is open
            return Step(command)
        done = self._run(arguments, environ, step.get("stdin", ""))
        for _ in range(_TRIES_MAX if step.get("patient") else 0):
            if done.returncode == 0:
                break
            done = self._run(arguments, environ, "")
        output_text = explained_fields(done.stdout) if step.get("fields") else done.stdout
        return Step(command, done.returncode, output_text, done.stderr)

    def _run(
        self, arguments: list[str], environ: dict[str, str], stdin: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            arguments,
            cwd=self.folder,
            env=environ,
            input=stdin,
            text=True,
            capture_output=True,
            timeout=_SECONDS_MAX,
            check=False,
        )

    def _collect(self, name: str, lines: int) -> Step:
        path, process = self.folder / name, self._running.pop(name)
        for _ in range(100):
            if path.read_text().count("\n") >= lines:
                break
            time.sleep(0.1)  # noqa: TID251 - as above
        process.terminate()
        process.communicate(timeout=_SECONDS_MAX)
        return Step(f"(what {name} has printed)", 0, path.read_text())

    def _environ(self) -> dict[str, str]:
        kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        home = str(self.folder)
        return kept | {"HOME": home, "KUBECONFIG": str(self.kubeconfig), "TZ": "UTC"}


def explained_fields(text: str) -> str:
    """Return an explanation without its descriptions."""
    named = re.compile(r"  \w+\t<.*|[A-Z]+:\s.*|[A-Z]+:")
    return "\n".join(line for line in text.splitlines() if named.match(line))


def normalised(text: str) -> str:
    """Return a text without the values that differ from run to run."""
    for pattern, word in _UNSTABLE:
        text = re.sub(pattern, word, text)
    text = re.sub(r"(?m)(?:^\* .*\n)+", _sorted_lines, text)  # causes come in any order
    # Columns are as wide as their widest value: a replaced value leaves its width behind.
    text = re.sub(r"(?m)[ \t]+$", "", text)
    return re.sub(r"(?<=\S) {2,}", "  ", text)


def _sorted_lines(found: re.Match[str]) -> str:
    return "".join(sorted(found[0].splitlines(keepends=True)))


def differences(wanted: list[str], got: list[str]) -> dict[str, str]:
    """Return the steps of two transcripts that differ, each with both texts."""
    found: dict[str, str] = {}
    for one, other in zip(wanted, got, strict=True):
        if one != other:
            found[one.splitlines()[0]] = f"wanted:\n{one}\ngot:\n{other}"
    return found


def read_transcript(kubectl: Path) -> list[str]:
    """Read the transcript of a version of kubectl against the real server."""
    parts = re.split(r"(?m)^(?=\$ kubectl )", transcript_of(kubectl).read_text())
    return [part.rstrip("\n") + "\n" for part in parts if part]


def write_transcript(kubectl: Path, steps: list[str]) -> None:
    """Write a transcript."""
    transcript_of(kubectl).write_text("\n".join(steps))
