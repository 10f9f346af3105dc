"""DroppedOutputs: warns once per state that its outputs were dropped, because it returned ``Wait``.

A state that applies an object and returns ``Wait`` in the same pass writes nothing (W2).  A new user
who expects the object to appear sees neither the object nor an error.  Those who intend it, for
example because the outputs are declared above the check, say so with ``keep_outputs=False`` and get no
warning.
"""

from myrmidon.fsm.machine.results import Result, Wait
from myrmidon.runtime.logs import Logger
from myrmidon.sets.outputs.output_set import OutputSet
from myrmidon.sets.outputs.outputs import describe_output

_SHOWN_MAX = 5
_FIX = (
    "return Done() here and wait in a state after this one, or Wait(..., keep_outputs=True) to write "
    "them; keep_outputs=False drops them without this warning"
)


class DroppedOutputs:
    """The states of one controller that were warned about."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def note(self, log: Logger, state: str, result: Result, out: OutputSet) -> None:
        """Log a warning if the result drops outputs without saying so, once per state."""
        if not isinstance(result, Wait) or result.keep_outputs is not None or state in self._told:
            return
        dropped = _described(out)
        if dropped:
            self._told.add(state)
            log.warning(
                "outputs were dropped because the state returned Wait",
                state=state,
                outputs=", ".join(dropped),
                fix=_FIX,
            )


def _described(out: OutputSet) -> list[str]:
    """Return what the state declared, in words, the first few by name."""
    found = [describe_output(one) for one in out]
    found += [f"delete_all of {one.kind.kind}" for one in out.collections]
    if out.self_deletion is not None:
        found.append("delete_self")
    more = len(found) - _SHOWN_MAX
    return [*found[:_SHOWN_MAX], f"{more} more"] if more > 0 else found
