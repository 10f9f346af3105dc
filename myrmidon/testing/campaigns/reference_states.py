"""Which state a controller was in at each moment of the run without faults.

Coverage says "a crash in the state deployed", but a plan says "at the fifth write".  The main reference
connects both: it records which state declared each write, and its status writes show how far the object
had come.  A fault of a plan is placed where its moment lies in the reference.  For the first fault of a run
that is exact, because nothing differs before it; for later ones it is where they would have been.

Writes of the framework (finalizers, the status) belong to the state that the object is in, as its
conditions and its deletionTimestamp say.  A state that only passes on to the next one writes nothing
itself; it is known from its condition, and there is no moment that belongs to it alone.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.fsm.controller import Controller
from myrmidon.testing.simulation.result import SimulationResult, WriteFact
from myrmidon.testing.simulation.scenarios import Scenario
from myrmidon.testing.simulation.simulation import Simulation
from myrmidon.testing.simulation.trace import Delivered, Exchanged, Trace
from myrmidon.testing.simulation.triggers import Moment

BEGINNING = "(beginning)"
"""Stands for the time before the first state."""


class SeenReason(NamedTuple):
    """A condition that a controller reported."""

    condition: str
    status: str
    reason: str


class ReferenceStates:
    """The states of the main reference, by write and by watch event."""

    def __init__(
        self, main: SimulationResult, controllers: Sequence[type[Controller[Any]]]
    ) -> None:
        self.facts: list[WriteFact] = list(main.facts.writes) if main.facts is not None else []
        self.writes: list[str] = []
        self._events: dict[str, list[str]] = {}
        self._last = BEGINNING
        self._graphs = {controller.kind().kind: controller.graph for controller in controllers}
        self.reached: set[str] = set()
        """The states in which the reference has been."""
        for entry in main.trace.entries:
            if isinstance(entry, Exchanged) and entry.subject.counts:
                self._wrote(entry)
            elif isinstance(entry, Delivered):
                self._events.setdefault(entry.kind, []).append(self._last)

    def at(self, moment: Moment) -> str:
        """Return the state at a moment."""
        number = self.write_number(moment)
        if number is not None:
            return self.writes[number - 1] if number <= len(self.writes) else self._last
        if moment.on == "event":
            seen = self._events.get(moment.kind, [])
            return seen[moment.number - 1] if moment.number <= len(seen) else self._last
        if moment.on == "time":
            before = [number for number, fact in enumerate(self.facts) if fact.at <= moment.seconds]
            return self.writes[before[-1]] if before else BEGINNING
        return self._last

    def write_number(self, moment: Moment) -> int | None:
        """Return which numbered write a moment is; None if it is not a write of the reference."""
        if moment.on != "write":
            return None
        if moment.is_general:
            return moment.number
        matching = [
            number
            for number, fact in enumerate(self.facts, 1)
            if moment.verb in ("", fact.verb)
            and moment.kind in ("", fact.kind)
            and moment.state in ("", fact.state)
        ]
        return matching[moment.number - 1] if moment.number <= len(matching) else None

    def _wrote(self, entry: Exchanged) -> None:
        fact = self.facts[len(self.writes)] if len(self.writes) < len(self.facts) else None
        found = fact.state if fact is not None else ""
        self._last = found or self._state_of(entry) or self._last
        self.reached |= {self._last} - {BEGINNING}
        self.writes.append(self._last)

    def _state_of(self, entry: Exchanged) -> str:
        """Return the state of the object that a write returned; "" if it does not show one."""
        graph, obj = self._graphs.get(entry.subject.kind), _answered(entry)
        if graph is None or not obj:
            return ""
        deleting = "deletionTimestamp" in obj.get("metadata", {})
        if deleting and graph.finalizer is None:
            return ""
        start = graph.start(deleting=deleting).name
        conditions = {one.get("type"): one.get("status") for one in _conditions(obj)}
        found = start if deleting else ""
        for state in graph.reachable(start):
            if state.condition not in conditions:
                continue
            self.reached.add(state.name)
            found = state.name
            if conditions[state.condition] != "True":
                break
        return found


def reasons_of(trace: Trace) -> Iterator[SeenReason]:
    """Return the conditions that controllers reported in a run."""
    for entry in trace.exchanges():
        if entry.subject.subresource != "status":
            continue
        for one in _conditions(_answered(entry)):
            yield SeenReason(
                str(one.get("type", "")), str(one.get("status", "")), str(one.get("reason", ""))
            )


def _answered(entry: Exchanged) -> Json:
    """Return the object of an answer; {} if there is none."""
    if entry.answer is None or entry.answer.status >= 300:
        return {}
    try:
        found = orjson.loads(entry.answer.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _conditions(obj: Json) -> list[Json]:
    status = obj.get("status")
    found = status.get("conditions") if isinstance(status, dict) else None
    return [one for one in found or () if isinstance(one, dict)]


def controllers_in(scenario: Scenario) -> list[type[Controller[Any]]]:
    """Return the controller classes of a scenario; it is run once for that."""
    found: dict[type[Controller[Any]], None] = {}

    async def spied(sim: Simulation) -> None:
        try:
            await scenario.body(sim)
        finally:
            for recipe, _ in sim._run.recipes:  # noqa: SLF001 - not for scenarios, which know theirs
                found.update(dict.fromkeys(recipe.controllers))

    Scenario(spied, scenario.budget, scenario.namespace, scenario.actors).run()
    return list(found)
