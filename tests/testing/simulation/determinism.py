"""Determinism: seeds run twice, in several processes with different hashes of strings, have equal traces.

    python -m tests.testing.simulation.determinism --seeds 10000

Each process has its own PYTHONHASHSEED and runs the same random plans of the same scenarios.  Their trace
hashes are compared one by one; the first that differs is told.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from myrmidon.testing.harness.clock import real_seconds
from myrmidon.testing.harness.garbage import rare_collections
from myrmidon.testing.simulation import Scenario
from myrmidon.testing.simulation.references import References
from myrmidon.testing.simulation.swarm import drawn
from tests.museum.e10_random_names import EXHIBIT as RANDOM_NAMES
from tests.testing.simulation.fault_classes import pair, several
from tests.testing.simulation.things import life

SCENARIOS: tuple[Scenario, ...] = (
    Scenario(life),
    Scenario(several),
    Scenario(pair),
    RANDOM_NAMES.scenario(RANDOM_NAMES.fixed),
)
ROOT = Path(__file__).parents[3]
_CHUNK = 1000


def hashes(seeds: range) -> Iterator[str]:
    """Return the trace hash of the random plan of each seed; scenarios take turns."""
    references: dict[int, References] = {}
    for seed in seeds:
        number = seed % len(SCENARIOS)
        if number not in references:
            references[number] = References(SCENARIOS[number])
        known = references[number]
        plan, jitter = drawn(seed, known.facts)
        yield known.run(plan, seed, jitter).trace_hash


def _process(first: int, last: int, hash_seed: str) -> Any:
    command = [
        sys.executable,
        "-m",
        "tests.testing.simulation.determinism",
        "--print",
        f"{first}:{last}",
    ]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def compared(first: int, last: int, hash_seeds: tuple[str, ...] = ("1", "2")) -> list[int]:
    """Return the seeds whose traces differ between processes, one for each hash seed."""
    processes = [_process(first, last, one) for one in hash_seeds]
    lines = [process.communicate()[0].split() for process in processes]
    assert all(process.returncode == 0 for process in processes), "a process failed"
    assert {len(one) for one in lines} == {last - first}, "a process has not told every hash"
    return [
        first + index for index, found in enumerate(zip(*lines, strict=True)) if len({*found}) > 1
    ]


def main(given: list[str]) -> int:
    """Compare so many seeds; return 1 if a trace differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.testing.simulation.determinism")
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after this time")
    parser.add_argument("--print", help=argparse.SUPPRESS)
    asked = parser.parse_args(given)
    if asked.print:
        first, _, last = asked.print.partition(":")
        with rare_collections():
            for found in hashes(range(int(first), int(last))):
                print(found)  # noqa: T201 - a command
        return 0
    began, done = real_seconds(), 0
    differing: list[int] = []
    while done < asked.seeds and real_seconds() - began < asked.seconds:
        last = min(done + _CHUNK, asked.seeds)
        differing += compared(done, last)
        done = last
    seconds = real_seconds() - began
    print(f"{done} seeds in 2 processes, {len(differing)} differ, {seconds:.0f} s", differing[:20])  # noqa: T201
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
