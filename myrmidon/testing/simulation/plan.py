"""Plan: the faults of one run, explicit and ordered, with a JSON form.

    plan = Plan.of((write(3), crash("after")), (event("Pod", 2), watch("410")))

A plan never holds a probability: a random explorer draws plans, and a plan says everything.  The same
scenario, seed and plan give the same run.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import UsageError
from myrmidon.testing.simulation.actions import Action, action_from_json
from myrmidon.testing.simulation.triggers import Moment, trigger_from_json


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """An action, and when it happens."""

    trigger: Moment
    action: Action

    def to_json(self) -> Json:
        """Return the fault as JSON."""
        return {"when": self.trigger.to_json(), **self.action.to_json()}

    def __str__(self) -> str:
        return f"{self.trigger}: {self.action}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The faults of one run, and the number of the user's steps that are left out."""

    faults: tuple[PlannedFault, ...] = ()
    skipped_edits: tuple[int, ...] = ()
    """Edits of the scenario (by number, from 0) that the user does not make, for shrinking."""

    @classmethod
    def of(cls, *faults: tuple[Moment, Action] | PlannedFault) -> "Plan":
        """Return the plan with these faults."""
        made = (one if isinstance(one, PlannedFault) else PlannedFault(*one) for one in faults)
        return cls(tuple(made))

    @classmethod
    def from_json(cls, document: Any) -> "Plan":
        """Return the plan of a JSON form; raise ``UsageError`` if it is not one."""
        if isinstance(document, list):
            document = {"faults": document}
        if not isinstance(document, dict):
            raise UsageError("a plan is a list of faults, or an object with the field faults")
        made = []
        for entry in document.get("faults", ()):
            given = dict(entry)
            trigger = trigger_from_json(given.pop("when", {}))
            made.append(PlannedFault(trigger, action_from_json(given)))
        return cls(tuple(made), tuple(document.get("skippedEdits", ())))

    def to_json(self) -> Json:
        """Return the plan as JSON."""
        made: Json = {"faults": [one.to_json() for one in self.faults]}
        if self.skipped_edits:
            made["skippedEdits"] = list(self.skipped_edits)
        return made

    def with_faults(self, faults: Iterable[PlannedFault]) -> "Plan":
        """Return the plan with other faults."""
        return Plan(tuple(faults), self.skipped_edits)

    def __iter__(self) -> Iterator[PlannedFault]:
        return iter(self.faults)

    def __len__(self) -> int:
        return len(self.faults)

    def __bool__(self) -> bool:
        return bool(self.faults or self.skipped_edits)

    def __str__(self) -> str:
        return "; ".join(map(str, self.faults)) or "no faults"
