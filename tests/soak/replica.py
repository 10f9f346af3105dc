"""One controller process of the soak: ``python -m tests.soak.replica FOLDER NAME SEED [--alone]``.

It reads ``FOLDER/NAME.kubeconfig``, writes a line of measurements to ``FOLDER/NAME.stats`` every few
seconds, and adds the number of seconds in ``FOLDER/NAME.clock`` to its wall clock.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from datetime import datetime, timedelta
from pathlib import Path

from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.protocol import Timing
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.runtime.leader.election import Terms
from myrmidon.runtime.logs import configure
from tests.soak.chaos import CONTROLLERS
from tests.soak.pace import monotonic, pause, wall

TERMS = Terms(lease_seconds=4.0, renew_seconds=3.0, retry_seconds=1.0)
LEASE, LEASE_NAMESPACE = "soak", "soak-a"
SHARED, ALONE = ("soak-a", "soak-b"), ("soak-s", "soak-t")
TIMING = Timing(
    backoff_seconds_min=0.1,
    backoff_seconds_max=3.0,
    watch_seconds=60.0,
    idle_seconds=6.0,
    ask_seconds=5.0,
)
_STATS_SECONDS = 3.0


class JumpyClock(LoopClock):
    """The real clock, whose time of day the soak moves forward and back."""

    def __init__(self) -> None:
        self.offset = timedelta(0)

    def now(self) -> datetime:
        """Return the time of day with the offset of the soak."""
        return super().now() + self.offset


def measurements(manager: Manager) -> dict[str, float]:
    """Return the figures that must not grow without bound."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "at": wall(),
        "rss": pages * os.sysconf("SC_PAGESIZE"),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "tasks": len(asyncio.all_tasks()),
        "works": float(manager._working.is_set()),
        "objects": sum(health.objects for health in manager._caches.health())
        if manager._caches
        else 0,
        "passes": sum(
            sample.value
            for family in manager.metrics.registry.collect()
            for sample in family.samples
            if sample.name == "controller_runtime_reconcile_total"
        ),
    }


async def measure(manager: Manager, clock: JumpyClock, base: Path) -> None:
    """Write measurements, and check whether the wall clock was moved."""
    with base.with_suffix(".stats").open("a") as file:
        started_at = monotonic()
        while True:
            offset = base.with_suffix(".clock")
            if offset.exists():
                clock.offset = timedelta(seconds=float(offset.read_text() or 0))
            said = {**measurements(manager), "age": monotonic() - started_at}
            file.write(json.dumps(said) + "\n")
            file.flush()
            await pause(_STATS_SECONDS)


async def run(folder: Path, name: str, seed: int, *, alone: bool) -> None:
    """Run until stopped or until the lease is lost."""
    base, clock = folder / name, JumpyClock()
    options = ManagerOptions(
        kubeconfig=str(base.with_suffix(".kubeconfig")),
        namespaces=ALONE if alone else SHARED,
        leader_election=not alone,
        leader_election_id=LEASE,
        leader_election_namespace=LEASE_NAMESPACE,
        terms=TERMS,
        identity=name,
        watching=TIMING,
        stale_after=timedelta(seconds=15),
        request_timeout=timedelta(seconds=10),
        shutdown_timeout=timedelta(seconds=5),
        seed=seed,
    )
    manager = Manager(options, clock=clock)
    for controller in CONTROLLERS:
        manager.add(controller())
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, manager.stop)
    async with asyncio.TaskGroup() as group:
        measuring = group.create_task(measure(manager, clock, base))
        try:
            await manager.run()
        finally:
            measuring.cancel()


def main() -> int:
    """Run; return 0 after SIGTERM, 1 if the manager failed, also by a lost lease."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.replica")
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("seed", type=int)
    parser.add_argument("--alone", action="store_true")
    options = parser.parse_args()
    configure("text")
    asyncio.run(run(options.folder, options.name, options.seed, alone=options.alone))
    return 0


if __name__ == "__main__":
    sys.exit(main())
