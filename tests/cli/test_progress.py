"""The line that says what a slow command does: after two seconds of silence, on a terminal only."""

import os
import pty
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.cli import progress
from myrmidon.cli.main import main
from myrmidon.cli.progress import SILENCE_SECONDS, TICK_SECONDS, Progress, doing, ready, showing

UNTIL_SHOWN = int(SILENCE_SECONDS / TICK_SECONDS)
WIDTH = 40
CLEAR = "\r\x1b[K"


class Terminal:
    """The text on a terminal, of which only the last line can be erased."""

    def __init__(self) -> None:
        self.lines = [""]

    def write(self, text: str) -> int:
        """Print a text, as a terminal does."""
        for number, part in enumerate(text.split(CLEAR)):
            if number:
                self.lines[-1] = ""
            first, *others = part.split("\n")
            self.lines[-1] += first
            self.lines += others
        return len(text)


def ticked(line: Progress, times: int) -> None:
    """Let time pass."""
    for _ in range(times):
        line.tick()


def test_the_line_appears_after_two_seconds_of_silence() -> None:
    """With the time since the command began; it goes before other text is printed."""
    terminal = Terminal()
    line = Progress("importing my_app", terminal.write, WIDTH)
    ticked(line, UNTIL_SHOWN - 1)
    assert terminal.lines == [""]
    ticked(line, 1)
    assert terminal.lines == ["importing my_app ... 2 s"]

    line.printed(terminal.write, "wrote a file\n")
    ticked(line, UNTIL_SHOWN - 1)
    assert terminal.lines == ["wrote a file", ""]
    ticked(line, 1)
    assert terminal.lines == ["wrote a file", "importing my_app ... 4 s"]

    line.end()
    ticked(line, UNTIL_SHOWN)
    assert terminal.lines == ["wrote a file", ""]


def test_a_long_text_stays_on_one_line() -> None:
    """A line that wraps could not be erased."""
    terminal = Terminal()
    line = Progress("x" * 500, terminal.write, WIDTH)
    ticked(line, UNTIL_SHOWN)
    assert len(terminal.lines[-1]) < WIDTH
    assert terminal.lines[-1].endswith(" ... 2 s")


@given(st.lists(st.one_of(st.integers(1, UNTIL_SHOWN + 1), st.text("ab\n", max_size=5))))
def test_what_is_printed_is_never_erased(steps: list[int | str]) -> None:
    """Whatever is printed and whenever, also a text without a line end such as a question."""
    terminal, plain = Terminal(), Terminal()
    line = Progress("busy", terminal.write, WIDTH)
    for step in steps:
        if isinstance(step, int):
            ticked(line, step)
        else:
            line.printed(terminal.write, step)
            plain.write(step)
    line.end()
    assert terminal.lines == plain.lines


# ------------------------------------------------------------------------------ a real terminal


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A terminal as standard output and standard error, on which two seconds are two milliseconds.

    Not a fixture: pytest sets both streams again between a fixture and its test.
    """
    reader, writer = pty.openpty()
    monkeypatch.setattr(progress, "TICK_SECONDS", 0.001)
    monkeypatch.setattr(progress, "SILENCE_SECONDS", 0.002)
    with os.fdopen(writer, "w") as stream, redirect_stdout(stream), redirect_stderr(stream):
        yield reader
    os.close(reader)


def until(reader: int, text: str) -> str:
    """Read from the terminal until it has shown a text."""
    seen = ""
    while text not in seen:
        seen += os.read(reader, 1024).decode()
    return seen


def test_each_command_shows_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Here a module that takes long to import; `graph` itself has no code for that."""
    gate = threading.Event()
    monkeypatch.setitem(sys.modules, "gate_of_the_test", gate)
    (tmp_path / "controller.py").write_text("import sys\nsys.modules['gate_of_the_test'].wait()\n")
    with terminal(monkeypatch) as reader:

        def watch() -> None:
            until(reader, "importing")
            gate.set()

        watcher = threading.Thread(target=watch)
        watcher.start()
        assert main(["graph", str(tmp_path)]) == 2
        watcher.join()
        assert "does not define a controller" in until(reader, "fix:")


def test_ready_gives_the_terminal_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A live view or a question follows; the streams are those from before."""
    with terminal(monkeypatch) as reader:
        streams: tuple[TextIO, TextIO] = sys.stdout, sys.stderr
        with showing("starting"):
            assert (sys.stdout, sys.stderr) != streams
            until(reader, "starting ...")
            ready()
            assert (sys.stdout, sys.stderr) == streams
            ready()
        assert (sys.stdout, sys.stderr) == streams


def test_pipes_get_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    """No thread is started, and the streams are not wrapped."""
    before = sys.stdout, sys.stderr
    with showing("starting"):
        doing("something slow")
        assert (sys.stdout, sys.stderr) == before
        assert "progress" not in {thread.name for thread in threading.enumerate()}
    assert capsys.readouterr() == ("", "")
