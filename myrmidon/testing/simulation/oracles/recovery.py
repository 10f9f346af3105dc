"""O1 within a bound: after all faults are over, the end is reached in time (liveness).

The bound is a property of the controller: its longest backoff, and the time that its slowest work takes.
``sim.recovers_within`` changes it.  Time before the faults were over does not count.
"""

from collections.abc import Sequence

from myrmidon.testing.simulation.oracles.commits import JudgedChange
from myrmidon.testing.simulation.run import Run


def check_recovery(run: Run, changes: Sequence[JudgedChange]) -> None:
    """Fail if a controller still had to change the world later than the bound."""
    if not run.plan.faults:
        return
    recovery = run.recovery
    for change in reversed(changes):
        if change.number >= recovery.recovered_from or not change.by_controller:
            continue
        late = change.at - recovery.healed_at
        if change.number >= recovery.healed_from and late > recovery.allowed_seconds:
            run.fail(
                "O1",
                "recovery",
                f"{change.name} was still changed {late:.0f} s after all faults were over; "
                f"allowed are {recovery.allowed_seconds:g} s",
            )
        return
