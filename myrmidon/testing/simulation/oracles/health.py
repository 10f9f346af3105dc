"""O11, O12 and O14: the processes, their leases, and the watches of the simulator itself.

O11: no process ends by an error that the framework does not know, no task fails unseen, and a pass that is
due is begun if a worker is idle (Q10; ``Run.settle`` looks).
O12: no process issues a write after its lease has ended, or after it has read that another one holds it.  A request that was under way when the process
was stopped does not count: no client can call it back, and the write must fail by its version.
O14: the events of one watch are in order, and none comes twice without a fault.  This checks us.
"""

import re
from collections.abc import Sequence

import orjson

from myrmidon.errors import MyrmidonError
from myrmidon.testing.simulation.oracles.commits import JudgedChange
from myrmidon.testing.simulation.run import Run
from myrmidon.testing.simulation.trace import Delivered

LEASE_SECONDS = 15.0
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


def check_processes(run: Run) -> None:
    """O11: fail for each unknown error that ended a process, and for each unseen one."""
    for process in run.processes:
        for error in process.ended:
            if not isinstance(error, MyrmidonError):
                what = f"{type(error).__name__}: {error}"
                run.fail("O11", type(error).__name__, f"{process.name} ended by {what}")
    for what in run.unseen_errors:
        run.fail("O11", what.partition(":")[0], f"an error was not handled: {what}")


def check_leases(run: Run, changes: Sequence[JudgedChange]) -> None:
    """O12: fail for each write of a replica that was made after its lease had ended."""
    if all(process.replicas == 1 for process in run.processes):
        return
    is_plain = any(recipe.is_plain for recipe, _ in run.recipes)  # its identity is not known
    for change in changes:
        if not change.by_controller or run.processes[change.process].replicas == 1:
            continue
        issued, renewed, is_deposed = run.renewals.get(change.number, (change.at, 0.0, False))
        if is_deposed and not is_plain:
            run.fail(
                "O12",
                change.name,
                f"{change.writer} wrote {change.name} at {change.at:g} s, although it had read that "
                "another replica holds the Lease",
            )
        elif issued > renewed + LEASE_SECONDS:
            run.fail(
                "O12",
                change.name,
                f"{change.writer} wrote {change.name} at {change.at:g} s, but its lease was renewed "
                f"at {renewed:g} s and had ended",
            )


def check_watches(run: Run) -> None:
    """O14: fail if the events of a watch are not in the order of their versions."""
    last: dict[int, int] = {}
    for entry in run.trace.entries:
        if type(entry) is not Delivered:
            continue
        version = _version_in(entry.line)
        if version < last.get(entry.stream, 0) and not entry.line.startswith(b'{"type":"ADDED"'):
            run.fail("O14", entry.kind, f"a watch of {entry.kind} went back to version {version}")
        last[entry.stream] = max(version, last.get(entry.stream, 0))


def _version_in(line: bytes) -> int:
    """Return the resourceVersion of the object in an event."""
    found = _VERSION.findall(line)
    if len(found) == 1:
        return int(found[0])
    return int(orjson.loads(line)["object"]["metadata"]["resourceVersion"])
