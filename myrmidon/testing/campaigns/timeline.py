"""A failure as an HTML page: what is wrong, the plan, and a timeline with a lane for each actor.

Time goes down, one row per step.  The lanes are the user, each controller, the server, and the watches of
each controller.  An arrow from a controller to the server is a request; one that failed is dashed.  An
arrow from the server to a watch lane is an event that arrived.  A lane is dotted while its process is
down.  The page is a single file without scripts, and makes no request.
"""

from collections.abc import Iterator, Sequence
from html import escape

from myrmidon.testing.campaigns.failure_text import ORACLES, plan_lines
from myrmidon.testing.campaigns.narrative import NarrativeStep, lanes_of, narrated
from myrmidon.testing.campaigns.pages import page, section
from myrmidon.testing.simulation.result import SimulationFailure

_ROW, _LANE, _TOP, _LEFT = 24, 130, 40, 100
_TEXT_GAP, _CHARACTER, _TIP = 30, 8, 5
_ENDS, _BEGINS = ("was killed", "stopped", "ended"), ("started",)


def timeline_page(failure: SimulationFailure, replay: str = "") -> str:
    """Return the page of a failure; ``replay`` is the command that runs it again."""
    parts = [f'<p class="soft">required: {escape(ORACLES.get(failure.oracle, ""))}</p>']
    parts.append(section("What is wrong", failure.message.splitlines()))
    result = failure.result
    if result is not None:
        title, *lines = (line.removeprefix("  ") for line in plan_lines(result.plan))
        parts.append(section(title, lines))
        parts.append(
            f'<h2>What happened</h2>\n<div class="scroll">{_drawn(narrated(result))}</div>'
        )
        parts.append(f'<p class="soft">scenario {escape(result.scenario)}, seed {result.seed}</p>')
    if replay:
        parts.append(section("Replay it", [replay]))
    return page(f"{failure.oracle}: {failure.role}", parts)


def _drawn(steps: Sequence[NarrativeStep]) -> str:
    lanes = lanes_of(steps)
    places = {lane: _LEFT + index * _LANE + _LANE // 2 for index, lane in enumerate(lanes)}
    text_at = _LEFT + len(lanes) * _LANE + _TEXT_GAP
    rows = sum(1 + len(step.believed) for step in steps)
    height = _TOP + rows * _ROW + _ROW
    longest = max(
        (len(line) for step in steps for line in (_text(step), *step.believed)), default=0
    )
    width = text_at + longest * _CHARACTER + _TEXT_GAP
    drawn = [*_lanes(places, steps, height), *_rows(places, steps, text_at, width)]
    return (
        f'<svg role="img" aria-label="timeline" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">\n' + "\n".join(drawn) + "\n</svg>"
    )


def _text(step: NarrativeStep) -> str:
    return f"{step.text}; {step.did}" if step.did else step.text


def _lanes(places: dict[str, int], steps: Sequence[NarrativeStep], height: int) -> Iterator[str]:
    """Draw the name and the line of each lane; dotted while its process is down."""
    for lane, x in places.items():
        name = lane.removeprefix("watch of ")
        said = f"{name} sees" if name != lane else name
        yield f'<text class="head" text-anchor="middle" x="{x}" y="20">{escape(said)}</text>'
        y, is_up = _TOP - _ROW // 2, True
        for at, up in [*_changes(name, steps), (height, True)]:
            kind = "lane" if is_up else "lane down"
            yield f'<line class="{kind}" x1="{x}" x2="{x}" y1="{y}" y2="{at}"/>'
            y, is_up = at, up


def _changes(process: str, steps: Sequence[NarrativeStep]) -> Iterator[tuple[int, bool]]:
    """Return where a process ends and begins."""
    y = _TOP
    for step in steps:
        if step.lane == process and step.text.startswith(_ENDS):
            yield y, False
        elif step.lane == process and step.text.startswith(_BEGINS):
            yield y, True
        y += _ROW * (1 + len(step.believed))


def _rows(
    places: dict[str, int], steps: Sequence[NarrativeStep], text_at: int, width: int
) -> Iterator[str]:
    y = _TOP
    for step in steps:
        yield f'<text class="time" text-anchor="end" x="{_LEFT - 20}" y="{y + 4}">{step.at:.3f} s</text>'
        if step.lane == "fault":
            yield f'<rect class="band" x="{_LEFT}" y="{y - 11}" width="{width}" height="22" rx="4"/>'
            for x in places.values():
                yield f'<circle class="fault" cx="{x}" cy="{y}" r="3"/>'
        else:
            yield from _arrow(places, step, y)
        kind = "fault" if step.lane == "fault" else "error" if step.is_error else ""
        said = f"FAULT {_text(step)}" if kind == "fault" else _text(step)
        yield f'<text class="{kind}" x="{text_at}" y="{y + 4}">{escape(said)}</text>'
        y += _ROW
        for belief in step.believed:
            yield f'<text class="belief" x="{text_at + 16}" y="{y + 4}">{escape(belief)}</text>'
            y += _ROW


def _arrow(places: dict[str, int], step: NarrativeStep, y: int) -> Iterator[str]:
    """Draw a step: a dot in its lane, and an arrow to or from the server."""
    x, server = places[step.lane], places["server"]
    error = " error" if step.is_error else ""
    watches = step.lane.startswith("watch of ")
    if watches or step.did or step.lane == "user":
        start, end = (server, x) if watches else (x, server)
        way = 1 if end > start else -1
        tip = f"{end},{y} {end - way * _TIP * 2},{y - _TIP} {end - way * _TIP * 2},{y + _TIP}"
        yield f'<path class="call{error}" d="M {start} {y} H {end}"/>'
        yield f'<polygon class="tip{error}" points="{tip}"/>'
    yield f'<circle class="dot{error}" cx="{x}" cy="{y}" r="4"/>'
