"""Progress: one line that says what a command does, if it is silent for more than two seconds.

    importing my_app.controller ... 3 s

``main`` runs every command inside ``showing``, so a new command has the line without doing anything.
A command says what it is about with ``doing``, from any depth, and calls ``ready`` when the rest is
not a wait for the user: a live view, a log, a question.

The line is written to standard error, only if that is a terminal: pipes, logs and CI see nothing.  It
is removed before anything else is printed.  So, while it is shown, ``sys.stdout`` and ``sys.stderr`` are
wrapped; each write erases the line first and begins another two seconds.

A thread writes the line, because a command may import modules or compute for seconds without giving
way.  The thread writes to the file descriptor and not to ``sys.stderr``, whose lock a process that
``simulate --jobs`` forks at that moment would inherit.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

SILENCE_SECONDS = 2.0
"""How long a command may be silent before the line appears."""
TICK_SECONDS = 0.5
_LOCK_SECONDS = 0.1  # a forked process may have inherited a lock that is never released
_WIDTH = 80
_ERASE = "\r\x1b[K"


class Progress:
    """The line of one command.  ``write`` puts text on the terminal."""

    def __init__(self, text: str, write: Callable[[str], object], width: int) -> None:
        self.text = text
        self._write, self._width = write, width
        self._ticks = self._silent = 0
        self._is_shown = self._is_over = False
        self._is_at_start = True  # of a terminal line: the line would erase a text without an end
        self._lock = threading.Lock()

    def tick(self) -> None:
        """Let ``TICK_SECONDS`` pass: show the line if it is time."""
        with self._locked():
            self._ticks, self._silent = self._ticks + 1, self._silent + 1
            is_due = self._silent * TICK_SECONDS >= SILENCE_SECONDS
            if is_due and self._is_at_start and not self._is_over:
                since = f" ... {self._ticks * TICK_SECONDS:.0f} s"
                self._write(_ERASE + self.text[: self._width - 1 - len(since)] + since)
                self._is_shown = True

    def printed(self, write: Callable[[str], int], text: str) -> int:
        """Print other text in place of the line."""
        with self._locked():
            self._erase()
            self._silent = 0
            self._is_at_start = text.endswith("\n") if text else self._is_at_start
            return write(text)

    def end(self) -> None:
        """Remove the line; it does not appear again."""
        with self._locked():
            self._is_over = True
            self._erase()

    def _erase(self) -> None:
        if self._is_shown:
            self._write(_ERASE)
            self._is_shown = False

    @contextmanager
    def _locked(self) -> Iterator[None]:
        is_held = self._lock.acquire(timeout=_LOCK_SECONDS)
        try:
            yield
        finally:
            if is_held:
                self._lock.release()


class _Wrapped:
    """A stream of text that removes the line before it writes."""

    def __init__(self, stream: TextIO, progress: Progress) -> None:
        self._stream, self._progress = stream, progress

    def write(self, text: str) -> int:
        return self._progress.printed(self._stream.write, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Showing:
    """The line on the terminal of standard error, the thread behind it, and the wrapped streams."""

    def __init__(self, text: str) -> None:
        descriptor = sys.stderr.fileno()
        width = os.get_terminal_size(descriptor).columns or _WIDTH
        self.progress = Progress(text, lambda said: os.write(descriptor, said.encode()), width)
        self._streams: tuple[Any, Any] = sys.stdout, sys.stderr
        self._wrapped: tuple[Any, Any] = (
            _Wrapped(sys.stdout, self.progress),
            _Wrapped(sys.stderr, self.progress),
        )
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)

    def start(self) -> None:
        """Wrap the streams and start the thread."""
        sys.stdout, sys.stderr = self._wrapped
        self._thread.start()

    def stop(self) -> None:
        """Remove the line and unwrap the streams; again has no effect."""
        self._over.set()
        self.progress.end()
        if (sys.stdout, sys.stderr) == self._wrapped:
            sys.stdout, sys.stderr = self._streams

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            self.progress.tick()


_active: list[_Showing] = []  # none or one


def doing(text: str) -> None:
    """Say what the command is about, for example ``importing my_app``."""
    for one in _active:
        one.progress.text = text


def ready() -> None:
    """Remove the line for good: from here on the command shows itself what it does."""
    for one in _active:
        one.stop()


@contextmanager
def showing(text: str) -> Iterator[None]:
    """Show the line while the body runs, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    one = _Showing(text)
    _active[:] = [one]
    one.start()
    try:
        yield
    finally:
        one.stop()
        _active.clear()
