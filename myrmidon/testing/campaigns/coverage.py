"""Coverage: which faults had an effect in which state, transition and write of a controller.

A clean exploration says little about a state in which no fault ever happened.  So each fault that had an
effect is counted in these tables, with the number of its runs that passed and that failed:

- states by kinds of faults
- transitions by crash and ambiguous answer, in the gap between the writes of two states
- write sites (state, verb, kind) by what became of the request
- kinds by stale views
- the reasons of conditions that were seen, and the declared states that no run reached

A cell is open if the exploration could have filled it and did not: a state in which writes are sent must
have met every fault of a request.  A state that no run reached leaves its cells open; a state that only
passes on to the next one has none.  ``share`` is the part that is filled;
``--sim-min-cells`` requires a least share.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.testing.campaigns.reference_states import (
    BEGINNING,
    ReferenceStates,
    SeenReason,
    reasons_of,
)
from myrmidon.testing.simulation.plan import PlannedFault
from myrmidon.testing.simulation.result import SimulationResult

AT_REQUESTS = ("crash", "lost", "applied_then", "reply")
"""Faults that are tried at every write."""
OUTCOMES = ("crash before", "crash after", "lost", "applied_then", "reply")
GAPS = ("crash", "ambiguous")
STALE = ("lag", "hold", "travel")


@dataclass(slots=True)
class Cell:
    """How many runs had a fault at this place."""

    passed: int = 0
    failed: int = 0

    def count(self, result: SimulationResult) -> None:
        """Count a run."""
        if result.failures:
            self.failed += 1
        else:
            self.passed += 1

    @property
    def runs(self) -> int:
        """All runs."""
        return self.passed + self.failed


@dataclass(slots=True)
class Matrix:
    """A table of cells; rows that must be there are there from the start."""

    name: str
    rows: list[str]
    columns: list[str]
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)

    def cell(self, row: str, column: str) -> Cell:
        """Return a cell; rows and columns appear with their first cell."""
        self.rows += [] if row in self.rows else [row]
        self.columns += [] if column in self.columns else [column]
        return self.cells.setdefault((row, column), Cell())

    def runs(self, row: str, column: str) -> int:
        """Return how many runs a cell has."""
        found = self.cells.get((row, column))
        return 0 if found is None else found.runs

    def to_json(self) -> Json:
        """Return the table as JSON."""
        cells = {
            row: {
                column: {"passed": cell.passed, "failed": cell.failed}
                for column in self.columns
                if (cell := self.cells.get((row, column))) is not None
            }
            for row in self.rows
        }
        return {"rows": self.rows, "columns": self.columns, "cells": cells}


class Coverage:
    """The coverage of one exploration."""

    def __init__(
        self, main: SimulationResult, controllers: Sequence[type[Controller[Any]]]
    ) -> None:
        self.scenario, self.runs = main.scenario, 0
        self._at = ReferenceStates(main, controllers)
        states = [name for one in controllers for name in one.graph.states]
        edges = [f"{a} → {b}" for one in controllers for a, b in one.graph.edges]
        self.states = Matrix("states", [BEGINNING, *dict.fromkeys(states)], list(AT_REQUESTS))
        self.transitions = Matrix("transitions", list(dict.fromkeys(edges)), list(GAPS))
        self.sites = Matrix("write sites", list(self._sites()), list(OUTCOMES))
        self.views = Matrix("stale views", [], list(STALE))
        self.reasons: dict[SeenReason, int] = {}
        self._see(main)

    def take(self, result: SimulationResult) -> None:
        """Count the faults of a run that had an effect."""
        self.runs += 1
        for fault, fired in zip(result.plan, result.fired, strict=True):
            if fired:
                self._count(fault, result)
        self._see(result)

    @property
    def unreached(self) -> list[str]:
        """The declared states that the run without faults never reached."""
        return [row for row in self.states.rows if row not in (*self._at.reached, BEGINNING)]

    @property
    def open_cells(self) -> list[tuple[str, str]]:
        """The cells that the exploration could have filled and did not, as state and fault."""
        return [one for one in self._expected() if not self.states.runs(*one)]

    @property
    def share(self) -> float:
        """The part of the expected cells that is filled, from 0 to 1."""
        expected = list(self._expected())
        return 1 - len(self.open_cells) / len(expected) if expected else 1.0

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """All tables."""
        return (self.states, self.transitions, self.sites, self.views)

    def to_json(self) -> Json:
        """Return everything as JSON."""
        return {
            "scenario": self.scenario,
            "runs": self.runs,
            "share": round(self.share, 4),
            "openCells": [list(one) for one in self.open_cells],
            "unreachedStates": self.unreached,
            "reasons": [[*reason, count] for reason, count in sorted(self.reasons.items())],
            **{one.name: one.to_json() for one in self.matrices},
        }

    def _sites(self) -> Iterator[str]:
        pairs = zip(self._at.writes, self._at.facts, strict=False)
        yield from dict.fromkeys(_site(state, fact) for state, fact in pairs)

    def _expected(self) -> Iterable[tuple[str, str]]:
        for state in self.states.rows:
            passes_on = state in self._at.reached and state not in self._at.writes
            if state != BEGINNING and not passes_on:
                yield from ((state, kind) for kind in AT_REQUESTS)

    def _count(self, fault: PlannedFault, result: SimulationResult) -> None:
        moment, action = fault.trigger, fault.action
        self.states.cell(self._at.at(moment), action.kind).count(result)
        if action.kind in STALE:
            self.views.cell(action.target or "all", action.kind).count(result)
        number = self._at.write_number(moment)
        if number is None or number > len(self._at.facts) or action.kind not in AT_REQUESTS:
            return
        site = _site(self._at.writes[number - 1], self._at.facts[number - 1])
        outcome = action.name if action.kind == "crash" else action.kind
        self.sites.cell(site, outcome).count(result)
        self._count_gap(number, action.name, result)

    def _count_gap(self, number: int, action: str, result: SimulationResult) -> None:
        """Count a fault between the last write of a state and the first one of the next."""
        first = number - 1 if action == "crash before" else number
        if not 1 <= first < len(self._at.writes) or action.startswith("reply"):
            return
        edge = f"{self._at.writes[first - 1]} → {self._at.writes[first]}"
        if edge in self.transitions.rows:
            kind = "crash" if action.startswith("crash") else "ambiguous"
            self.transitions.cell(edge, kind).count(result)

    def _see(self, result: SimulationResult) -> None:
        for reason in reasons_of(result.trace):
            self.reasons[reason] = self.reasons.get(reason, 0) + 1


def _site(state: str, fact: Any) -> str:
    kind = f"{fact.kind}/{fact.subresource}" if fact.subresource else fact.kind
    return f"{state}: {fact.verb} {kind}"


def least_share(text: str) -> float:
    """Return the share of a text such as ``95%`` or ``0.95``; raise ``UsageError`` otherwise."""
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise UsageError(f"{text!r} is not a share.\n  fix: write 95% or 0.95")
    return found
