"""The live view in 80 and in 140 columns, with colour and without."""

import io
import logging
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from myrmidon import ObjectRef, kinds
from myrmidon.cli.local.views import LineView, LogLines, age, table
from myrmidon.runtime.observability.snapshot import ObjectView, Snapshot, Step, Waiting, Wrote

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SHOP = ObjectRef(kinds.DEPLOYMENT, "shop", "default")
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]m")


def waiting() -> ObjectView:
    """Build an object in the middle of its walk."""
    return ObjectView(
        SHOP,
        "shops",
        "waiting",
        1,
        path=(
            Step("configured", "Configured", "True", "Done", ""),
            Step("deployed", "Deployed", "False", "RollingOut", "not all replicas run"),
        ),
        waiting=Waiting("RollingOut", "not all replicas run", NOW - timedelta(seconds=5)),
        again_at=NOW + timedelta(seconds=7),
        passes=1,
        writes=(
            Wrote(NOW, "create", ObjectRef(kinds.SERVICE, "shop", "default")),
            Wrote(NOW, "create", ObjectRef(kinds.CONFIG_MAP, "settings", "team-a"), error="no"),
            Wrote(NOW, "patch", SHOP, "status"),
        ),
    )


def drawn(width: int, *, colour: bool) -> str:
    """Return the table as a terminal of that width gets it."""
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        no_color=not colour,
        legacy_windows=False,
    )
    console.print(table(Snapshot(NOW, is_working=True, objects=(waiting(),)), width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 140])
def test_everything_is_shown_in_any_width(width: int) -> None:
    """Nothing is cut off, and no line is too long."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", drawn(width, colour=True))
    words = " ".join(plain.split())

    assert all(len(line) <= width for line in plain.splitlines())
    for said in ("configured", "deployed", "RollingOut for 5s", "next look in 7s", "status"):
        assert said in words
    assert "team-a/settings" in words
    assert "REFUSED" in words


def test_colour_adds_no_information() -> None:
    """Without colour the text is the same, without escape codes."""
    coloured, plain = drawn(140, colour=True), drawn(140, colour=False)

    assert COLOUR.search(coloured)
    assert not COLOUR.search(plain)
    strip = re.compile(r"\x1b\[[0-9;]*m")
    assert strip.sub("", coloured) == strip.sub("", plain)


def test_lines_are_printed_once() -> None:
    """An unchanged object is not printed again."""
    stream = io.StringIO()
    view = LineView(stream)
    for _ in range(3):
        view.show(Snapshot(NOW, is_working=True, objects=(waiting(),)))

    assert stream.getvalue() == (
        "12:00:00  … Deployment shop  configured → deployed  "
        "waits: RollingOut (not all replicas run)  "
        "wrote: create Service, create ConfigMap team-a/settings REFUSED, status\n"
    )


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h")]
)
def test_ages_are_short(seconds: int, said: str) -> None:
    """As kubectl writes them."""
    assert age(NOW, NOW + timedelta(seconds=seconds)) == said


def test_a_failure_that_is_repeated_is_one_log_line() -> None:
    """The last one, without its traceback; others keep their place, up to a few."""
    lines, said = LogLines(), logging.getLogger("tests.views")
    said.addHandler(lines)
    for number, error in enumerate(["a", "b", "a"]):
        facts = {"object": "default/it", "error": error, "reconcile_id": number}
        said.warning("pass failed", extra={"facts": facts}, exc_info=KeyError(error))

    assert [line.partition("  ")[2] for line in lines] == [
        "object=default/it error=b reconcile_id=1",
        "object=default/it error=a reconcile_id=2",
    ]
    for number in range(10):
        said.warning("line %d", number)
    assert len(list(lines)) == 5


def test_a_schedule_is_shown_beside_a_ready_object() -> None:
    """It does not wait, but the time of its next pass is known."""
    one = ObjectView(
        SHOP, "shops", "ready", 1, again_at=NOW + timedelta(minutes=5), again_for="scheduled"
    )
    console = Console(file=io.StringIO(), width=140, legacy_windows=False)
    console.print(table(Snapshot(NOW, is_working=True, objects=(one,)), 140))
    assert isinstance(console.file, io.StringIO)
    assert "looks again in 5m" in console.file.getvalue()


def test_each_step_of_a_rolling_replacement_is_a_line() -> None:
    """The reason stays the same for a long time; its message and the writes say what happens."""
    stream = io.StringIO()
    view = LineView(stream)
    one = waiting()
    assert one.waiting is not None
    for number in (1, 2, 3):
        at = NOW + timedelta(seconds=10 * number)
        said = replace(one.waiting, message=f"{number} of 3 are current")
        wrote = Wrote(at, "delete", ObjectRef(kinds.POD, f"old-{number}", "default"))
        for seen in (
            replace(one, waiting=said),
            *[replace(one, waiting=said, writes=(wrote,))] * 2,
        ):
            view.show(Snapshot(at, is_working=True, objects=(seen,)))
    lines = stream.getvalue().splitlines()

    assert [line[:8] for line in lines] == ["12:00:10"] * 2 + ["12:00:20"] * 2 + ["12:00:30"] * 2
    assert lines[2].endswith("waits: RollingOut (2 of 3 are current)")
    assert lines[3].endswith("waits: RollingOut (2 of 3 are current)  wrote: delete Pod old-2")


def test_a_ready_object_does_not_wait() -> None:
    """A pass that is repeated for its own writes is not worth a word beside a Ready object."""
    stream = io.StringIO()
    LineView(stream).show(
        Snapshot(NOW, is_working=True, objects=(replace(waiting(), phase="ready", writes=()),))
    )
    assert stream.getvalue() == "12:00:00  ✓ Deployment shop  configured → deployed\n"
