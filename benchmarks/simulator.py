"""How many runs of a scenario does the simulator manage?  ``python -m benchmarks.simulator``.

The scenario is the life of one object: it is created, changed and deleted, and the controllers settle after
each of these.  Its controller makes 13 writes.  Every run is one plan of depth one, with all oracles.

The first table has runs per second of CPU time.  The same machine may be half as fast when others work on it,
so the table also has the time of a fixed piece of Python (``yardstick``) from the same moments.  It is small
and stays in the cache of the processor; a run does not, and suffers more from other load.  To compare two
versions of the code, let their processes take turns, or compare the second table: it counts instructions
of the interpreter, which no other load changes, by part, and calls of C code that these do not include.

``--depth 2`` times all plans of depth one and then all of depth two instead, with ``--jobs`` processes.
"""

import argparse
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from pydantic import Field

from benchmarks.opcodes import Parts, by_part, count
from myrmidon import Controller, Done, Model, OutputSet, Resource, Result, Status, kinds, state
from myrmidon.api import Json
from myrmidon.apiserver.handling import memo
from myrmidon.testing.harness.clock import real_seconds
from myrmidon.testing.harness.garbage import rare_collections
from myrmidon.testing.simulation.enumeration import depth_one
from myrmidon.testing.simulation.explorer import Budget, Explorer
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.references import References
from myrmidon.testing.simulation.scenarios import as_scenario

RUNS_PER_SECOND_MIN = 250
_COUNTED_RUNS = 12
_YARDSTICK_ROUNDS = 20_000
_TESTING = "/myrmidon/testing/simulation/"
_DECIDE: Parts = (
    (f"{_TESTING}oracles/judging.py judge", "oracles"),
    (f"{_TESTING}references.py References.compare", "oracles"),
    (f"{_TESTING}run.py Run.close", "end of a run"),
    (f"{_TESTING}run.py Run.begin", "server start"),
    (f"{_TESTING}run.py Run.__init__", "server start"),
    (f"{_TESTING}run.py Run.settle", "settling"),
    (f"{_TESTING}gate.py _Watch", "watches, in the server"),
    (f"{_TESTING}gate.py Gate", "requests, in the server"),
    (f"{_TESTING}user.py", "the user"),
    (f"{_TESTING}processes.py SimulatedProcess", "process start"),
    ("/myrmidon/runtime/manager.py", "process start"),
    ("/myrmidon/runtime/controller/run.py", "process start"),
    ("/myrmidon/io/watch/reflector.py Reflector._take", "watch events, in the client"),
    ("/myrmidon/io/watch/reflector.py Reflector", "watch opening, in the client"),
    ("/myrmidon/runtime/controller/loop.py ControllerLoop.take_all", "wakeups"),
    ("/myrmidon/runtime/reconcile/worker.py", "passes"),
    ("/asyncio/base_events.py BaseEventLoop._run_once", "event loop"),
    ("/myrmidon/testing/harness/turns.py LeanTurns._run_once", "event loop"),
    (f"{_TESTING}execution.py", "rest of the run"),
)


class SiteSpec(Model):
    """What the user asks for."""

    size: int = Field(default=1, ge=0)


class Site(Resource[SiteSpec, Status], group="bench.myrmidon.dev", version="v1"):
    """A site, which has five children."""


class Sites(Controller[Site]):
    """Keeps two ConfigMaps, two Secrets and a Service for each Site."""

    manages = (kinds.CONFIG_MAP, kinds.SECRET, kinds.SERVICE)

    @state(initial=True, condition="Configured", then="secured")
    def configured(self, site: Site, out: OutputSet) -> Result:
        """There are two ConfigMaps with the size."""
        for name in (site.name, f"{site.name}-more"):
            out.apply(_child("ConfigMap", name, data={"size": str(site.spec.size)}))
        return Done()

    @state(condition="Secured", then="exposed")
    def secured(self, site: Site, out: OutputSet) -> Result:
        """There are two Secrets, one of which has the size."""
        out.apply(_child("Secret", site.name, stringData={"size": str(site.spec.size)}))
        out.apply(_child("Secret", f"{site.name}-fixed", stringData={"key": "value"}))
        return Done()

    @state(condition="Exposed")
    def exposed(self, site: Site, out: OutputSet) -> Result:
        """There is a Service."""
        spec = {"selector": {"site": site.name}, "ports": [{"port": 8000 + site.spec.size}]}
        out.apply(_child("Service", site.name, spec=spec))
        return Done()

    @state(finalizer=True, condition="Released")
    def released(self, _site: Site, _out: OutputSet) -> Result:
        """Nothing is left to do outside the cluster."""
        return Done()


def _child(kind: str, name: str, **content: Any) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **content}


async def life(sim: Any) -> None:
    """Create a Site, change it, and delete it."""
    sim.controller(Sites)
    site = await sim.user.create(Site(name="a", spec=SiteSpec(size=1)))
    await sim.settle()
    await sim.user.patch(site, size=2)
    await sim.settle()
    await sim.user.delete(site)
    await sim.settle()


def yardstick() -> float:
    """Return the CPU seconds of a fixed piece of Python."""
    began, made = time.process_time(), dict[int, tuple[int, str]]()
    for number in range(_YARDSTICK_ROUNDS):
        made[number & 1023] = (number, str(number))
    return time.process_time() - began


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--functions", type=int, default=0)
    args = parser.parse_args()
    if args.depth:
        print_depths(args.depth, args.jobs)
        return
    with rare_collections():
        references = References(as_scenario(life))
        plans = list(depth_one(references.facts))
        print(f"{len(references.facts.writes)} writes, {len(plans)} plans of depth one")
        for plan in plans:  # fills the memory of the server, as any exploration soon has
            references.run(plan)
        print_rates(references, plans, args.rounds)
        print_parts(references, plans[:: len(plans) // _COUNTED_RUNS], args.functions)


def print_rates(references: References, plans: list[Plan], rounds: int) -> None:
    """Print how many runs there are in a second of CPU time."""
    print(
        f"{'':>8}  {'runs/s':>7}  {'ms/run':>7}  {'yardstick, ms':>14}  {'run in yardsticks':>17}"
    )
    for number in range(1, rounds + 1):
        measured, spent = 0.0, 0.0
        for at in range(0, len(plans), 20):
            measured += yardstick()
            began = time.process_time()
            for plan in plans[at : at + 20]:
                references.run(plan)
            spent += time.process_time() - began
        piece, run = measured / len(range(0, len(plans), 20)), spent / len(plans)
        print(
            f"{f'round {number}':>8}  {1 / run:>7.0f}  {run * 1000:>7.2f}  {piece * 1000:>14.2f}"
            f"  {run / piece:>17.2f}"
        )
    print(f"{'wanted':>8}  {RUNS_PER_SECOND_MIN:>7}\n")


def print_parts(references: References, plans: list[Plan], functions: int) -> None:
    """Print the instructions of a run by part, and the calls of C code."""

    def act() -> None:
        for plan in plans:
            references.run(plan)

    counts = count(act, _DECIDE, left_out="")
    print(f"{'part of a run':<30}  {'instructions':>12}")
    for part, number in by_part(counts).most_common():
        print(f"{part or 'between runs':<30}  {number / len(plans):>12.0f}")
    print(f"{'all':<30}  {counts.total() / len(plans):>12.0f}\n")
    for where, number in counts.most_common(functions):
        print(f"{number / len(plans):>8.0f}  {where.part:<28} {where.file[-40:]} {where.function}")
    with counted() as calls:
        before = memo.SHARED.hits, memo.SHARED.misses
        act()
    calls["writes from memory"] = memo.SHARED.hits - before[0]
    calls["writes worked out"] = memo.SHARED.misses - before[1]
    for name, number in calls.items():
        print(f"{name:<30}  {number / len(plans):>12.1f}")


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count calls of orjson, of pydantic and of deepcopy."""
    calls: Counter[str] = Counter()
    undo: list[Callable[[], None]] = []

    def wrap(owner: Any, name: str, shown: str) -> None:
        original = getattr(owner, name)

        def counting(*args: Any, **options: Any) -> Any:
            calls[shown] += 1
            return original(*args, **options)

        setattr(owner, name, counting)
        undo.append(lambda: setattr(owner, name, original))

    wrap(orjson, "loads", "JSON decoded")
    wrap(orjson, "dumps", "JSON encoded")
    wrap(Model, "_read", "pydantic validations")
    try:
        yield calls
    finally:
        for each in undo:
            each()


def print_depths(depth: int, jobs: int) -> None:
    """Print how long all plans of depth one take, and all of depth two."""
    for deep in range(1, depth + 1):
        began, cpu = real_seconds(), _cpu_seconds()
        explorer = Explorer(as_scenario(life), Budget(swarm=0, depth=deep), 0, 5)
        report = explorer.explore(jobs, shrink=False)
        wall, cpu = real_seconds() - began, _cpu_seconds() - cpu
        print(
            f"depth {deep}: {report.runs} runs, {report.vacuous} without an effect, "
            f"{len(report.failures)} failures, {wall:.1f} s, {cpu:.1f} s of CPU time in {jobs} processes"
        )


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
