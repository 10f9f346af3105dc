"""SimulatedExternal: an external system whose calls are part of the explored world.

Its calls that change it are numbered together with the writes to the API server, so a plan can let any
of them fail; its inventory is part of the end state.
"""

from dataclasses import dataclass

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.testing.faults.external_stand_in import ExternalStandIn
from myrmidon.testing.faults.transport import Crash, Fault, Hang, Lose, Refuse, Status
from myrmidon.testing.simulation.actions import Action
from myrmidon.testing.simulation.loop import INCARNATION
from myrmidon.testing.simulation.requests import RequestSubject
from myrmidon.testing.simulation.stage import Stage, StageProcess
from myrmidon.testing.simulation.trace import Exchanged

_VERBS = {"POST": "create", "GET": "get", "PATCH": "update", "DELETE": "delete"}
_AT_CALL = frozenset({"crash", "lost", "applied_then", "reply"})


@dataclass(slots=True)
class SimulatedExternal(ExternalStandIn):
    """A stand-in with an inventory, ambiguous outcomes and idempotency tokens."""

    name: str = "external"

    def join(self, run: Stage) -> None:
        """Let the faults of a run's plan happen at the calls."""
        self.clock = run.clock
        self.faults = lambda request: self._fault(run, request)

    def _fault(self, run: Stage, request: HttpRequest) -> Fault | None:
        process = next((p for p in run.players if p.incarnation == INCARNATION.get()), None)
        if process is None or run.is_over:
            return None
        verb = _VERBS[request.method]
        is_write = verb != "get"
        subject = RequestSubject(
            verb, self.name, self.name, "", "", request.path.strip("/"), "", is_write, is_write
        )
        chosen: Action | None = None
        for index in run.director.at_request(subject):
            action = run.director.plan.faults[index].action
            if action.kind in _AT_CALL:
                chosen = action
                run.director.mark(index)
                run.note_fault(action, subject)
            else:
                run.disturb(index, action, process, subject)
        outcome = "called" if chosen is None else f"called with {chosen}"
        revision = run.server.store.revision
        run.trace.entries.append(
            Exchanged(
                run.loop.time(),
                process.number,
                process.incarnation,
                subject,
                request,
                outcome,
                None,
                revision,
            )
        )
        return None if chosen is None else self._as_fault(chosen, process)

    def _as_fault(self, action: Action, process: StageProcess) -> Fault:
        match action.kind, action.how:
            case "crash", how:
                self.crash = lambda: process.crash(down=action.seconds)
                return Crash(acted=how == "after")
            case "lost", _:
                return Refuse()
            case "applied_then", _:
                return Lose()
            case "reply", code:
                return Status(int(code))
            case _:
                return Hang()
