"""The live view of `myrmidon dev`: the state of every object.

On a terminal it is a table that is redrawn; otherwise, one line is printed for every change.  Colour
only repeats what words and symbols say.
"""

import logging
import sys
from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime
from typing import Protocol, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.runtime.logs import ROOT, TextFormatter, configure
from myrmidon.runtime.observability.snapshot import (
    ObjectView,
    Phase,
    Snapshot,
    Step,
    Wrote,
    path_text,
)

_SIGNS: dict[Phase, tuple[str, str]] = {
    "new": ("·", "dim"),
    "ready": ("✓", "green"),
    "waiting": ("…", "yellow"),
    "failing": ("✗", "red"),
    "deleting": ("⌫", "magenta"),
    "suspended": ("‖", "blue"),
    "gone": ("∅", "dim"),
}
_ARROW = " → "
_DEFAULT = "default"
_WRITES_SHOWN = 3
_LOG_LINES_MAX = 5


class LiveView(Protocol):
    """A view that shows snapshots."""

    def show(self, snapshot: Snapshot, problem: str = "") -> None:
        """Show how things are; ``problem`` is what the user should know first."""

    def say(self, text: str) -> None:
        """Print a message that stays on the screen."""

    def close(self) -> None:
        """Leave the last picture standing."""


def view_for(title: str) -> LiveView:
    """A table for a terminal, lines for everything else."""
    stream = sys.stdout
    if stream.isatty():
        return TableView(title, Console(file=stream))
    return LineView(stream)


class LineView:
    """A line for everything that changes: for pipes, logs and scripts.

    A change is another state, another reason or message of a wait, or a write.  An object that waits
    for one reason while it makes progress, such as a rolling replacement, has a line for each step.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._seen: dict[str, tuple[object, ...]] = {}
        self._written: dict[str, datetime] = {}
        self._problem = ""
        configure("text", logging.WARNING)

    def show(self, snapshot: Snapshot, problem: str = "") -> None:
        """Print what is different from the last time."""
        if problem != self._problem:
            self.say(problem or "the code runs again")
            self._problem = problem
        for one in snapshot.objects:
            key = str(one.ref)
            waits = one.waiting if one.phase != "ready" else None
            waiting = (waits.reason, waits.message) if waits else ()
            written = one.writes[-1].at if one.writes else None
            facts = (one.phase, [step.state for step in one.path], waiting, written)
            if self._seen.get(key) != facts and one.phase != "new":
                self.say(f"{snapshot.at:%H:%M:%S}  {self._line(one)}")
                self._seen[key] = facts

    def say(self, text: str) -> None:
        """Print."""
        print(text, file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing is left to say."""

    def _line(self, one: ObjectView) -> str:
        parts = [f"{_SIGNS[one.phase][0]} {name_of(one)}", path_of(one)]
        if one.waiting is not None and one.phase != "ready":
            does = "fails" if one.waiting.failed else "waits"
            message = " ".join(one.waiting.message.split())  # the line stays one
            parts.append(f"{does}: {one.waiting.reason}" + (f" ({message})" if message else ""))
        news = [each for each in one.writes if each.at > self._written.get(str(one.ref), _LONG_AGO)]
        if news:
            parts.append(f"wrote: {', '.join(written(each, one) for each in news)}")
            self._written[str(one.ref)] = news[-1].at
        return "  ".join(filter(None, parts))


class TableView:
    """A table of all objects, drawn again with every snapshot."""

    def __init__(self, title: str, console: Console) -> None:
        self._title, self._console = title, console
        self._said: list[str] = []
        self._lines = _keep_log_lines()
        self._live = Live(console=console, auto_refresh=False, transient=False)
        self._live.start()

    def show(self, snapshot: Snapshot, problem: str = "") -> None:
        """Draw."""
        alive = [one for one in snapshot.objects if one.phase != "gone"]
        ready = sum(one.is_ready for one in alive)
        head = Text.assemble((self._title, "bold"), f"   {ready} of {len(alive)} Ready")
        parts: list[Text | Table] = [head, table(snapshot, self._console.width)]
        if problem:
            parts.append(Text(problem, style="red"))
        parts += [Text(line, style="dim") for line in self._lines]
        self._live.update(Group(*parts), refresh=True)

    def say(self, text: str) -> None:
        """Print above the table."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Leave the last table standing."""
        self._live.stop()


def table(snapshot: Snapshot, width: int) -> Table:
    """The table: what it is, where it is, what for and since when it waits, what it wrote last."""
    wide = width >= 110
    made = Table(box=None, padding=(0, 1, 0, 0), expand=True, header_style="bold")
    ratios = (4, 6, 6, 5) if wide else (5, 6, 6, 7)
    for title, ratio in zip(("OBJECT", "STATE", "WAITS FOR", "LAST WRITES"), ratios, strict=True):
        made.add_column(title, ratio=ratio, overflow="fold")
    for one in snapshot.objects:
        sign, style = _SIGNS[one.phase]
        made.add_row(
            Text(f"{sign} {name_of(one)}", style=style),
            _path_text(one),
            Text(_waits(one, snapshot.at)),
            Text(_writes(one, snapshot.at), style="dim"),
        )
    return made


# --------------------------------------------------------------------------------- cells


def name_of(one: ObjectView) -> str:
    """``WebApp shop``; the namespace is named where it is not the default one."""
    ref = one.ref
    return f"{ref.kind.kind} {ref.name if ref.namespace == _DEFAULT else ref.key}"


def path_of(one: ObjectView) -> str:
    """``configured → deployed``, and the outcome if the object is not in a state."""
    path = path_text(one.path)
    if one.phase == "gone":
        return f"{path}{_ARROW}gone" if path else "gone"
    return path if path or one.phase != "new" else "not looked at yet"


def written(wrote: Wrote, one: ObjectView) -> str:
    """``create Ingress``, ``status`` for its own; and that it was refused if it was."""
    ref = wrote.ref
    if ref == one.ref:
        text = wrote.part or wrote.verb
    else:
        text = f"{wrote.verb} {ref.kind.kind} {_relative(ref, one)}".rstrip()
    return f"{text} REFUSED" if wrote.error else text


def _relative(ref: ObjectRef, one: ObjectView) -> str:
    """The name of a child, as far as it says more than that of its parent."""
    if ref.namespace != one.ref.namespace:
        return ref.key
    return "" if ref.name == one.ref.name else ref.name


def age(since: datetime, now: datetime) -> str:
    """``3s``, ``2m``, ``5h``: as kubectl writes it."""
    seconds = max(int((now - since).total_seconds()), 0)
    if seconds < 120:
        return f"{seconds}s"
    return f"{seconds // 60}m" if seconds < 7200 else f"{seconds // 3600}h"


def _path_text(one: ObjectView) -> Text:
    text = Text()
    if not one.path or one.phase == "gone":
        return Text(path_of(one), style="dim")
    for step in one.path:
        if text:
            text.append(_ARROW, style="dim")
        text.append(step.state, style=_step_style(step, one))
    return text


def _step_style(step: Step, one: ObjectView) -> str:
    if step.status == "True":
        return "green"
    return "red" if one.phase == "failing" else "yellow"


def _waits(one: ObjectView, now: datetime) -> str:
    if one.waiting is None:
        return f"looks again in {age(now, one.again_at)}" if one.again_for and one.again_at else ""
    lines = [f"{one.waiting.reason} for {age(one.waiting.since, now)}", one.waiting.message]
    if one.again_at is not None:
        lines.append(f"next look in {age(now, one.again_at)}")
    return "\n".join(filter(None, lines))


def _writes(one: ObjectView, now: datetime) -> str:
    last = one.writes[-_WRITES_SHOWN:]
    return "\n".join(f"{age(each.at, now):>3} {written(each, one)}" for each in last)


class LogLines(logging.Handler):
    """The last few lines that would tear the table, to be shown below it.

    The same failure of the same object, again and again, is one line: that of the last time.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(TextFormatter())
        self._lines: OrderedDict[str, str] = OrderedDict()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line, without its traceback."""
        facts = getattr(record, "facts", None) or {}
        same = {key: value for key, value in facts.items() if key != "reconcile_id"}
        topic = f"{record.getMessage()} {same}"
        self._lines.pop(topic, None)
        self._lines[topic] = self.format(record).partition("\n")[0]
        if len(self._lines) > _LOG_LINES_MAX:
            self._lines.popitem(last=False)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._lines.values()))


def _keep_log_lines() -> LogLines:
    kept = LogLines()
    logger = logging.getLogger(ROOT)
    logger.handlers[:] = [kept]
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    return kept


_LONG_AGO = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
