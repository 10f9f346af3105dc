"""All objects as they were at an earlier pass of the process, from the recorder alone."""

from myrmidon.api.objects.accessors import Json
from myrmidon.runtime.observability.pass_record import PassRecord
from myrmidon.runtime.observability.recorder import Recorder
from myrmidon.ui.stories import row_id


def rows_at(recorder: Recorder, rows: dict[str, Json], number: int) -> list[Json]:
    """Return a row for each object that had a pass at ``number`` or before.

    ``rows`` are the rows of now: an object that had no pass since then is as it was.
    """
    latest: dict[str, PassRecord] = {}
    first: dict[str, int] = {}
    for entry_number, _at, record, _bytes in recorder.stream():
        key = row_id(record.controller, record.ref)
        first.setdefault(key, entry_number)
        if entry_number <= number:
            latest[key] = record
    found = [row for key, row in rows.items() if key not in latest and first.get(key, 0) <= number]
    return found + [_row(key, record, rows.get(key, {})) for key, record in latest.items()]


def _row(key: str, record: PassRecord, now: Json) -> Json:
    steps = record.steps
    behind = next((step for step in steps if step.status != "True"), None)
    return {
        "id": key,
        "controller": record.controller,
        "kind": record.ref.kind.kind,
        "namespace": record.ref.namespace,
        "name": record.ref.name,
        "labels": now.get("labels") or {},
        "phase": _phase(record, has_open_step=behind is not None),
        "state": behind.state if behind else steps[-1].state if steps else "",
        "reason": behind.reason if behind else "",
        "message": behind.message if behind else record.failure,
        "since": "",
        "againAt": "",
        "againFor": "",
        "endedAt": record.at.isoformat(),
        "passes": 0,
    }


def _phase(record: PassRecord, *, has_open_step: bool) -> str:
    if record.released:
        return "gone"
    if record.failure:
        return "failing"
    if record.skipped:
        return "suspended"
    return "waiting" if has_open_step else "ready"
