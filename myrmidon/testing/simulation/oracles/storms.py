"""O2, O7 and O13: controllers come to rest, and write no more than they need to.

After all faults are over and the controllers have settled, every object is reconciled twice more.
A write in that time is O13 (the same view gives another decision) or O2 (they never rest).  O7 is a
storm: far more writes than the reference and the number of faults explain, or two writers that set a
field back and forth.
"""

from collections.abc import Sequence

from myrmidon.api.objects.accessors import Json
from myrmidon.testing.simulation.oracles.commits import JudgedChange
from myrmidon.testing.simulation.requests import is_dry_run
from myrmidon.testing.simulation.run import Run
from myrmidon.testing.simulation.trace import Exchanged

FIGHT_MAX = 6
WRITES_MAX = 400
"""Writes to one object, which no scenario of a few edits explains."""


def check_rest(run: Run, changes: Sequence[JudgedChange]) -> None:
    """Fail if a controller wrote after it had settled."""
    late = [one for one in changes if one.number >= run.at_rest_from and one.by_controller]
    for change in late[:3]:
        oracle = "O2" if len(late) > 2 * len({one.name for one in late}) else "O13"
        run.fail(
            oracle,
            f"{change.verb} {_kind(change)}",
            f"the controller wrote {change.name} ({change.verb}) although nothing had changed",
        )


def check_idle_writes(run: Run) -> None:
    """Fail if a manager sent writes without any effect after it had settled.

    A plain program may well send a server-side apply in each pass; myrmidon compares before it writes.
    """
    for entry in run.trace.entries[run.recovery.rests_from :]:
        if type(entry) is not Exchanged or not entry.subject.counts or is_dry_run(entry.request):
            continue
        program = run.processes[entry.process].program
        same = entry.before == entry.revision and entry.outcome.startswith("2")
        if same and program is not None and not program.is_plain:
            run.fail(
                "O13",
                f"{entry.subject.verb} {entry.subject.kind} without effect",
                f"the controller sent: {entry.subject}, although nothing had changed",
            )


def check_fights(run: Run, changes: Sequence[JudgedChange]) -> None:
    """Fail if an object goes back and forth between two states, or is written very often."""
    history: dict[str, list[JudgedChange]] = {}
    for change in changes:
        history.setdefault(change.name, []).append(change)
    for name, made in history.items():
        if len(made) <= FIGHT_MAX:
            continue
        seen = [(_content(one), one.by_controller) for one in made]
        states = [content for content, by_controller in seen if by_controller]
        back = sum(
            1 for (first, _), (middle, _), (last, by_controller) in zip(seen, seen[1:], seen[2:], strict=False)
            if by_controller and first == last != middle
        )  # fmt: skip
        if back > FIGHT_MAX:
            run.fail("O7", f"fight over {name}", f"{name} went back and forth {back} times")
        elif len(states) > WRITES_MAX:
            run.fail("O7", f"storm on {name}", f"{name} was written {len(states)} times")


def _content(change: JudgedChange) -> Json:
    kept = {key: value for key, value in change.after.items() if key != "metadata"}
    return {**kept, "deleted": change.deleted, "labels": change.after["metadata"].get("labels")}


def _kind(change: JudgedChange) -> str:
    return str(change.after["kind"])
