"""All objects as they were at an earlier pass: from the recorder of a process, or from an export."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.runtime.observability.recorder import Recorder
from myrmidon.runtime.observability.snapshot import Step
from myrmidon.ui.recording.stories import row_id


class Past(NamedTuple):
    """Which passes can be shown, by their numbers; both 0 if there are none."""

    first: int = 0
    last: int = 0


class Then(NamedTuple):
    """All objects at an earlier pass, and when that pass ended."""

    rows: list[Json]
    at: str = ""


class _End(NamedTuple):
    """How a pass ended."""

    steps: Sequence[Step]
    at: str
    failure: str
    is_skipped: bool
    is_released: bool


def rows_at(recorder: Recorder, rows: dict[str, Json], number: int) -> Then:
    """Return a row for each object that had a pass at ``number`` or before.

    ``rows`` are the rows of now: an object that had no pass since then is as it was.
    """
    latest = {}
    first: dict[str, int] = {}
    at = ""
    for entry_number, ended_at, record, _bytes in recorder.stream():
        key = row_id(record.controller, record.ref)
        first.setdefault(key, entry_number)
        if entry_number <= number:
            latest[key] = record
            at = ended_at.isoformat()
    found = [row for key, row in rows.items() if key not in latest and first.get(key, 0) <= number]
    for key, record in latest.items():
        named: Json = {
            "id": key,
            "controller": record.controller,
            "kind": record.ref.kind.kind,
            "namespace": record.ref.namespace,
            "name": record.ref.name,
            "labels": (rows.get(key) or {}).get("labels") or {},
        }
        ended = record.at.isoformat()
        end = _End(record.steps, ended, record.failure, record.skipped, record.released)
        found.append(_row(named, end))
    return Then(found, at)


def past_of(stories: Iterable[Json]) -> Past:
    """Return which passes of an export can be shown."""
    numbers = [int(one["number"]) for story in stories for one in story["passes"]]
    return Past(min(numbers), max(numbers)) if numbers else Past()


def recorded_rows_at(stories: Iterable[Json], number: int) -> Then:
    """Return a row for each object of an export that had a pass at ``number`` or before."""
    found, latest = [], (0, "")
    for story in stories:
        ended = [one for one in story["passes"] if one["number"] <= number]
        if ended:
            last = ended[-1]
            latest = max(latest, (last["number"], last["at"]))
            names = ("id", "controller", "kind", "namespace", "name", "labels")
            found.append(_row({name: story["row"][name] for name in names}, _end_of(last)))
    return Then(found, latest[1])


def _end_of(one: Json) -> _End:
    names = ("state", "condition", "status", "reason", "message", "branch")
    steps = [Step(*(str(step.get(name) or "") for name in names)) for step in one["steps"]]
    return _End(steps, one["at"], one["failure"], bool(one["skipped"]), bool(one["released"]))


def _row(named: Json, end: _End) -> Json:
    behind = next((step for step in end.steps if step.status != "True"), None)
    return {
        **named,
        "phase": _phase(end, has_open_step=behind is not None),
        "state": behind.state if behind else end.steps[-1].state if end.steps else "",
        "reason": behind.reason if behind else "",
        "message": behind.message if behind else end.failure,
        "since": "",
        "againAt": "",
        "againFor": "",
        "endedAt": end.at,
        "passes": 0,
    }


def _phase(end: _End, *, has_open_step: bool) -> str:
    if end.is_released:
        return "gone"
    if end.failure:
        return "failing"
    if end.is_skipped:
        return "suspended"
    return "waiting" if has_open_step else "ready"
