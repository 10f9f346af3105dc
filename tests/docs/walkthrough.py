"""Do what a page of the documentation says: write its files and type its commands, in order.

A page is a list of steps, taken from its fenced blocks:

- ``console``: a line that begins with ``$ `` is typed; the lines up to the next one are what it
  prints.  ``...`` as a line stands for any number of lines, ``…`` in a line for any text.
- ``python`` or ``yaml`` after a sentence "Replace the content of `FILE`", "Append this to `FILE`" or
  "Keep the imports of `FILE`": the file, which is found by its name, is written.  Other blocks of
  these languages are not steps.

Some commands serve until Ctrl-C (``SERVICES``).  The walk goes on when the service has printed what
the page shows; a line ``^C`` ends it, and so does the next service with the same command, or the
end of the page.
A command whose output begins with the refusal of a server (``REFUSED``) must fail, every other one must succeed.
``cd`` and ``export`` hold for the commands that follow.  The value of an ``export`` with ``…`` is
copied from the output of a service, as a reader would.

The commands that install myrmidon are not typed (``INSTALLATION``): that needs a package index, and
the tests of the packaging do it.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

ROOT = Path(__file__).parents[2]
SERVICES = ("myrmidon dev", "myrmidon run", "myrmidon server")
INSTALLATION = ("python3 -m venv", ". .venv/bin/activate", "pip install")
REFUSED = ("Error from server", 'The Backup "copy" is invalid')  # how kubectl begins
PATIENCE_SECONDS = 120.0  # after which a command that hangs is killed
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"(Replace|Append|Keep)(?: the content of| this to| the imports of) `([^`]+)`")
_IMPORTS = re.compile(r"\A.*^from [^\n]+\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class File:
    """A text for a file, and what it does to the text that is there: Replace, Append or Keep imports."""

    name: str
    text: str
    action: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command, and the lines that the page shows as its output."""

    line: str
    shown: tuple[str, ...]


def steps(page: str) -> Iterator[File | Command]:
    """Return the steps of a page, from top to bottom."""
    end = 0
    for fence in _FENCE.finditer(page):
        before, end = page[end : fence.start()].rstrip().rpartition("\n\n")[2], fence.end()
        language, text = fence.groups()
        named = _NAMED.search(before)
        if language == "console":
            for typed in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, *shown = typed.rstrip("\n").split("\n")
                yield Command(line.partition("  #")[0].strip(), tuple(shown))
        elif named is not None:
            yield File(named[2], text, named[1])


def expected(shown: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of an output: ``...`` is any lines, ``…`` any text within a line."""
    lines = [
        r"(?:.*\n)*?"
        if line == "..."
        else ".*".join(map(re.escape, re.split(" *… *", line))) + r"[ ]*\n"
        for line in shown
    ]
    return re.compile("".join(lines).replace(r"\ ", " +"))


@dataclass(slots=True)
class Walk:
    """A reader in a folder: where they are, their environment, and the services that run."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    services: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    printed: str = ""
    """The output of all services."""

    def __post_init__(self) -> None:
        inherited = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
        binaries = f"{Path(sys.executable).parent}:{inherited['PATH']}"
        self.environ = inherited | {
            "PATH": binaries,
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "HOME": str(self.folder),
            "COLUMNS": "300",
            # Free ports: another test may listen on the usual ones.
            "MYRMIDON_METRICS_ADDR": "127.0.0.1:0",
            "MYRMIDON_HEALTH_ADDR": "127.0.0.1:0",
            # The plugin alone: loading all that the developers of myrmidon have installed takes longer.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_PLUGINS": "myrmidon.testing.pytest_plugin",
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for line in list(self.services):
            self._end(line)

    def do(self, step: File | Command) -> None:
        """Do one step; raise if it fails or prints other things than the page shows."""
        if isinstance(step, File):
            self._write(step)
        elif step.line.startswith("cd "):
            self.folder /= step.line.removeprefix("cd ")
        elif step.line.startswith("export "):
            self._export(step.line.removeprefix("export "))
        elif step.line.startswith(SERVICES):
            self._serve(step)
        elif not step.line.startswith(INSTALLATION):
            self._run(step)

    def _write(self, step: File) -> None:
        found = list(self.folder.rglob(step.name))
        assert len(found) == 1, f"the page changes {step.name}; there are {found}"
        before = found[0].read_text()
        imports = _IMPORTS.match(before)
        kept = {
            "Replace": "",
            "Append": f"{before}\n\n",
            "Keep": imports[0] if imports else "",
        }
        found[0].write_text(kept[step.action] + step.text)

    def _run(self, step: Command) -> None:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", step.line],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        told = done.stdout if done.stdout.endswith("\n") or not done.stdout else done.stdout + "\n"
        fails = step.shown[:1] != () and step.shown[0].startswith(REFUSED)
        assert (done.returncode != 0) == fails, f"{step.line}\n{told}"
        if step.shown:
            assert expected(step.shown).fullmatch(told), f"{step.line}\n{told}"

    def _serve(self, step: Command) -> None:
        ends = step.shown[-1:] == ("^C",)
        self._end(" ".join(step.line.split()[:2]))
        service = subprocess.Popen(
            shlex.split(step.line),
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.services[" ".join(step.line.split()[:2])] = service
        watchdog = threading.Timer(PATIENCE_SECONDS, service.kill)
        watchdog.start()
        assert service.stdout is not None
        told = self._read(service.stdout, expected(step.shown[: -1 if ends else None]))
        watchdog.cancel()
        self.printed += told
        if ends:
            self._end(" ".join(step.line.split()[:2]))

    @staticmethod
    def _read(stream: IO[str], pattern: re.Pattern[str]) -> str:
        """Read until the output is as shown; a service that prints other things is killed in the end."""
        told = ""
        for line in stream:
            told += line
            if pattern.match(told):
                return told
        raise AssertionError(f"the service ended, or never printed what the page shows:\n{told}")

    def _end(self, name: str) -> None:
        service = self.services.pop(name, None)
        if service is not None:
            service.send_signal(signal.SIGINT)
            service.communicate(timeout=PATIENCE_SECONDS)

    def _export(self, assignment: str) -> None:
        name, _, value = assignment.partition("=")
        if "…" in value:
            pattern = f"export {name}=({'.*'.join(map(re.escape, value.split('…')))})"
            value = re.findall(pattern, self.printed)[-1]
        self.environ[name] = value.replace("$PWD", str(self.folder))
