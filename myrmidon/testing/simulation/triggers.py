"""When a fault of a plan happens: triggers as values, with a JSON form.

    write(3)                                     the third write of any controller
    write(verb="create", kind="Pod", occ=2)      the second create of a Pod
    write(state="deployed", occ=1)               the first write while an object is in that state
    request(17)                                  the 17th request, reads included
    event("Pod", 4)                              the fourth watch event about Pods that is delivered
    time(90.0)                                   90 seconds after the start
    step(2)                                      before the scenario's third step, at rest
    end()                                        after the scenario's last step

Writes of Leases and Events are not counted, because their number depends on time alone.  A call of
an external system that changes it counts as a write; its kind is the name of the stand-in.

``write(n)`` is for enumeration.  A trigger that names state, verb and kind still means the same
after the controller was changed.
"""

from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, get_args

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import UsageError

On: TypeAlias = Literal["write", "request", "event", "time", "step", "end"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment in a run.  ``number`` counts from 1 among the moments that match."""

    on: On
    number: int = 1
    verb: str = ""
    kind: str = ""
    state: str = ""
    seconds: float = 0.0

    @property
    def is_general(self) -> bool:
        """Whether every write or event of this kind of moment counts."""
        return not (self.verb or self.kind or self.state)

    def to_json(self) -> Json:
        """Return the trigger as JSON, without what is not said."""
        made: Json = {"on": self.on}
        for each in fields(self)[1:]:
            value = getattr(self, each.name)
            if value != each.default:
                made[each.name] = value
        return made

    def __str__(self) -> str:
        match self.on:
            case "end":
                return "end"
            case "time":
                return f"time({self.seconds:g})"
            case _:
                said = [str(self.number)] if self.is_general else [f"occ={self.number}"]
                for name in ("verb", "kind", "state"):
                    if getattr(self, name):
                        said.insert(-1, f"{name}={getattr(self, name)}")
                return f"{self.on}({', '.join(said)})"


def trigger_from_json(document: Json) -> Moment:
    """Return the trigger of a JSON form; raise ``UsageError`` if it is not one."""
    known = {each.name for each in fields(Moment)}
    if document.get("on") not in get_args(On) or not known.issuperset(document):
        raise UsageError(
            f"{document} is not a trigger of a plan.\n"
            f"  fix: use on: {', '.join(get_args(On))}; and of {', '.join(sorted(known))} what it needs"
        )
    return Moment(**document)


def write(
    number: int | None = None, *, verb: str = "", kind: str = "", state: str = "", occ: int = 1
) -> Moment:
    """Return the trigger of the n-th write that matches."""
    return Moment("write", occ if number is None else number, verb, kind, state)


def request(number: int) -> Moment:
    """Return the trigger of the n-th request, reads and the opening of watches included."""
    return Moment("request", number)


def event(kind: str = "", occ: int = 1) -> Moment:
    """Return the trigger of the n-th delivery of a watch event about a kind."""
    return Moment("event", occ, kind=kind)


def time(seconds: float) -> Moment:
    """Return the trigger of a time after the start of the run."""
    return Moment("time", seconds=seconds)


def step(number: int) -> Moment:
    """Return the trigger of the rest after so many steps of the scenario; for references."""
    return Moment("step", number)


def end() -> Moment:
    """Return the trigger of the end of the scenario."""
    return Moment("end")
