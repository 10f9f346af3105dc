"""Board: one row for each object, and how many objects are in each state.

Several pages may be open, and each change concerns few objects.  So the rows are kept here, and each
refresh replaces those of the objects that had a pass since the last one.  No clock, no I/O.
"""

from collections import Counter
from collections.abc import Iterable

from myrmidon.api.objects.accessors import Json


class Board:
    """The rows of a source."""

    def __init__(self) -> None:
        self.rows: dict[str, Json] = {}
        self._states: dict[str, Counter[str]] = {}
        self._phases: dict[str, Counter[str]] = {}

    def replace(self, rows: Iterable[Json]) -> None:
        """Begin anew."""
        self.rows.clear()
        self._states.clear()
        self._phases.clear()
        for row in rows:
            self.put(row)

    def put(self, row: Json) -> None:
        """Set the row of one object."""
        self._count(self.rows.get(row["id"]), -1)
        self.rows[row["id"]] = row
        self._count(row, 1)

    def drop(self, row_id: str) -> None:
        """Remove an object that has been gone for a while."""
        self._count(self.rows.pop(row_id, None), -1)

    def counts(self) -> Json:
        """Return the number of objects by controller: in each state, and in each phase."""
        return {
            controller: {
                "states": {name: number for name, number in states.items() if number},
                "phases": {
                    name: number for name, number in self._phases[controller].items() if number
                },
            }
            for controller, states in self._states.items()
        }

    def _count(self, row: Json | None, by: int) -> None:
        if row is None:
            return
        states = self._states.setdefault(row["controller"], Counter())
        phases = self._phases.setdefault(row["controller"], Counter())
        phases[row["phase"]] += by
        if row["phase"] != "gone" and row["state"]:
            states[row["state"]] += by
